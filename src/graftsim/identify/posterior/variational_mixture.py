"""A Gaussian mixture over the parameters of a problem, trained through the simulator by Adam.

There are two objectives, and only one of them gives a posterior.

"elbo" maximises the evidence lower bound E_q[log p(data, x) - log q(x)], so q is the mixture that
is nearest to the posterior (in Kullback-Leibler divergence from q). It lives in the coordinates
of `density`: bounds by a smooth transform, no sample ever outside. Every kernel is sampled,
weighted by phi, and log q is that of the whole mixture with its numbers held still ("sticking the
landing", Roeder et al. 2017), so the gradient's noise vanishes as q becomes right.

"loss" is the method of Heiden et al. (2019), "Real2Sim transfer using differentiable physics":
the expected loss E[cost(theta)] over Gumbel-softmax samples, nothing else. There is no entropy in
it, so the deviations shrink for as long as it trains, whatever the noise of the data. They say how
far the search has come, not how uncertain theta is. It lives in the parameters' own units; samples
are clipped to the bounds, where a number has no gradient, and so are the kernels' means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError, suggest
from graftsim.identify.fit.fit import fit
from graftsim.identify.posterior.density import Coordinates, Density
from graftsim.identify.posterior.nuts import Posterior
from graftsim.identify.problem.parameters import search_box
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.results.result import Result
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.optim.mixture import GaussianMixture, spread_mixture

OBJECTIVES = ("elbo", "loss")
# Less than this share of draws that count, and a mixture is said not to be the posterior.
TRUSTED = 0.8


@dataclass(frozen=True)
class Online:
    """Samples arrive during the training: `first` at once, `more` every `every` epochs, until all
    are there. Of each channel they count in the order of the windows.
    """

    first: int = 5
    more: int = 5
    every: int = 10

    def seen(self, epoch: int) -> int:
        """Samples of each channel known in an epoch, which count from zero."""
        return self.first + self.more * (epoch // self.every)


@dataclass(frozen=True)
class Training:
    """How a mixture is trained: `steps` of Adam an epoch, `samples` of theta a step (of each
    kernel, with "elbo"), Adam's rate, whether it decays to zero along a cosine, the relaxation's
    temperature.
    """

    objective: str = "elbo"
    kernels: int = 3
    samples: int = 16
    steps: int = 1
    epochs: int = 300
    rate: float = 0.05
    decay: bool = True
    temperature: float = 2 / 3


@dataclass(frozen=True, repr=False)
class MixtureFit:
    """A trained mixture. `history` has leading axis epoch (its first entry is the start), `cost`
    [epochs] the expected cost (or minus the lower bound), `seen` [epochs] the samples known.

    The mixture is over theta with the objective "loss", over coordinates around a fit with "elbo":
    `sample` gives theta either way. `effective`, of "elbo": the share of its draws that would count
    if each were weighted by posterior over mixture: one where it is right, and small where the
    posterior has a shape, often a curved ridge, that the kernels do not reach. Draws of the mixture
    do not see what lies outside it, so a large share is no proof.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    history: GaussianMixture
    cost: np.ndarray
    seen: np.ndarray
    training: Training
    to_theta: Callable[[Any], Any]
    effective: float = float("nan")
    warnings: tuple[str, ...] = ()

    @property
    def mixture(self) -> GaussianMixture:
        """What the training ended with."""
        return jax.tree.map(lambda x: x[-1], self.history)

    def sample(self, count: int, seed: int = 0) -> np.ndarray:
        """Exact samples of the parameters [count, p]: one kernel is chosen for each."""
        x = self.mixture.sample(jax.random.key(seed), count)
        return np.asarray(jax.vmap(self.to_theta)(x), float)

    def posterior(self, draws: int = 4000, seed: int = 0) -> Posterior:
        """Independent draws of the mixture as a posterior. Of the objective "loss" it is none."""
        notes = self.warnings
        if self.training.objective == "loss":
            notes += ("Trained without entropy: its spread is not that of a posterior.",)
        theta = self.sample(draws, seed)[None]
        return Posterior(
            self.names, self.units, theta, "Gaussian mixture", settings=vars(self.training),
            warnings=notes,
        )  # fmt: skip


