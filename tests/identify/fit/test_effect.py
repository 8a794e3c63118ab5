"""Numbers on which no residual depends are found before the first iteration, and stay."""

import jax
import machines
import numpy as np
import pytest

import graftsim as gs
from graftsim.engine import ImplicitDamping
from graftsim.identify.fit.effect import hold, start_with_effect, without_effect
from graftsim.identify.runs.failures import whole
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point
from graftsim.spatial.inertia import from_log_cholesky


def posed(recording, free, **numbers):
    """The arm with its start, all windows, and initial states as estimated."""
    problem = gs.Problem(
        gs.Simulator(machines.arm(**numbers), machines.DT, integrator=ImplicitDamping()),
        recording,
        free,
        horizon=0.3,
        growth=(1.0,),
        holdout=0,
    )
    part = whole(problem, 0.3)
    return problem, part, np.zeros((len(part.windows), problem.nlocal))


def test_numbers_of_a_links_inertia_that_its_joint_hides(arm_recording):
    """An arm about x shows I_xx about its hinge and the moments m y, m z: closed form."""
    problem, part, local = posed(arm_recording, ["link.inertial[arm]", "joint.damping[*]"])
    theta = problem.parameters.start

    def shown(x):
        mass, com, inertia = from_log_cholesky(x)
        return mass * com[1], mass * com[2], inertia[0] + mass * (com[1] ** 2 + com[2] ** 2)

    slopes = np.stack(jax.jacfwd(shown)(theta[:10]))
    expected = np.append(~np.any(np.abs(slopes) > 1e-12, 0), False)
    assert 0 < expected.sum() < 10
    np.testing.assert_array_equal(without_effect(part, problem, theta, local), expected)
    with pytest.warns(gs.GraftsimWarning, match=r"link.inertial\[arm\].*no residual depends on it"):
        start, unused = start_with_effect(part, problem, theta, local)
    np.testing.assert_array_equal(start, theta)
    np.testing.assert_array_equal(unused, expected)


def test_what_is_held_stays_and_the_rest_is_fitted(arm_recording):
    """A solve between the bounds of `hold` improves the others and leaves these where they are."""
    problem, part, local = posed(
        arm_recording, ["link.inertial[arm]", "joint.damping[*]"], damping=0.3
    )
    theta = problem.parameters.start
    with pytest.warns(gs.GraftsimWarning):
        theta, unused = start_with_effect(part, problem, theta, local)
    bounds = hold(problem.bounds_of(theta, physics=True), theta, unused)
    start = Point(theta, local)
    found = LevenbergMarquardt(iterations=8).minimise(
        WindowCost(problem, part.compiled), start, bounds
    )
    np.testing.assert_array_equal(found.theta[unused], theta[unused])
    assert (found.theta[~unused] != theta[~unused]).all()
    r = part.compiled.residual(theta, local)
    assert found.cost < 0.1 * 0.5 * float(np.sum(r**2))


def test_nothing_is_held_where_all_has_an_effect(arm_recording, recwarn):
    """And nothing is said."""
    problem, part, local = posed(arm_recording, ["link.mass[arm]", "joint.damping[*]"])
    start, unused = start_with_effect(part, problem, problem.parameters.start, local)
    assert not unused.any()
    np.testing.assert_array_equal(start, problem.parameters.start)
    assert not [w for w in recwarn if "residual" in str(w.message)]


def test_a_fit_of_what_has_no_effect_alone_is_refused(arm_recording):
    """Nothing is left to fit: the names are said, and what would help."""
    problem, part, local = posed(arm_recording, ["joint.limit_stiffness[hinge]"])
    with pytest.raises(gs.ProblemError, match=r"depends on joint.limit_stiffness\[hinge\].*sensor"):
        start_with_effect(part, problem, problem.parameters.start, local)


def test_longer_windows_may_show_what_shorter_ones_do_not():
    """A limit that the arm meets after 0.24 s: held while windows end before, then fitted."""
    builder = gs.Builder("falling")
    builder.link("arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.2), inertia=0.02,
                 joint_name="hinge", lower=0.4, upper=3.0, limit_stiffness=60.0)  # fmt: skip
    model = builder.build()
    simulator = gs.Simulator(model, 0.002, integrator=ImplicitDamping())
    path = simulator.rollout(simulator.initial_state({"hinge": 1.2}), steps=400)
    q = np.asarray(path.q)[:, 0]
    assert 0.2 < 0.002 * np.argmax(q < 0.4) < 0.5
    channel = gs.Channel("joint.q[hinge]", np.asarray(path.time), q, "rad")
    softer = gs.model.with_leaf(model, "joint.limit_stiffness", jax.numpy.array([40.0]))
    problem = gs.Problem(
        gs.Simulator(softer, 0.002, integrator=ImplicitDamping()),
        gs.Recording({channel.name: channel}, "fall"),
        {"joint.limit_stiffness[hinge]": gs.Bounds(5, 500), "link.mass[arm]": gs.Bounds(0.5, 2)},
        noise={channel.name: 1e-4}, holdout=0, horizon=0.8, growth=(0.25, 1.0), stride=0.8,
        initial=lambda *_: (np.array([1.2]), np.zeros(1)), fit_initial=False,
    )  # fmt: skip
    with pytest.warns(gs.GraftsimWarning, match=r"limit_stiffness\[hinge\] stays as given"):
        result = gs.fit(problem)
    assert result.value("joint.limit_stiffness[hinge]") == pytest.approx(60.0, rel=1e-3)
