"""The adapter for sbi; torch is there or it is not."""

import sys

import numpy as np
import pytest
from test_nuts import swing

import graftsim as gs

PRIOR = {
    "joint.damping[hinge]": gs.Bounds(0.0, 0.5),
    "link.mass[rod]": gs.Positive(prior=gs.Prior(1.0, 0.5)),
}


def test_torch_missing_is_said(monkeypatch):
    """The extra that brings it is named."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(gs.ProblemError, match=r"graftsim\[sbi\]"):
        gs.for_sbi(swing(free=PRIOR))


def test_prior_and_simulator_over_tensors():
    """Shapes, the noise, and a prior's density that sums to one."""
    torch = pytest.importorskip("torch")
    given = gs.for_sbi(swing(free=PRIOR))
    torch.manual_seed(0)
    theta = given.prior.sample((500,))
    assert theta.shape == (500, 2) and given.names[0] == "joint.damping[hinge]"
    readings = given.simulator(theta)
    assert readings.shape == (500, *given.observed.shape)
    assert given.simulator(theta[0]).shape == given.observed.shape
    side = [torch.linspace(-0.2, 0.7, 901), torch.linspace(-1, 5, 1201)]
    grid = torch.stack(torch.meshgrid(*side, indexing="ij"), -1).reshape(-1, 2)
    density = given.prior.log_prob(grid).exp()
    assert float(density.sum()) * 0.9 / 900 * 6 / 1200 == pytest.approx(1.0, abs=0.01)
    assert np.isneginf(float(given.prior.log_prob(torch.tensor([-0.1, 1.0]))))


@pytest.mark.slow
def test_sbi_finds_what_nuts_finds():
    """A neural posterior of the same data, roughly."""
    inference = pytest.importorskip("sbi.inference")
    torch = pytest.importorskip("torch")
    problem = swing(free={"joint.damping[hinge]": gs.Bounds(0.0, 0.5)})
    given = gs.for_sbi(problem)
    torch.manual_seed(0)
    npe = inference.NPE(prior=given.prior)
    theta = given.prior.sample((1000,))
    npe.append_simulations(theta, given.simulator(theta)).train(max_num_epochs=100)
    drawn = npe.build_posterior().set_default_x(given.observed).sample((1000,))
    exact = gs.nuts(problem, draws=500, warmup=200, chains=2)
    assert float(drawn.mean()) == pytest.approx(exact.mean[0], abs=2 * exact.std[0])
    assert float(drawn.std()) == pytest.approx(exact.std[0], rel=0.6)
