"""Beyond first order: shifts that linear algebra gets wrong come from a refit, in closed form."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.doubt.refit import refit
from graftsim.identify.results.linearisation import Linearisation
from graftsim.optim.bounded import Bounded

X = np.linspace(0.1, 1.0, 7)[None]


def optimum(lower=-np.inf):
    """Of residuals (theta^2 - 1 - phi) x with phi zero: theta is 1, without initial states."""
    one = np.ones(1)
    bounds = Bounded(lower * one, np.inf * one, 0 * one, np.inf * one, np.zeros(0))
    return Linearisation(
        0 * X, 2 * X[..., None], np.zeros((1, 7, 0)), one, np.zeros((1, 0)), bounds
    )


def off(phi):
    """The residuals with phi that much off."""
    return lambda theta, local: (theta[0] ** 2 - 1 - phi) * X


@pytest.mark.parametrize("phi", [0.5, -0.4])
def test_a_root_is_found(phi):
    """theta is the root of 1 + phi; first order says 1 + phi / 2."""
    shift = refit(optimum(), off(phi), np.array([phi / 2]))
    assert shift[0] == pytest.approx(np.sqrt(1 + phi) - 1, rel=0.02)


def test_a_parameter_stays_within_its_bounds():
    """It goes no farther than where it may be."""
    shift = refit(optimum(lower=0.9), off(-0.4), np.array([-0.2]))
    assert shift[0] == pytest.approx(-0.1)


def test_what_does_not_settle_is_not_said():
    """Where the curvature is far from that of the optimum, there is no answer."""
    assert refit(optimum(), lambda theta, local: -3 * (theta[0] - 1.2) * X, np.array([0.1])) is None


def arm():
    """A wheel under torque."""
    b = gs.Builder("wheel")
    b.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=1e-3, armature=0.05, damping=0.2)
    b.actuator("wheel", "wheel")
    return gs.Simulator(b.build(), 0.005, substeps=2, integrator=gs.RungeKutta4())


def test_a_clock_that_is_wrong_by_a_tenth():
    """Inertia goes with the square of time, damping with time: 21 or -19 %, and 10 %."""
    rng = np.random.default_rng(0)
    u = np.repeat(rng.normal(size=60), 20)
    run = arm().rollout(arm().initial_state(), u[:, None])
    q = np.asarray(run.q[:, 0]) + 1e-3 * rng.normal(size=len(run.q))
    log = gs.recording_from_arrays(
        {"time": np.asarray(run.time), "q": q, "u": np.append(u, u[-1])},
        {"joint.q[wheel]": "q", "control[wheel]": "u"}, name="log", time="time",
    )  # fmt: skip
    exact = (
        "link.mass",
        "link.com",
        "link.inertia",
        "joint.stiffness",
        "joint.friction",
        "joint.axis",
        "actuator.gain",
        "actuator.delay",
        "effect.drag",
        "effect.load_friction",
        "effect.torque",
        *(f"effect.ripple{n}{c}" for n in (1, 2, 4, 8) for c in "sc"),
    )
    sizes = {f"{name}[*]": 0.0 for name in exact} | {"effect.clock": 0.1}  # fmt: skip
    free = {"joint.armature[*]": gs.Positive(), "joint.damping[*]": gs.Positive()}
    result = gs.fit(gs.Problem(arm(), log, free, noise={"joint.q[wheel]": 1e-3}, nuisances=sizes))
    (clock,) = result.withheld
    assert (clock.name, clock.order, clock.unit) == ("effect.clock", "refit", "1")
    inertia, damping = (abs(clock.moves[row.name]) / row.value for row in result.parameters)
    # Of all that turns, 0.051, only the rotor is free; first order says 20 %, either way.
    by = inertia * 0.05 / 0.051
    assert min(abs(by - 0.21), abs(by - 0.19)) < 0.004
    assert damping == pytest.approx(0.1, rel=0.05)
