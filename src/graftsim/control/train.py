"""Training through the simulator: a policy's weights by the gradient of what a roll-out costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.engine import Simulator, Trajectory
from graftsim.errors import ProblemError, VariableError
from graftsim.graft.bound import BoundGrafts
from graftsim.model.state import State
from graftsim.optim.outcome import Advised

# A number that a roll-out costs; start states side by side, as they are or drawn with a key.
Cost = Callable[[Trajectory], Any]
Starts = State | Callable[[Any], State]


class Ending(Advised):
    """How a training ended: equal to its name as text, with `advice` for whoever reads it."""

    REACHED = "reached", ""
    ITERATION_LIMIT = (
        "iteration limit",
        "All iterations were used: look at the history whether the cost was still falling.",
    )
    NON_FINITE = (
        "non-finite",
        "The cost or its gradient left the finite numbers in every roll-out: shorten the roll-outs "
        "or the step, lower the rate, or begin from a policy that stays near the start.",
    )


class Iteration(NamedTuple):
    """Mean cost of the roll-outs, median norm and largest norm of their gradients, and how many
    were left out because they left the finite numbers."""

    cost: float
    gradient: float
    steepest: float
    lost: int


@dataclass(frozen=True)
class Training:
    """Adam (Kingma & Ba 2015) on the mean cost, with gradients in units of their median norm.

    rate: of Adam at the start, it falls to a hundredth along a cosine. clip: the gradient of each
    roll-out is cut at this many times the median norm, so that the few that pass by a jump or a
    bifurcation do not drown the others. until: the mean cost at which the training ends early.
    after: called with each iteration.
    """

    iterations: int = 200
    rate: float = 3e-3
    clip: float = 3.0
    until: float = -math.inf
    after: Callable[[Iteration], None] | None = None

    def __post_init__(self) -> None:
        """Raises ProblemError: a number that cannot be meant."""
        if self.iterations < 1:
            raise ProblemError(f"iterations must be at least 1, got {self.iterations}.")
        for name in ("rate", "clip"):
            if not getattr(self, name) > 0:
                raise ProblemError(f"{name} must be positive, got {getattr(self, name)}.")


class Trained(NamedTuple):
    """The simulator with the weights of the lowest mean cost, that cost, how each iteration went,
    and how it ended."""

    simulator: Simulator
    cost: float
    history: tuple[Iteration, ...]
    outcome: Ending


def train(
    simulator: Simulator,
    cost: Cost,
    starts: Starts,
    steps: int,
    *,
    grafts: str | Sequence[str] = "policy",
    controls: Float[Any, "t nu"] | None = None,
    record: Sequence[str] = (),
    how: Training | None = None,
    key: Any = None,
) -> Trained:
    """Weights of grafts that lower the mean cost of roll-outs of `steps` from many states.

    cost: of one `Trajectory` (with what `record` names) a number, in JAX. starts: a `State` whose
    arrays have a leading axis, the roll-outs side by side; or a function of a `jax.random.key` that
    gives one, anew in each iteration. grafts: labels of those that learn. controls: commands given
    beside the policy's, zero by default.

    A roll-out whose cost or gradient is not finite does not count in its iteration. Raises
    ProblemError: states that are not side by side or are no numbers, a cost that is no number;
    VariableError: no such graft. All of it is checked before the first simulation.
    """
    how = Training() if how is None else how
    labels = (grafts,) if isinstance(grafts, str) else tuple(grafts)
    _check_grafts(simulator, labels)
    draw = starts if callable(starts) else None
    key = jax.random.key(0) if key is None else key
    state = draw(jax.random.fold_in(key, 0)) if draw is not None else starts
    assert isinstance(state, State)
    _check_states(simulator, state)
    if steps < 1:
        raise ProblemError(f"A roll-out needs at least 1 step, got {steps}.")
    given = _controls(simulator, controls, steps)

    def one(weights: Any, state: State) -> Any:
        own = with_weights(simulator, labels, weights)
        return cost(own.rollout(state, given, record=record))

    weights = weights_of(simulator, labels)
    _check_cost(one, weights, state)

    def states(n: int) -> State:
        return state if draw is None or n == 0 else draw(jax.random.fold_in(key, n))

    evaluate = jax.jit(_robust(one, how.clip))
    best, lowest, history, outcome = _descend(evaluate, states, weights, how)
    return Trained(with_weights(simulator, labels, best), lowest, history, outcome)


def _descend(
    evaluate: Callable[..., Any], states: Callable[[int], State], weights: Any, how: Training
) -> tuple[Any, float, tuple[Iteration, ...], Ending]:
    """Weights of the lowest cost, that cost, all iterations, and how they ended."""
    step, memory = _adam(how, weights)
    best, lowest, history, outcome = weights, math.inf, [], Ending.ITERATION_LIMIT
    for n in range(how.iterations):
        found, slope = evaluate(weights, states(n))
        value, middle, most, lost = (float(x) for x in found)
        history.append(Iteration(value, middle, most, int(lost)))
        if how.after is not None:
            how.after(history[-1])
        if not (math.isfinite(value) and math.isfinite(middle)):
            outcome = Ending.NON_FINITE
            break
        if value < lowest:
            best, lowest = weights, value
        if value <= how.until:
            outcome = Ending.REACHED
            break
        weights, memory = step(weights, slope, memory)
    return best, lowest, tuple(history), outcome


def weights_of(simulator: Simulator, labels: Sequence[str]) -> tuple[Array, ...]:
    """Weights of grafts, a vector each."""
    assert isinstance(simulator.grafts, BoundGrafts)
    return tuple(simulator.grafts[label].trainable for label in labels)


def with_weights(
    simulator: Simulator, labels: Sequence[str], weights: Sequence[Array]
) -> Simulator:
    """The simulator with other weights in grafts."""
    grafts = simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    for label, vector in zip(labels, weights, strict=True):
        grafts = grafts.replace(label, grafts[label].with_trainable(vector))
    return replace(simulator, grafts=grafts)


def _robust(one: Callable[..., Any], clip: float) -> Callable[..., Any]:
    """Of states side by side: what an `Iteration` holds, and the mean of scaled, cut gradients."""

    def evaluate(weights: Any, states: State) -> Any:
        # The gradient of each roll-out by itself, although they share the weights.
        values, slopes = jax.vmap(jax.value_and_grad(one), (None, 0))(weights, states)
        flat = jnp.concatenate(slopes, 1)
        good = jnp.isfinite(values) & jnp.isfinite(flat).all(1)
        flat = jnp.where(good[:, None], flat, 0.0)
        norms = jnp.where(good, jnp.linalg.norm(flat, axis=1), jnp.nan)
        middle, most = jnp.nanmedian(norms), jnp.nanmax(norms)
        cut = jnp.minimum(1 / jnp.maximum(middle, 1e-300), clip / jnp.maximum(norms, 1e-300))
        share = jnp.where(good, 1.0, 0.0) / jnp.sum(good)
        mean = jnp.where(good, share * cut, 0.0) @ flat
        ends = np.cumsum([w.shape[0] for w in weights])[:-1]
        cost = share @ jnp.where(good, values, 0.0)
        return (cost, middle, most, jnp.sum(~good)), tuple(jnp.split(mean, ends))

    return evaluate


def _adam(how: Training, weights: Any) -> tuple[Callable[..., Any], Any]:
    """The step of Adam and its memory."""
    import optax

    rate = optax.cosine_decay_schedule(how.rate, how.iterations, alpha=0.01)
    adam: Any = optax.adam(rate)

    @jax.jit
    def step(weights: Any, slope: Any, memory: Any) -> Any:
        update, memory = adam.update(slope, memory)
        return optax.apply_updates(weights, update), memory

    return step, adam.init(weights)


def _check_grafts(simulator: Simulator, labels: Sequence[str]) -> None:
    there = simulator.grafts.labels if isinstance(simulator.grafts, BoundGrafts) else ()
    for label in labels:
        if label not in there:
            raise VariableError(
                f"The simulator has no graft '{label}' to train. Its grafts: "
                f"{', '.join(there) or 'none'}."
            )
    if not labels:
        raise VariableError("Name at least one graft to train.")


def _check_states(simulator: Simulator, state: State) -> None:
    wanted = {"q": simulator.model.nq, "qd": simulator.model.nv}
    count = np.shape(state.q)[0] if np.ndim(state.q) == 2 else 0
    for name, width in wanted.items():
        x = np.asarray(getattr(state, name))
        if x.ndim != 2 or x.shape != (count, width) or not count:
            raise ProblemError(
                f"starts.{name} must be [roll-outs, {width}], states side by side, got an array "
                f"{x.shape}: jax.vmap(lambda q: simulator.initial_state(q))(q) makes them."
            )
        if not np.isfinite(x).all():
            row = int(np.argwhere(~np.isfinite(x))[0][0])
            raise ProblemError(f"starts.{name} of roll-out {row} has a value that is no number.")
    for leaf in jax.tree.leaves(state):
        if np.shape(leaf)[:1] != (count,):
            raise ProblemError(f"starts has {count} states and an array {np.shape(leaf)} in them.")


def _controls(simulator: Simulator, controls: Any, steps: int) -> Array:
    shape = steps, simulator.model.nu
    given = np.zeros(shape) if controls is None else np.asarray(controls, float)
    if given.shape != shape:
        raise ProblemError(f"controls must be [steps, commands] = {shape}, got {given.shape}.")
    if not np.isfinite(given).all():
        raise ProblemError("controls has a value that is no number.")
    return jnp.asarray(given, simulator.dt.dtype)


def _check_cost(one: Callable[..., Any], weights: Any, states: State) -> None:
    """Raises ProblemError: what the cost returns is no real scalar."""
    first = jax.tree.map(lambda x: x[0], states)
    found = jax.eval_shape(lambda w, s: jax.tree.map(jnp.asarray, one(w, s)), weights, first)
    leaves = jax.tree.leaves(found)
    if len(leaves) == 1 and leaves[0].shape == () and jnp.issubdtype(leaves[0].dtype, jnp.floating):
        return
    shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in leaves) or "nothing"
    raise ProblemError(f"The cost of a roll-out must be one real number, got {shown}.")