@one_blas_thread
def fit_mixture(
    problem: Problem,
    result: Result | None = None,
    training: Training | None = None,
    *,
    online: Online | None = None,
    start: GaussianMixture | None = None,
    seed: int = 0,
) -> MixtureFit:
    """Train a mixture of Gaussian kernels over the parameters of a problem; see the module.

    training: objective, size and schedule. "elbo": kernels begin around the `result`, or around a
    fit that runs first. "loss": their means begin anywhere within the bounds and their deviations
    at a quarter of them; initial states must not be free. `start`: another mixture to begin with,
    over theta with "loss", over coordinates with "elbo". `online`: samples become known one by one.

    Raises ProblemError: an unknown objective, free initial states with "loss", a parameter without
    bounds to start "loss" in, a start over other than p numbers, nothing to fit.
    """
    training = training or Training()
    _check(problem, training)
    density = Density(problem, compile_windows(problem, problem.train_windows()))
    start, at = _begin(problem, result, training, density, start, seed)
    seen = _seen(online, density.data, training.epochs)
    run = jax.jit(lambda *a: train(density, training, *a))
    history, cost = run(start, at, density.data, jnp.asarray(seen), jax.random.key(seed))
    cost = np.asarray(cost, float)
    warnings = []
    if not np.isfinite(cost).all():
        lost = np.count_nonzero(~np.isfinite(cost))
        warnings.append(f"In {lost} epochs no sample could be simulated; they changed nothing.")
    effective = float("nan")
    if at is not None:
        last = jax.tree.map(lambda x: x[-1], history)
        check = jax.jit(lambda *a: effective_share(density, *a))
        effective = float(check(last, at, density.data, jax.random.key(seed + 1)))
        if not effective > TRUSTED:
            warnings.append(
                f"The mixture is not the posterior's shape: of its draws, {effective:.0%} would "
                "count by importance. Its intervals are too narrow; draw by NUTS, or more kernels."
            )
    p = problem.parameters
    return MixtureFit(
        p.names, p.units, history, cost, seen, training, place(density, at), effective,
        tuple(warnings),
    )  # fmt: skip


def _check(problem: Problem, training: Training) -> None:
    """Can this problem be trained for this objective? ProblemError: no."""
    if training.objective not in OBJECTIVES:
        known = suggest(training.objective, OBJECTIVES)
        raise ProblemError(f"objective '{training.objective}'. {known}")
    if not len(problem.parameters):
        raise ProblemError("No parameter is free, so there is nothing for a mixture to describe.")
    if training.objective == "loss" and problem.free_states:
        raise ProblemError(
            "The objective 'loss' needs known initial states: initial='measured', or a "
            "function with fit_initial=False. 'elbo' takes free ones."
        )


def _begin(
    problem: Problem,
    result: Result | None,
    training: Training,
    density: Density,
    start: GaussianMixture | None,
    seed: int,
) -> tuple[GaussianMixture, Coordinates | None]:
    """The mixture to begin with, and the coordinates that it is over; None: over theta itself."""
    rng, at = np.random.default_rng(seed), None
    if training.objective == "loss":
        if start is None:
            low, high = search_box(problem.parameters)
            start = spread_mixture(rng, training.kernels, low, high, (high - low) / 4)
    else:
        at = density.around(fit(problem).theta if result is None else result.theta)
        start = start or around_zero(rng, training.kernels, density.count)
    if start.means.shape[-1] != density.count:
        raise ProblemError(
            f"start is a mixture over {start.means.shape[-1]} numbers; {density.count} are free."
        )
    return jax.tree.map(lambda x: jnp.asarray(x, density.dtype), start), at


def around_zero(rng: np.random.Generator, kernels: int, count: int) -> GaussianMixture:
    """Kernels that together are about a standard normal, no two alike."""
    one = np.ones(count)
    return spread_mixture(rng, kernels, -one, one, 0.8 * one)


def place(density: Density, at: Coordinates | None) -> Callable[[Any], Any]:
    """From what the mixture describes to theta: clipped to the bounds, or from coordinates."""
    if at is None:
        return lambda x: jnp.clip(x, density.space.lower, density.space.upper)
    return lambda x: density.theta(x, at)


def train(
    density: Density,
    training: Training,
    start: GaussianMixture,
    at: Coordinates | None,
    data: WindowData,
    seen: Any,
    key: Any,
) -> tuple[GaussianMixture, Any]:
    """The mixture before and after every epoch, and the cost of each; `seen` [epochs].

    To be compiled; may be mapped over start, coordinates, data and key.
    """
    import optax

    rate: Any = training.rate
    if training.decay:
        rate = optax.cosine_decay_schedule(training.rate, training.epochs * training.steps)
    adam: Any = optax.adam(rate)
    order = _order(data)
    gradient = _loss_gradient if at is None else _elbo_gradient

    def epoch(carry: Any, each: Any) -> tuple[Any, Any]:
        seen, key = each
        known = data._replace(
            weight=tuple(w * (n < seen)[..., None] for w, n in zip(data.weight, order, strict=True))
        )

        def step(carry: Any, key: Any) -> tuple[Any, Any]:
            mixture, state = carry
            cost, slope = gradient(density, training, mixture, at, known, key)
            update, state = adam.update(slope, state)
            mixture = eqx.apply_updates(mixture, update)
            if at is None:
                # Samples of a kernel outside the bounds have no gradient to bring it back.
                inside = jnp.clip(mixture.means, density.space.lower, density.space.upper)
                mixture = eqx.tree_at(lambda m: m.means, mixture, inside)
            return (mixture, state), cost

        carry, costs = jax.lax.scan(step, carry, jax.random.split(key, training.steps))
        return carry, (carry[0], costs.mean())

    keys = jax.random.split(key, training.epochs)
    _, (history, cost) = jax.lax.scan(epoch, (start, adam.init(start)), (seen, keys))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, history), cost


