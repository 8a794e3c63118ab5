"""Adam for costs through long simulations: gradients are cut, draws go in lanes, the best is kept.

The unknowns are a tree of arrays (a policy's weights, friction beside a network), the cost is what
the caller compiled: one function, or one for each robot or set of data, whose values add up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.errors import ProblemError
from graftsim.optim.outcome import Outcome

Tree = Any
# (x, generator for a batch) -> cost and its gradient; with draws, a cost of each.
Evaluate = Callable[[Tree, np.random.Generator], tuple[Any, Tree]]
# Called after each update: how many are done, of how many, costs [draws].
Progress = Callable[[int, int, np.ndarray], None]


class Trained(NamedTuple):
    """x in the form it went in; costs of batches, by update; what the judge said, by judgement,
    and after which update [draws] x was best: the last where there is no judge.
    """

    x: Tree
    costs: Float[np.ndarray, "updates draws"]
    judged: Float[np.ndarray, "judgements draws"]
    best: np.ndarray
    outcome: Outcome


@dataclass(frozen=True)
class ClippedAdam:
    """Adam (Kingma & Ba 2015) whose gradients are cut to `cut` times the median of late sizes.

    A gradient through a corner, an impact or a fall is large and says little, and a fixed limit
    would need to know the units of the cost. Entries that are not finite count as zero. The rate
    rises over the share `warmup` of the updates, then falls to zero as a cosine. The median is that
    of the last `memory` gradients; `seed` is the batches'; a judge is asked each `every` updates.
    """

    iterations: int = 200
    warmup: float = 0.1
    cut: float = 1.0
    memory: int = 50
    every: int = 25
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "memory", "every"):
            if getattr(self, name) < 1:
                raise ProblemError(f"ClippedAdam({name}={getattr(self, name)}): 1 or more.")
        if not 0 <= self.warmup <= 1 or not self.cut > 0:
            raise ProblemError(
                f"ClippedAdam(warmup={self.warmup}, cut={self.cut}): warmup is a share from 0 to "
                "1, cut is more than 0."
            )

    def minimise(
        self,
        costs: Evaluate | Sequence[Evaluate],
        start: Tree,
        unit: Tree,
        *,
        project: Callable[[Tree], Tree] | None = None,
        judge: Callable[[Tree], Any] | None = None,
        progress: Progress | None = None,
        draws: int | None = None,
    ) -> Trained:
        """From `start` in steps of about `unit`, a tree of the same form or one number for all.

        project: keeps x within bounds, after each update. judge: lower is better; the best x is
        returned, not the last. draws: all arrays of x, and costs, have a leading axis of so many
        draws, which share batches and nothing else: each is cut and judged by itself.
        Raises ProblemError: a unit of another form, arrays or costs without the axis of draws.
        """
        import jax
        import jax.numpy as jnp
        import optax

        each = tuple(costs) if isinstance(costs, Sequence) else (costs,)
        x, lanes = jax.tree.map(jnp.asarray, start), _Lanes(draws)
        lanes.check(x)
        unit = _units(x, unit)
        first = max(int(self.warmup * self.iterations), 1)
        adam = optax.adam(
            optax.warmup_cosine_decay_schedule(0.0, 1.0, first, max(self.iterations, first + 1))
        )
        state, rng = adam.init(x), np.random.default_rng(self.seed)
        sizes, history, kept = [], [], _Kept(lanes, judge, x)
        for k in range(self.iterations):
            value, slope = _summed(each, x, rng, lanes)
            if not np.isfinite(value).any():
                return kept.end(x, history, Outcome.NON_FINITE)
            slope = jax.tree.map(lambda g, u: jnp.where(jnp.isfinite(g), g * u, 0.0), slope, unit)
            sizes.append(lanes.size(slope))
            share = np.minimum(1.0, self.cut * np.median(sizes[-self.memory :], 0)
                               / np.maximum(sizes[-1], 1e-300))  # fmt: skip
            slope = jax.tree.map(lambda g, c=share: g * lanes.beside(c, g), slope)
            update, state = adam.update(slope, state)
            x = jax.tree.map(lambda a, d, u: a + d * u, x, update, unit)
            x = x if project is None else project(x)
            history.append(value)
            if (k + 1) % self.every == 0 or k + 1 == self.iterations:
                kept.see(x, k + 1)
            if progress is not None:
                progress(k + 1, self.iterations, value)
        return kept.end(x, history, Outcome.ITERATION_LIMIT)


def time_left(say: str, every: int = 50, write: Callable[[str], Any] = print) -> Progress:
    """Progress as lines: what goes on, mean cost of late, seconds left; the clock starts now."""
    began, late = time.perf_counter(), []

    def progress(done: int, of: int, costs: np.ndarray) -> None:
        late.append(float(np.mean(costs)))
        if done % every == 0 or done == of:
            seconds = (time.perf_counter() - began) / done * (of - done)
            mean = np.mean(late[-every:])
            write(f"{say}: {mean:.4g}, {done} of {of}, {seconds:.0f} s left")

    return progress


@dataclass(frozen=True)
class _Lanes:
    """How many draws lie side by side; None: one, without the axis."""

    draws: int | None

    @property
    def count(self) -> int:
        return 1 if self.draws is None else self.draws

    def check(self, x: Tree) -> None:
        import jax

        for a in jax.tree.leaves(x):
            if self.draws is not None and (a.ndim < 1 or a.shape[0] != self.draws):
                raise ProblemError(
                    f"An array of shape {a.shape} among the unknowns of {self.draws} draws: its "
                    "first axis is that of the draws."
                )

    def costs(self, value: Any) -> np.ndarray:
        found, shape = np.asarray(value, float), () if self.draws is None else (self.draws,)
        if found.shape != shape:
            raise ProblemError(
                f"A cost of shape {found.shape}: with {self.draws or 'no'} draws it is {shape}."
            )
        return found.reshape(self.count)

    def size(self, tree: Tree) -> np.ndarray:
        """Norm of all arrays together, of each draw."""
        import jax

        flat = [np.asarray(a).reshape(self.count, -1) for a in jax.tree.leaves(tree)]
        return np.sqrt(sum((a * a).sum(1) for a in flat))

    def beside(self, of: np.ndarray, a: Any) -> Any:
        """A number of each draw, to multiply an array with."""
        return of[0] if self.draws is None else of.reshape(-1, *[1] * (a.ndim - 1))


class _Kept:
    """The best x so far by the judge, of each draw."""

    def __init__(self, lanes: _Lanes, judge: Callable[[Tree], Any] | None, x: Tree) -> None:
        self.lanes, self.judge, self.x = lanes, judge, x
        self.judged: list[np.ndarray] = []
        self.best = np.zeros(lanes.count, int)
        self.see(x, 0)

    def see(self, x: Tree, updates: int) -> None:
        import jax
        import jax.numpy as jnp

        if self.judge is None:
            return
        said = self.lanes.costs(self.judge(x))
        said = np.where(np.isfinite(said), said, np.inf)
        better = said < (np.min(self.judged, 0) if self.judged else np.inf)
        self.judged.append(said)
        self.best = np.where(better, updates, self.best)
        self.x = jax.tree.map(lambda a, b: jnp.where(self.lanes.beside(better, a), a, b), x, self.x)

    def end(self, x: Tree, history: list[np.ndarray], outcome: Outcome) -> Trained:
        n = self.lanes.count
        if self.judge is None:
            self.x, self.best = x, np.full(n, len(history))
        costs, judged = (np.array(a).reshape(-1, n) for a in (history, self.judged))
        return Trained(self.x, costs, judged, self.best, outcome)


def _units(x: Tree, unit: Tree) -> Tree:
    import jax

    if isinstance(unit, int | float):
        return jax.tree.map(lambda _: unit, x)
    if jax.tree.structure(x) != jax.tree.structure(unit):
        raise ProblemError(
            f"Unknowns {jax.tree.structure(x)} with units {jax.tree.structure(unit)}: units have "
            "the same form, or are one number."
        )
    return unit


def _summed(
    each: tuple[Evaluate, ...], x: Tree, rng: np.random.Generator, lanes: _Lanes
) -> tuple[np.ndarray, Tree]:
    """Costs and gradients of all sets added up."""
    import jax

    found = [evaluate(x, rng) for evaluate in each]
    value = sum((lanes.costs(v) for v, _ in found), np.zeros(lanes.count))
    return value, jax.tree.map(lambda *g: sum(g[1:], g[0]), *(s for _, s in found))
