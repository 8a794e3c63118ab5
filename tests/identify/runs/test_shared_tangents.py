"""Columns of a Jacobian that share tangents, and the check that they may."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.problem.residuals import read_along, simulate
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.runs.shared_tangents import Touch


def legs(count=3, tied=0.0):
    """Links side by side on one stand, each with a servo; `tied`: a spring across them (N m)."""
    builder = gs.Builder("legs")
    for k in range(count):
        builder.link(f"l{k}", axis=(0, 1, 0), mass=0.4 + 0.1 * k, com=(0.1, 0, 0), inertia=0.002,
                     damping=0.1, armature=0.01)  # fmt: skip
        builder.actuator(f"l{k}", f"l{k}", "position", kp=20.0, kd=0.3)
    if tied:
        builder.tendon("band", {f"l{k}": 0.1 for k in range(count)}, stiffness=tied)
    return builder.build()


def posed(model, seed=0):
    """A fit of its damping and armature."""
    names = model.tree.links
    u = np.repeat(np.random.default_rng(seed).uniform(-0.5, 0.5, (40, len(names))), 10, 0)
    of = gs.Simulator(model, 0.005)
    run = of.rollout(of.initial_state(), u)
    columns = {"time": np.asarray(run.time)}
    mapping = {}
    for k, name in enumerate(names):
        columns[f"q{k}"], columns[f"u{k}"] = np.asarray(run.q[:, k]), np.append(u[:, k], u[-1, k])
        mapping |= {f"joint.q[{name}]": f"q{k}", f"control[{name}]": f"u{k}"}
    recording = gs.recording_from_arrays(columns, mapping, name="run", time="time")
    noise = {f"joint.q[{name}]": 1e-3 for name in names}
    free = {"joint.damping[*]": gs.Positive(), "joint.armature[*]": gs.Positive()}
    return gs.Problem(of, recording, free, noise=noise, horizon=0.25, growth=(1.0,), holdout=0)


@pytest.mark.parametrize("tied, expected", [(0.0, 5), (50.0, None)])
def test_independent_legs_share(tied, expected):
    """Three legs with four unknowns each take four tangents and a check; tied together, all 12.

    The Jacobian is that of one tangent a column.
    """
    problem = posed(legs(tied=tied))
    program = compile_windows(problem, problem.train_windows())
    local = 1e-3 * np.random.default_rng(1).normal(size=(len(program.data.q0), problem.nlocal))
    theta = problem.parameters.start
    _, whole_t, whole_l = program.jacobian(theta, local)
    columns = np.concatenate([program.reader.columns(np.arange(6)),
                              len(program.reader.parameters) + np.arange(6)])  # fmt: skip
    shared = program.reader.touch.shared(columns)
    assert (shared is None) if expected is None else len(shared.seeds) == expected
    theta = 1.3 * theta
    _, J_t, J_l = program.jacobian(theta, local)
    h = 1e-6
    for k in range(6):
        e = h * np.eye(6)[k]
        slope = (program.residual(theta + e, local) - program.residual(theta - e, local)) / (2 * h)
        np.testing.assert_allclose(J_t[..., k], slope, atol=1e-4 * np.abs(slope).max())
    assert J_t.shape == whole_t.shape and J_l.shape == whole_l.shape
    assert (J_l != 0).any((0, 1)).all()


def apart(groups=3, each=4, windows=5):
    """A Jacobian of groups of columns that touch a sensor each, of many sizes."""
    own = np.kron(np.eye(groups), np.ones((3, each)))
    J = np.random.default_rng(0).normal(size=(windows, 3 * groups, groups * each)) * own
    return J * np.geomspace(1e-3, 1e5, groups * each), [3] * groups


def test_an_effect_that_was_not_seen_is_noticed():
    """Columns that seemed to be apart, and are not any more: no Jacobian is made of such tangents.

    Rounding is not taken for an effect.
    """
    J, width = apart()
    columns = np.arange(12)
    touch = Touch(3, 12)
    touch.learn(columns, J, width)
    shared = touch.shared(columns)
    assert shared is not None and len(shared.seeds) == 5
    found = touch.whole(columns, shared, (J * (1 + 1e-14)) @ shared.seeds.T, width)
    np.testing.assert_allclose(found, J, rtol=1e-12)
    coupled = J.copy()
    coupled[2, 4, 1] = 1e-5 * np.abs(J[..., 1]).max()
    assert touch.whole(columns, shared, coupled @ shared.seeds.T, width) is None
    touch.learn(columns, coupled, width)
    again = touch.shared(columns)
    assert again is not None
    found = touch.whole(columns, again, coupled @ again.seeds.T, width)
    np.testing.assert_allclose(found, coupled, rtol=1e-12, atol=1e-12)


def test_columns_never_seen_are_not_shared():
    """What a fit has not asked for yet is computed by itself first."""
    J, width = apart()
    touch = Touch(3, 12)
    touch.learn(np.arange(8), J[..., :8], width)
    assert touch.shared(np.arange(12)) is None


def test_windows_that_diverge_are_not_hidden():
    """A window that is not finite stays so in the columns of its own sensors."""
    J, width = apart()
    touch, columns = Touch(3, 12), np.arange(12)
    touch.learn(columns, J, width)
    shared = touch.shared(columns)
    along = J @ shared.seeds.T
    along[1] = np.nan
    found = touch.whole(columns, shared, along, width)
    assert found is not None
    assert np.isfinite(found[0]).all() and np.isnan(found[1][J[0] != 0]).all()


def test_one_kernel_serves_windows_of_any_length():
    """Stages with other horizons run on the kernels of the first, and read what XLA reads."""
    problem = posed(legs(2))
    start = problem.parameters.start
    reader = compile_windows(problem, problem.train_windows()).reader
    for horizon in (0.25, 0.5, 0.05):
        windows = problem.windows_of(problem.given, horizon)
        program = compile_windows(problem, windows)
        assert program.reader is reader
        read, q, error = program.readings(start, np.zeros((len(windows), problem.nlocal)))
        assert q.shape == (len(windows), windows.steps + 1, 2)
        window = jax.tree.map(lambda x: x[1], program.data)
        moved = simulate(problem.setup, window, jnp.zeros(problem.nlocal))
        expected = read_along(problem.setup, window, moved)
        for k in range(2):
            np.testing.assert_allclose(read[k][1], expected[k], atol=1e-12)
            np.testing.assert_allclose(error[k][1], window.value[k] - expected[k], atol=1e-12)
    assert len(reader._kernels) == 1