def _loss_gradient(
    density: Density, training: Training, q: GaussianMixture, at: Any, data: WindowData, key: Any
) -> tuple[Any, GaussianMixture]:
    """Mean cost of relaxed samples, for each residual known, and its gradient by the mixture."""
    place_ = place(density, at)
    local = jnp.zeros((density.windows, 0), density.dtype)
    known = sum(jnp.sum(w > 0) for w in data.weight)

    def cost(x: Any) -> Any:
        return density.cost(place_(x), local, data) / jnp.maximum(known, 1)

    def samples(q: GaussianMixture) -> Any:
        return q.relaxed(key, training.samples, training.temperature)[0]

    x, back = jax.vjp(samples, q)
    costs, slopes, good = _each(cost, x)
    count = jnp.sum(good)
    total = jnp.sum(jnp.where(good, costs, 0.0))
    return total / count, back(slopes / jnp.maximum(count, 1))[0]


def _elbo_gradient(
    density: Density, training: Training, q: GaussianMixture, at: Any, data: WindowData, key: Any
) -> tuple[Any, GaussianMixture]:
    """Minus the evidence lower bound, and its gradient.

    Initial states are drawn from the normal that the coordinates give them, around where each
    parameter takes them.
    """
    own, move = jax.random.split(key)
    still = jax.lax.stop_gradient(q)
    rest = density.dimension - density.count
    count, kernels = training.samples, len(q.logits)
    zeta = jax.random.normal(own, (count * kernels, rest), density.dtype)

    def cost(x: Any, zeta: Any) -> Any:
        return still.log_density(x) - density.log(jnp.concatenate([x, zeta]), at, data)

    x, back = jax.vjp(lambda q: q.each(move, count), q)
    costs, slopes, good = _each(cost, x.reshape(count * kernels, -1), zeta)
    # A kernel whose samples blow up must not look cheap.
    worst = jnp.max(jnp.where(good, costs, -jnp.inf))
    each = jnp.where(good, costs, worst).reshape(count, kernels).mean(0)
    number = jnp.maximum(good.reshape(count, kernels).sum(0), 1)
    slope = back(slopes.reshape(x.shape) * (q.weights / number)[..., None])[0]
    logits = jax.grad(lambda logits: jax.nn.softmax(logits) @ each)(q.logits)
    logits = jnp.where(jnp.isfinite(each).all(), logits, 0.0)
    return q.weights @ each, eqx.tree_at(lambda s: s.logits, slope, slope.logits + logits)


def _each(cost: Callable[..., Any], *x: Any) -> tuple[Any, Any, Any]:
    """Costs of samples side by side, gradients (zero where one blows up), and which are good."""
    costs, slopes = jax.vmap(jax.value_and_grad(cost))(*x)
    good = jnp.isfinite(costs) & jnp.isfinite(slopes).all(-1)
    return costs, jnp.where(good[:, None], slopes, 0.0), good


def effective_share(
    density: Density,
    q: GaussianMixture,
    at: Coordinates,
    data: WindowData,
    key: Any,
    count: int = 1000,
) -> Any:
    """(sum w)^2 / (n sum w^2) of n draws, w = p/q, q with the normal of the initial states."""
    own, move = jax.random.split(key)
    x = q.sample(move, count)
    zeta = jax.random.normal(own, (count, density.dimension - density.count), density.dtype)

    def log_weight(x: Any, zeta: Any) -> Any:
        drawn = q.log_density(x) - 0.5 * jnp.sum(zeta * zeta)
        return density.log(jnp.concatenate([x, zeta]), at, data) - drawn

    log = jax.vmap(log_weight)(x, zeta)
    top = jnp.max(jnp.where(jnp.isfinite(log), log, -jnp.inf))
    w = jnp.where(jnp.isfinite(log), jnp.exp(log - top), 0.0)
    return jnp.sum(w) ** 2 / (count * jnp.maximum(jnp.sum(w * w), 1e-300))


def _order(data: WindowData) -> tuple[Any, ...]:
    """The number of every sample of a sensor [w, n], in the order of the windows."""
    there = (jnp.any(w > 0, -1) for w in data.weight)
    return tuple((jnp.cumsum(t.reshape(-1)) - 1).reshape(t.shape) for t in there)


def _seen(online: Online | None, data: WindowData, epochs: int) -> np.ndarray:
    """Samples of each channel that are known in each epoch."""
    most = max(int(np.count_nonzero(np.asarray(w).any(-1))) for w in data.weight)
    if online is None:
        return np.full(epochs, most)
    return np.array([min(online.seen(e), most) for e in range(epochs)])
