"""A torque with memory: what it does to a fit's numbers, and how large residuals let it be."""

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.doubt.standard import Nuisance
from graftsim.identify.doubt.torque import MEMORY, commands_per_torque, torques
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.optim.arrowhead import inverse, reduced

DT, NOISE = 0.005, 1e-3


def arm(kind="torque", **gains):
    """A joint with gravity, driven."""
    b = gs.Builder("arm")
    b.link("arm", axis=(0, 1, 0), mass=0.5, com=(0.2, 0, 0), inertia=0.01, armature=0.02,
           damping=0.3)  # fmt: skip
    b.actuator("arm", "arm", kind, **gains)
    return gs.Simulator(b.build(), DT, substeps=2, integrator=gs.RungeKutta4())


@pytest.fixture(scope="module")
def fit():
    """Problem, program, and first order at the truth of a log of 12 s."""
    rng = np.random.default_rng(0)
    u = np.repeat(rng.normal(size=120), 20)
    run = arm().rollout(arm().initial_state(), u[:, None])
    q = np.asarray(run.q[:, 0]) + NOISE * rng.normal(size=len(run.q))
    log = gs.recording_from_arrays(
        {"time": np.asarray(run.time), "q": q, "u": np.append(u, u[-1])},
        {"joint.q[arm]": "q", "control[arm]": "u"}, name="log", time="time",
    )  # fmt: skip
    free = {"joint.armature[*]": gs.Positive(), "joint.damping[*]": gs.Positive()}
    problem = gs.Problem(arm(), log, free, noise={"joint.q[arm]": NOISE}, holdout=0, growth=(1.0,))
    result = gs.fit(problem)
    windows = problem.train_windows()
    program = compile_windows(problem, windows)
    local = np.zeros((len(windows), problem.nlocal))
    for _ in range(3):
        r, J, L = program.jacobian(result.theta, local)
        C = np.swapaxes(L, 1, 2) @ L
        local = local - (np.linalg.inv(C) @ np.swapaxes(L, 1, 2) @ r[..., None])[..., 0]
    r, J, L = program.jacobian(result.theta, local)
    at = Linearisation(r, J, L, result.theta, local, problem.bounds_of(result.theta))
    return program, at


def found(fit, size):
    """What a torque of a size (N m) does."""
    program, at = fit
    touches = np.ones((at.r.shape[1], 1), bool)
    asked = {0: Nuisance("effect.torque[arm]", size, "given")}
    return torques(program, at, at.theta, asked, touches, 1.0)


def test_variance_is_that_of_fits_to_such_torques(fit):
    """Against 300 draws of an exponentially correlated torque, a value each step."""
    program, at = fit
    size, rng = 2e-4, np.random.default_rng(1)
    n = at.normal()
    S = reduced(n)[0]
    P = at.J_t - at.J_l @ (inverse(n.C) @ np.swapaxes(n.B, 1, 2))
    u = np.asarray(program.data.controls)
    keep = np.exp(-DT / MEMORY)
    shifts = []
    for _ in range(300):
        torque = np.zeros(u.shape[:2])
        torque[:, 0] = rng.normal(size=len(u))
        for i in range(1, u.shape[1]):
            torque[:, i] = keep * torque[:, i - 1] + np.sqrt(1 - keep**2) * rng.normal(size=len(u))
        moved = program.on(
            program.data._replace(controls=jnp.asarray(u + size * torque[..., None]))
        )
        change = moved.residual(at.theta, at.local) - at.r
        shifts.append(-np.linalg.solve(S, np.einsum("wmp,wm->p", P, change)))
    (nuisance,) = found(fit, size).nuisances
    assert nuisance.size == pytest.approx(size)  # Far below what noise would show.
    predicted = np.sqrt(found(fit, size).variance[:, 0])
    np.testing.assert_allclose(predicted, np.std(shifts, 0), rtol=0.2)


def test_residuals_limit_the_torque(fit):
    """White residuals allow no torque that would have been seen, however much is asked for."""
    sizes = [found(fit, size).nuisances[0].size for size in (0.5, 5.0)]
    assert sizes[1] < 0.05
    # What is allowed depends on the residuals alone.
    assert sizes[0] == pytest.approx(sizes[1], rel=0.1)


def test_command_that_makes_one_newton_metre():
    """A torque's own, a servo's over its gain, both through the gear."""
    assert commands_per_torque(arm(gear=3.0).model)[0] == (0, pytest.approx(1 / 3))
    servo = arm("position", kp=25.0, kd=0.4).model
    assert commands_per_torque(servo)[0] == (0, pytest.approx(1 / 25))
