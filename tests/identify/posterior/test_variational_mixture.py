"""Training of a mixture through the simulator: online, without entropy, and what is refused."""

import numpy as np
import pytest
from test_nuts import swing

import graftsim as gs

FREE = {"joint.damping[hinge]": gs.Bounds(0.0, 1.0)}

LOSS = gs.Training("loss", epochs=60, steps=4, samples=4, rate=0.03, decay=False)


def test_a_mixture_trained_online_shrinks_onto_the_truth():
    """The paper's objective: all weight near 0.1, deviations shrinking, samples arriving."""
    problem = swing(free=FREE, noise=1e-3)
    found = gs.fit_mixture(
        problem, training=LOSS, online=gs.Online(first=5, more=5, every=10), seed=1,
    )  # fmt: skip
    assert found.seen[:20].tolist() == [5] * 10 + [10] * 10
    assert found.seen[-1] == 21
    assert found.history.means.shape == (61, 3, 1)
    np.testing.assert_allclose(found.history.stds[0], 0.25)
    assert float(found.mixture.mean[0]) == pytest.approx(0.1, abs=0.02)
    used = np.asarray(found.mixture.weights) > 0.1
    assert np.asarray(found.mixture.stds)[used].max() < 0.25 / 5
    assert np.isfinite(found.cost).all()
    posterior = found.posterior(500)
    assert posterior.theta.shape == (1, 500, 1) and posterior.theta.min() >= 0
    assert "not that of a posterior" in posterior.warnings[0]
    again = gs.fit_mixture(
        problem, training=LOSS, online=gs.Online(first=5, more=5, every=10), seed=1,
    )  # fmt: skip
    np.testing.assert_array_equal(found.history.means, again.history.means)


def test_samples_that_have_not_arrived_do_not_count():
    """With five samples known, changing the others changes nothing."""
    one, other = swing(free=FREE), swing(free=FREE)
    name = "joint.q[hinge]"
    channel = other.recordings[0][name]
    values = np.where(np.arange(len(channel.values))[:, None] < 5, channel.values, 3.0)
    changed = other.recordings[0].with_channel(channel.replace(values=values))
    other = gs.Problem(
        other.simulator, changed, FREE, noise={name: 0.02}, holdout=0, horizon=1.0, growth=(1.0,),
        initial=lambda *_: (np.array([1.0]), np.zeros(1)), fit_initial=False,
    )  # fmt: skip
    online = gs.Online(first=5, more=16, every=2)
    a, b = (
        gs.fit_mixture(p, training=gs.Training("loss", epochs=4), online=online)
        for p in (one, other)
    )
    assert a.seen.tolist() == [5, 5, 21, 21]
    np.testing.assert_array_equal(a.history.means[:3], b.history.means[:3])
    assert not np.array_equal(a.history.means[3], b.history.means[3])


def test_what_is_refused():
    """Each with what would be accepted."""
    with pytest.raises(gs.ProblemError, match="Nearest: elbo"):
        gs.fit_mixture(swing(), training=gs.Training("elb"))
    with pytest.raises(gs.ProblemError, match="known initial states"):
        gs.fit_mixture(swing(initial="free", fit_initial=True), training=gs.Training("loss"))
    with pytest.raises(gs.ProblemError, match="No parameter is free"):
        gs.fit_mixture(gs.Problem(swing().simulator, swing().recordings, (), holdout=0))
    two = gs.GaussianMixture(np.zeros(3), np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(gs.ProblemError, match="over 2 numbers; 1 are free"):
        gs.fit_mixture(swing(), training=gs.Training("loss"), start=two)
    with pytest.raises(gs.ProblemError, match="needs bounds"):
        gs.fit_mixture(swing(damping=0.0), training=gs.Training("loss"))


def test_a_mixture_that_does_not_fit_says_so():
    """Two factors of gravity of which only the product shows: the posterior is a hyperbola."""

    def scaled(model, x):
        gravity = model.world.gravity * x[0] * x[1]
        return gs.model.with_leaf(model, "world.gravity", gravity)

    factors = gs.Custom(("a", "b"), (1.0, 1.0), scaled, "1", gs.Bounds(0.2, 5.0))
    problem = swing(free={"factor": factors}, noise=1e-3)
    found = gs.fit_mixture(problem, training=gs.Training(kernels=1, samples=8, epochs=60))
    assert found.effective < 0.5
    assert "Its intervals are too narrow" in found.posterior().warnings[0]
