"""The program of the standing feet: its matrices, and the own solver against OSQP."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from graftsim.control.locomotion.forces import OSQP
from graftsim.control.locomotion.interior_point import InteriorPoint
from graftsim.control.locomotion.stance import (
    Posture,
    Prediction,
    SingleBody,
    dense,
    stance_problem,
)
from graftsim.errors import ControlError

BODY = SingleBody(
    jnp.asarray(215 / 9.8), jnp.diag(jnp.array([0.07335, 0.25068, 0.25447])), jnp.zeros(3)
)
FEET = np.array([[0.21, -0.12], [0.21, 0.12], [-0.21, -0.12], [-0.21, 0.12]])
USUAL = Prediction()
PAIRS = ([1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1])


def drawn(rng, prediction=USUAL, stands=None):
    """A program of a trunk that is tilted, turning, and off its speed."""
    stands = PAIRS[rng.integers(3)] if stands is None else stands
    at = Posture(
        jnp.asarray(rng.normal(size=3) * 0.06),
        jnp.asarray(0.42 + 0.02 * rng.normal()),
        jnp.asarray(rng.normal(size=3) * 0.4),
        jnp.asarray(rng.normal(size=3) * 0.3),
    )
    feet = np.concatenate([FEET, np.full((4, 1), -0.42)], 1) + 0.04 * rng.normal(size=(4, 3))
    aim = (jnp.asarray(rng.uniform(-1, 1, 3) * [0.6, 0.2, 0.8]), jnp.asarray(0.42))
    flags = jnp.asarray(stands, bool)
    return at, feet, aim, stance_problem(prediction, BODY, at, jnp.asarray(feet), flags, aim)


def test_errors_are_those_of_the_matrix_exponential():
    """The 13 states of the paper, (angles, position, angular velocity, velocity, -g), by expm."""
    prediction = Prediction(steps=4)
    at, feet, aim, problem = drawn(np.random.default_rng(3), prediction)
    roll, pitch, _ = np.asarray(at.angles)
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    R = np.array([[cp, sp * sr, sp * cr], [0, cr, -sr], [-sp, cp * sr, cp * cr]])
    T = np.array([[1 / cp, 0, 0], [0, 1, 0], [sp / cp, 0, 1]])
    A, B = np.zeros((13, 13)), np.zeros((13, 12))
    A[:3, 6:9], A[3:6, 9:12], A[11, 12] = T, np.eye(3), 1
    inverse = R @ np.linalg.inv(np.asarray(BODY.inertia)) @ R.T
    for k, r in enumerate(feet):
        B[6:9, 3 * k : 3 * k + 3] = inverse @ np.array(
            [[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]
        )
        B[9:12, 3 * k : 3 * k + 3] = np.eye(3) / float(BODY.mass)
    whole = expm(prediction.dt * np.block([[A, B], [np.zeros((12, 25))]]))
    f = np.random.default_rng(4).normal(size=(4, 12))
    x = np.concatenate([[roll, pitch, 0, 0, 0, float(at.height)], at.turning, at.velocity, [-9.8]])
    (vx, vy, turn), height = np.asarray(aim[0]), float(aim[1])
    _, _, G = dense(problem)
    ours = np.asarray(problem.free) + (G @ f.ravel()).reshape(4, 12)
    for k in range(4):
        x = whole[:13, :13] @ x + whole[:13, 13:] @ (f[k] * float(problem.unit))
        t = (k + 1) * prediction.dt
        xi = x[:6] - [0, 0, t * turn, t * vx, t * vy, height]
        nu = np.concatenate([T @ x[6:9], x[9:12]]) - [0, 0, turn, vx, vy, 0]
        np.testing.assert_allclose(ours[k], np.concatenate([xi, nu]), atol=1e-10)


@pytest.mark.long
def test_own_solver_finds_osqps_forces_and_stays_there():
    """1e-4 of the weight from OSQP at a tolerance of 1e-9, with two feet or four; iterations beyond
    rounding change nothing, and the conditions of optimality hold.
    """
    rng = np.random.default_rng(0)
    solve = jax.jit(InteriorPoint(40, kernel=False).solve)
    for k in range(12):
        problem = drawn(rng, stands=PAIRS[k % 3])[3]
        exact = OSQP(tolerance=1e-9, all_feet=True, iterations=200_000).solve(problem)
        found = solve(problem)
        np.testing.assert_allclose(found.force, exact.force, atol=1e-4)
        assert float(found.left) < 1e-9


def test_osqp_leaves_swinging_feet_out_without_a_difference():
    """60 variables or 120, the same forces."""
    problem = drawn(np.random.default_rng(7), stands=PAIRS[0])[3]
    few, all_ = (
        OSQP(tolerance=1e-9, all_feet=whole, iterations=200_000).solve(problem).force
        for whole in (False, True)
    )
    np.testing.assert_allclose(few, all_, atol=1e-6)
    assert np.all(np.abs(few[:, 1:3]) == 0)


@pytest.mark.long
def test_the_kernel_is_plain_jax_alone_and_in_lanes():
    """Of one robot and of nine side by side."""
    rng = np.random.default_rng(2)
    problems = [drawn(rng, Prediction(steps=3))[3] for _ in range(9)]
    kernel, plain = InteriorPoint(), InteriorPoint(kernel=False)
    alone = jax.jit(plain.solve)
    many = jax.tree.map(lambda *x: jnp.stack(x), *problems)
    side = jax.vmap(kernel.solve)(many).force
    for problem, force in zip(problems, side, strict=True):
        np.testing.assert_allclose(force, alone(problem).force, atol=1e-8)
    np.testing.assert_allclose(kernel.solve(problems[0]).force, side[0], atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": 2.0, "greatest": 1.0}, r"fz >= 2 m g \(least\) against fz <= 1 m g"),
        ({"friction": 0.0}, r"pyramid \|fx\|, \|fy\| <= friction fz: friction is 0"),
        ({"steps": 0}, "at least one step"),
    ],
)
def test_an_infeasible_program_is_refused_by_its_constraint(options, message):
    """Before anything is solved."""
    with pytest.raises(ControlError, match=message):
        Prediction(**options)


def test_osqp_names_the_constraint_that_no_force_meets():
    """Bounds that a user put into a program by hand."""
    problem = replace(drawn(np.random.default_rng(0))[3], least=jnp.asarray(11.0))
    with pytest.raises(ControlError, match=r"infeasible: fz >= 11 m g \(least\)"):
        OSQP().solve(problem)


def test_osqp_within_a_compiled_function_says_what_to_take():
    """It solves numbers."""
    problem = drawn(np.random.default_rng(0))[3]
    with pytest.raises(ControlError, match=r"solver=InteriorPoint\(\)"):
        jax.jit(OSQP().solve)(problem)
