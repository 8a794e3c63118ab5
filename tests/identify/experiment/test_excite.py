"""The next experiment: what a plan promises is what a fit of it gets, within the limits."""

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.experiment.excite import excite
from graftsim.identify.experiment.motions import SAFE, Motions

FREE = ["joint.friction[*]", "joint.armature[*]", "link.mass[*]"]


def arm(kind="torque", **limits):
    """Two hinges with friction and rotor inertia, hanging."""
    b = gs.Builder("arm")
    own = {"friction": 0.3, "armature": 0.1, "damping": 0.1, "friction_velocity": 0.05} | limits
    b.link("shoulder", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.2), inertia=0.05, **own)
    b.link("elbow", "shoulder", axis=(0, 1, 0), origin=(0, 0, -0.4), mass=1.0, com=(0, 0, -0.15),
           inertia=0.02, **own)  # fmt: skip
    gains = {} if kind == "torque" else {"kp": 200.0, "kd": 10.0}
    b.actuator("m1", "shoulder", kind, force_range=(-9, 9), **gains)
    b.actuator("m2", "elbow", kind, force_range=(-3, 3), **gains)
    return gs.Simulator(b.build(), dt=0.01, substeps=4, integrator=gs.ImplicitDamping())


@pytest.fixture(scope="module")
def planned():
    return excite(
        arm(),
        FREE,
        seconds=6,
        noise=1e-3,
        velocity=4.0,
        search=gs.FourierSearch(generations=12, seed=1),
    )


def test_plan_keeps_the_limits_and_teaches_more_than_sines(planned):
    """No force beyond nine tenths, no speed beyond what was allowed, at rest at both ends."""
    assert max(planned.used.values()) <= 1.0
    assert max(v for k, v in planned.used.items() if k.startswith("force")) <= SAFE + 1e-9
    assert planned.information > planned.information_of_sines + 3
    for joint in ("shoulder", "elbow"):
        q = planned.plan[f"signal[desired.q:{joint}]"].values[:, 0]
        qd = planned.plan[f"signal[desired.qd:{joint}]"].values[:, 0]
        assert abs(qd).max() <= 4.0 + 1e-9
        assert abs(qd[[0, -1]]).max() < 0.05
        np.testing.assert_allclose(np.gradient(q, 0.01), qd, atol=1e-9)
    assert abs(planned.plan["control[m2]"].values).max() <= SAFE * 3 + 1e-9


def test_a_fit_of_the_plan_knows_what_was_promised(planned):
    """Played on the arm and recorded with noise: standard deviations as expected."""
    simulator, plan = arm(), planned.plan
    u = np.stack([plan[f"control[m{i}]"].values[:-1, 0] for i in (1, 2)], -1)
    start = simulator.initial_state({j: plan[f"signal[desired.q:{j}]"].values[0, 0] for j in
                                     ("shoulder", "elbow")})  # fmt: skip
    moved = simulator.rollout(start, controls=jnp.asarray(u))
    rng, time = np.random.default_rng(0), np.asarray(moved.time)
    channels = [
        gs.Channel(f"joint.q[{j}]", time, np.asarray(moved.q)[:, i]
                   + 1e-3 * rng.normal(size=len(time)), "rad")
        for i, j in enumerate(("shoulder", "elbow"))
    ] + [gs.Channel(f"control[m{i + 1}]", time[:-1], u[:, i], "N m") for i in range(2)]  # fmt: skip
    problem = gs.Problem(simulator, gs.Recording({c.name: c for c in channels}, name="played"),
                         FREE, horizon=0.5, holdout=0, growth=(1.0,),
                         noise={"joint.q[shoulder]": 1e-3, "joint.q[elbow]": 1e-3})  # fmt: skip
    result = gs.fit(problem)
    assert result.lack.verdict == "none"
    for row, expected in zip(result.parameters, planned.parameters, strict=True):
        assert row.name == expected.name
        assert row.std == pytest.approx(expected.after, rel=0.5)
        assert expected.after < 0.1 * expected.before


def test_servos_get_positions_to_go_to():
    """A position servo's command is where its spring gives the force that is needed."""
    simulator = arm("position")
    motions = Motions(simulator.model, 0.01 * np.arange(301), 3, {}, 1.0)
    q, qd, qdd = motions.motion(0.3 * motions.sines()[None])
    u, _ = motions.command(q, qd, qdd)
    state = simulator.initial_state(dict(zip(("shoulder", "elbow"), q[0, 0], strict=True)))
    moved = simulator.rollout(state, controls=jnp.asarray(u[0, :-1]))
    np.testing.assert_allclose(np.asarray(moved.q), q[0], atol=0.02)


def test_what_cannot_be_planned():
    """Joints that nothing drives, no room, too little force to hold still: each says so."""
    b = gs.Builder("free")
    b.link("link", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.2), inertia=0.02)
    with pytest.raises(gs.ProblemError, match="Nothing drives link"):
        excite(gs.Simulator(b.build(), 0.01), ["link.mass[*]"])
    with pytest.raises(gs.ProblemError, match="no room to move about 2"):
        excite(arm(lower=-1.0, upper=1.0), FREE, search=gs.FourierSearch(middle={"elbow": 2.0}))
    with pytest.raises(gs.ProblemError, match="middle of 'wrist'"):
        excite(arm(), FREE, search=gs.FourierSearch(middle={"wrist": 0.0}))
    with pytest.raises(gs.ProblemError, match="Holding still"):
        excite(
            arm(),
            FREE,
            seconds=2,
            search=gs.FourierSearch(generations=1, middle={"shoulder": 1.57}),
        )
    with pytest.raises(gs.ProblemError, match=r"covariance, has the shape \(2, 2\)"):
        excite(arm(), FREE, seconds=2, known=np.eye(2))


def test_what_the_file_may_have_wrong_is_allowed_for(planned):
    """With every torque known to a gain of 5 %, no mass, friction or rotor is known better."""
    for row in planned.parameters:
        assert row.after_with_file > 1.5 * row.after
        assert row.after_with_file > 0.02 * row.value


def test_exact_numbers_raise_no_doubt():
    """A number that is known to nothing else than itself: only what is named may be wrong."""
    names = (
        "link.com",
        "link.inertia",
        "joint.stiffness",
        "joint.damping",
        "joint.friction_velocity",
        "joint.axis",
        "joint.origin",
        "actuator.delay",
        "effect.clock",
        "effect.drag",
        "effect.load_friction",
        *(f"effect.ripple{n}{c}" for n in (1, 2, 4, 8) for c in "sc"),
    )
    exact = {f"{name}[*]": 0.0 for name in names}  # fmt: skip
    how = {"seconds": 2, "search": gs.FourierSearch(generations=1)}
    right = excite(arm(), FREE, nuisances=exact | {"actuator.gain[*]": 0.0}, **how)
    assert [p.after for p in right.parameters] == pytest.approx(
        [p.after_with_file for p in right.parameters])  # fmt: skip
    off = excite(arm(), FREE, nuisances=exact | {"actuator.gain[*]": 0.05}, **how)
    assert all(p.after_with_file > p.after for p in off.parameters)
