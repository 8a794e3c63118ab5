"""Behaviour cloning: a network that gives the commands that a controller gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from graftsim.control.policy import Policy
from graftsim.errors import ProblemError
from graftsim.graft.network import Recurrent, Specification
from graftsim.graft.perceptron import MLP, Perceptron


@dataclass(frozen=True)
class Cloning:
    """How a controller is cloned: `epochs` passes over the samples in batches of `batch` by Adam.

    rate: of Adam at the start, it falls to zero along a cosine. holdout: the share of the samples,
    from the end, that is only judged by.
    """

    epochs: int = 100
    batch: int = 256
    rate: float = 2e-3
    holdout: float = 0.1

    def __post_init__(self) -> None:
        """Raises ProblemError: a number that cannot be meant."""
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not self.rate > 0:
            raise ProblemError(f"The rate of Adam must be positive, got {self.rate}.")
        if not 0 <= self.holdout < 1:
            raise ProblemError(f"holdout is a share from 0 to below 1, got {self.holdout}.")


class Cloned(NamedTuple):
    """A policy, the cost of each epoch (mean square of standardised commands), and its judgement:
    r_squared of each command on the samples held out, NaN without any.
    """

    policy: Policy
    history: Float[np.ndarray, " epochs"]
    r_squared: Float[np.ndarray, " m"]


class Standard(NamedTuple):
    """Mean and deviation of columns; a column that does not change has the deviation 1."""

    mean: Float[np.ndarray, " n"]
    scale: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, samples: Float[np.ndarray, "N n"]) -> Standard:
        """Of samples, in their rows."""
        mean, scale = samples.mean(0), samples.std(0)
        return cls(mean, np.where(scale > 1e-9 * (1 + np.abs(mean)), scale, 1.0))


def clone(
    inputs: Any,
    controls: Any,
    network: Specification | None = None,
    *,
    how: Cloning | None = None,
    weights: Any = None,
    key: Any = None,
) -> Cloned:
    """A policy that imitates a controller: controls [N, m] for inputs [N, n], physical units.

    network: `MLP(64, 64)` by default; one without memory. weights: [N], how much a sample counts.
    key: a `jax.random.key` for starting weights and batches; default key 0. Inputs and commands are
    standardised by the training samples: deviations become the scales of the policy, means go into
    an MLP's biases. The last rows are held out; shuffle those of one run yourself if neighbours
    are not to be told apart.

    Raises ProblemError: arrays of other shapes, too few samples, a sample that is no number, a
    network with memory.
    """
    how = Cloning() if how is None else how
    network = MLP(64, 64) if network is None else network
    x, u, w = _checked(inputs, controls, weights, network)
    train = len(x) - int(how.holdout * len(x))
    if train < 2:
        raise ProblemError(f"Cloning needs 2 samples or more to train on, got {train}.")
    start, shuffle = jax.random.split(jax.random.key(0) if key is None else key)
    dtype = jnp.zeros(0).dtype
    built = network.build(x.shape[1], u.shape[1], start, dtype)
    if isinstance(built, Recurrent):
        raise ProblemError(f"{network} has memory; samples one by one do not teach it.")
    seen, wanted = Standard.of(x[:train]), Standard.of(u[:train])
    centred = isinstance(built, Perceptron) and not built.signs
    shift, offset = (s.mean if centred else np.zeros_like(s.mean) for s in (seen, wanted))
    samples = ((x - shift) / seen.scale, (u - offset) / wanted.scale, w)
    samples = tuple(jnp.asarray(a[:train], dtype) for a in samples)
    trained, history = _descend(built, samples, how, shuffle)
    if centred:
        ones = np.ones_like(seen.scale), np.ones_like(wanted.scale)
        trained = trained.affine(shift / seen.scale, ones[0], offset / wanted.scale, ones[1])
    scales = jnp.asarray(seen.scale, dtype), jnp.asarray(wanted.scale, dtype)
    policy = Policy(network, trained, *scales)
    return Cloned(policy, np.asarray(history), _r_squared(policy, x[train:], u[train:]))


def _checked(
    inputs: Any, controls: Any, weights: Any, network: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples as arrays. Raises ProblemError as `clone`."""
    if not isinstance(network, Specification):
        raise ProblemError(f"network must be a specification such as MLP(64, 64), got {network!r}.")
    arrays = {"inputs": np.asarray(inputs, float), "controls": np.asarray(controls, float)}
    for name, a in arrays.items():
        if a.ndim != 2 or 0 in a.shape:
            raise ProblemError(f"{name} must be [samples, columns], got an array {a.shape}.")
        if not np.isfinite(a).all():
            row, column = np.argwhere(~np.isfinite(a))[0]
            raise ProblemError(f"{name}[{row}, {column}] is {a[row, column]}, which is no number.")
    x, u = arrays.values()
    if len(x) != len(u):
        raise ProblemError(f"{len(x)} samples of inputs and {len(u)} of controls.")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, float)
    if w.shape != (len(x),) or not (np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
        raise ProblemError(f"weights must be {len(x)} numbers that are not negative, nor all zero.")
    return x, u, w / w.mean()


@eqx.filter_jit
def _descend(network: Any, samples: Any, how: Cloning, key: Any) -> tuple[Any, Any]:
    """The network after all epochs, and the cost of each."""
    import optax

    count = samples[0].shape[0]
    size = min(how.batch, count)
    batches = count // size
    weights, form = eqx.partition(network, eqx.is_inexact_array)
    adam: Any = optax.adam(optax.cosine_decay_schedule(how.rate, how.epochs * batches))

    def cost(weights: Any, batch: Any) -> Any:
        x, u, w = batch
        y = jax.vmap(eqx.combine(weights, form))(x)
        return jnp.mean(w[:, None] * (y - u) ** 2)

    def descend(carry: Any, chosen: Any) -> Any:
        weights, state = carry
        batch = jax.tree.map(lambda a: a[chosen], samples)
        value, slope = jax.value_and_grad(cost)(weights, batch)
        update, state = adam.update(slope, state)
        return (optax.apply_updates(weights, update), state), value

    def epoch(carry: Any, key: Any) -> Any:
        order = jax.random.permutation(key, count)[: batches * size].reshape(batches, size)
        carry, values = jax.lax.scan(descend, carry, order)
        return carry, values.mean()

    start = weights, adam.init(weights)
    (weights, _), history = jax.lax.scan(epoch, start, jax.random.split(key, how.epochs))
    return eqx.combine(weights, form), history


def _r_squared(policy: Policy, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """1 - residual / variation of each command; NaN where nothing varies."""
    if len(x) < 2:
        return np.full(u.shape[1], np.nan)
    left = np.sum((u - np.asarray(policy(x))) ** 2, 0)
    variation = np.sum((u - u.mean(0)) ** 2, 0)
    return 1 - left / np.where(variation > 0, variation, np.nan)
