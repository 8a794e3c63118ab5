"""The contact problem: solutions of both solvers, their derivatives, and degenerate contacts."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim.solvers.cone import Problem, regularised, residual, solve_contact, velocities
from graftsim.solvers.general import factor, solve_damped, straight
from graftsim.solvers.interior_point import InteriorPoint
from graftsim.solvers.pgs import GaussSeidel

QUARTERS = tuple(float(x) for x in np.pi / 2 * np.arange(4))
METHODS = {
    "cone": GaussSeidel(),
    "pyramid": GaussSeidel(section="pyramid"),
    "lcp": InteriorPoint(QUARTERS),
    "lcp of 8": InteriorPoint(tuple(float(x) for x in np.pi / 4 * np.arange(8))),
}


def draw(seed, n=3, freedoms=14):
    """A problem of n contacts of a mechanism with so many degrees of freedom."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * n, freedoms))
    # Normals that push, so that a solution exists whatever the friction.
    mu = rng.uniform(0.1, 0.5, n)
    return Problem(jnp.array(J @ J.T), jnp.array(rng.normal(size=(n, 3))), jnp.array(mu))


def stack(problems):
    return jax.tree.map(lambda *x: jnp.stack(x), *problems)


@lru_cache
def solver(name):
    def run(problem):
        return solve_contact(problem, jnp.zeros_like(problem.b), METHODS[name])

    return run


@pytest.mark.parametrize("name", METHODS)
def test_conditions_of_the_solution(name):
    """Forces push, contacts do not close, friction is in its cone and opposes sliding."""
    problems = stack([draw(s) for s in range(40)])
    x = zoo.jit(jax.vmap(solver(name)))(problems)
    section = METHODS[name].section
    R = jax.vmap(lambda p, x: residual(regularised(p), x, section))(problems, x)
    assert np.abs(R).max() < 1e-8
    w = jax.vmap(velocities)(problems, x)
    assert x[..., 0].min() >= -1e-9
    assert w[..., 0].min() > -1e-8
    assert np.abs(x[..., 0] * w[..., 0]).max() < 1e-7
    bound = np.asarray(problems.mu * x[..., 0])
    friction = np.linalg.norm(x[..., 1:], axis=-1)
    assert np.all(friction <= (np.sqrt(2) if name == "pyramid" else 1) * bound + 1e-8)
    power = np.sum(x[..., 1:] * w[..., 1:], -1)
    assert power.max() < 1e-8
    if name == "cone":
        # Maximal dissipation: a sliding contact has all its friction against the sliding.
        slip = np.linalg.norm(w[..., 1:], axis=-1)
        np.testing.assert_allclose(power, -bound * slip, atol=1e-7)


@pytest.mark.parametrize("name", ["cone", "lcp"])
def test_derivatives_equal_differences_and_each_other(name):
    """Forward mode against differences of the solution; reverse mode against forward mode."""
    run = solver(name)
    problems = [draw(s) for s in range(6)]
    steps = [draw(100 + s) for s in range(6)]
    P, D = stack(problems), stack(steps)
    ends, starts = (jax.tree.map(lambda a, b, h=h: a + h * b, P, D) for h in (1e-6, -1e-6))
    solve = zoo.jit(jax.vmap(run))
    expected = (solve(ends) - solve(starts)) / 2e-6
    x, forward = zoo.jit(jax.vmap(lambda p, d: jax.jvp(run, (p,), (d,))))(P, D)
    np.testing.assert_allclose(forward, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    g = jnp.array(np.random.default_rng(1).normal(size=x.shape))
    back = zoo.jit(jax.vmap(lambda p, g: jax.vjp(run, p)[1](g)[0]))(P, g)
    lhs = sum(float(jnp.sum(a * b)) for a, b in zip(back, D, strict=True))
    assert lhs == pytest.approx(float(jnp.sum(g * forward)), rel=1e-9)


def test_redundant_contacts_have_bounded_derivatives():
    """Four equal contacts that disagree: the velocities follow, no derivative explodes."""
    J = np.tile(np.random.default_rng(3).normal(size=(3, 6)), (4, 1))
    b = jnp.tile(jnp.array([[-1.0, 0.1, 0.0]]), (4, 1))
    problem = Problem(jnp.array(J @ J.T), b, jnp.full(4, 0.5))
    run = solver("cone")
    J = zoo.jit(jax.jacfwd(lambda b: run(problem._replace(b=b))))(b)
    assert np.all(np.isfinite(J))
    assert np.abs(J).max() < 1e3
    # Moved together, they give the derivative of one contact.
    together = np.einsum("nkml->nkl", np.asarray(J)).sum(0)
    single = Problem(problem.A[:3, :3], b[:1], problem.mu[:1])
    alone = zoo.jit(jax.jacfwd(lambda b: run(single._replace(b=b))))(b[:1])[0, :, 0]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)


def test_eliminations_agree():
    """Straight-line code and loop, with and without damping."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    A, B = jnp.array(A @ A.T + 5 * np.eye(5)), jnp.array(rng.normal(size=(5, 2)))
    exact = np.linalg.solve(A, B)
    scale = jnp.diagonal(A)
    for unroll in (True, False):

        def every(A, B, unroll=unroll):
            plain = factor(A, unroll)
            return plain(B), solve_damped(A, B, scale, unroll), jax.linear_transpose(plain, B)(B)[0]

        x, damped, back = zoo.jit(every)(A, B)
        np.testing.assert_allclose(x, exact, rtol=1e-11)
        np.testing.assert_allclose(damped, exact, rtol=1e-3)
        np.testing.assert_allclose(back, np.linalg.solve(A.T, B), rtol=1e-11)


def test_straight_code_where_zeros_save_it():
    """A long row of neighbours is cheap, as many that all feel each other are not."""
    row = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) <= 1
    assert straight(row, 3)
    assert not straight(np.ones((60, 60), bool), 3)
