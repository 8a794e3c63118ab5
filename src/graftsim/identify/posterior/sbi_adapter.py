"""A problem as the package `sbi` takes it: a prior, a simulator and an observation, over torch.

Neural posteriors need no likelihood and serve many recordings at once; where the noise is Gaussian
and there is one recording, `nuts` is exact and much cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.predictive import Predictive, draw_prior


@dataclass(frozen=True)
class ForSBI:
    """prior: a torch distribution over theta [p]. simulator: theta [n, p] or [p] to readings with
    noise [n, m] or [m]. observed: [m]. names: of theta.
    """

    prior: Any
    simulator: Any
    observed: Any
    names: tuple[str, ...]


def for_sbi(problem: Problem, *, seed: int = 0) -> ForSBI:
    """Prior, simulator and observation of a problem for `sbi`, such as its NPE.

    The simulator runs all rows of theta side by side on kernels, and adds the problem's sensor
    noise. Readings that are not finite stay so: sbi leaves them out. float32, as sbi trains.

        given = gs.for_sbi(problem)
        inference = sbi.inference.NPE(prior=given.prior)
        theta = given.prior.sample((2000,))
        inference.append_simulations(theta, given.simulator(theta)).train()
        posterior = inference.build_posterior().set_default_x(given.observed)

    Raises ProblemError: torch is missing (extra `sbi`), free initial states, poses, or a parameter
    with neither a Gaussian prior nor two bounds.
    """
    torch = _torch()
    predictive, rng = Predictive(problem), np.random.default_rng(seed)
    draw_prior(problem, rng, 1)

    def simulator(theta: Any) -> Any:
        values = np.asarray(theta.detach().cpu().numpy(), float)
        read = predictive.flat(np.atleast_2d(values), rng)
        read = read if values.ndim == 2 else read[0]
        return torch.as_tensor(read, dtype=torch.float32)

    observed = torch.as_tensor(predictive.observed, dtype=torch.float32)
    return ForSBI(_prior(torch, problem), simulator, observed, problem.parameters.names)


def _prior(torch: Any, problem: Problem) -> Any:
    """Uniform within bounds where there is no Gaussian, else a Gaussian cut off at them."""
    p = problem.parameters
    real = torch.distributions.constraints

    def tensor(x: Any) -> Any:
        return torch.as_tensor(np.asarray(x), dtype=torch.float32)

    flat = ~np.isfinite(p.prior_std)
    mean, std = tensor(p.prior_mean), tensor(np.where(flat, 1.0, p.prior_std))
    lower, upper = tensor(p.lower), tensor(p.upper)
    normal = torch.distributions.Normal(mean, std)
    # In float64: far tails of a float32 Gaussian are 0 or 1.
    wide = torch.distributions.Normal(mean.double(), std.double())
    inside = wide.cdf(upper.double()) - wide.cdf(lower.double())
    uniform = tensor(flat).bool()
    width = torch.where(uniform, upper - lower, torch.ones_like(mean))

    class Prior(torch.distributions.Distribution):
        arg_constraints: dict[str, Any] = {}  # noqa: RUF012

        def __init__(self) -> None:
            super().__init__(event_shape=mean.shape, validate_args=False)

        @property
        def support(self) -> Any:
            return real.independent(real.interval(lower, upper), 1)

        @property
        def mean(self) -> Any:
            return self.sample(torch.Size((4096,))).mean(0)

        @property
        def variance(self) -> Any:
            return self.sample(torch.Size((4096,))).var(0)

        def sample(self, sample_shape: Any = ()) -> Any:
            # From torch's generator, so that torch.manual_seed decides.
            seed = int(torch.randint(2**31, (1,)))
            shape = tuple(sample_shape)
            drawn = draw_prior(problem, np.random.default_rng(seed), int(np.prod(shape)))
            return tensor(drawn).reshape(*shape, len(p))

        def log_prob(self, value: Any) -> Any:
            gauss = normal.log_prob(value) - torch.log(inside).float()
            each = torch.where(uniform, -torch.log(width), gauss)
            there = ((value >= lower) & (value <= upper)).all(-1)
            outside = torch.full_like(each.sum(-1), -torch.inf)
            return torch.where(there, each.sum(-1), outside)

    return Prior()


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ProblemError("An adapter for sbi needs it: pip install 'graftsim[sbi]'.") from error
    return torch
