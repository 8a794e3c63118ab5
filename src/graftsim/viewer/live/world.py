"""The simulation behind a live viewer: its state, what drives it, and steps on kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.engine import Simulator
from graftsim.errors import GraftsimError, ModelError
from graftsim.model.catalogue import labels
from graftsim.model.state import State
from graftsim.taps import CATALOGUE
from graftsim.viewer.arrows import SHOWN
from graftsim.viewer.live.pull import Pull, carriers, no_pull, pull, pulled

Policy = Callable[[float, State], Any]
"""Commands [nu] of a time (s) and the state then."""


@dataclass(frozen=True)
class Instant:
    """What there is to show of a moment: time (s), q [nq], qd [nv], commands u [nu], and variables
    by name in the step that led here; none before the first.
    """

    time: float
    q: np.ndarray
    qd: np.ndarray
    u: np.ndarray
    recorded: dict[str, np.ndarray]


class World:
    """A simulator in the hands of a user. All of it belongs to one thread.

    policy: commands by time and state, asked every `every` steps; without one they stay as `u` is,
    `held` after a reset.
    """

    def __init__(
        self,
        simulator: Simulator,
        state: State | None = None,
        *,
        policy: Policy | None = None,
        every: int = 1,
        watch: Sequence[str] = (),
    ) -> None:
        """Raises ModelError: a state that is not finite or not this model's, `every` below 1."""
        if every < 1:
            raise ModelError(f"every = {every}: a policy is asked every 1, 2, ... steps.")
        self.simulator = simulator
        self.model, self.dt = simulator.model, float(simulator.dt)
        self.policy, self.every = policy, every
        self.watched: tuple[str, ...] = tuple(watch)
        self.start = checked(simulator, simulator.initial_state() if state is None else state)
        self.held = np.zeros(self.model.nu)
        self._made: set[tuple[str, ...]] = set()
        self.reset()

    def reset(self) -> None:
        """Back to the state it started from, with nothing held."""
        self.state, self.steps, self.u = self.start, 0, self.held.copy()
        self.pull: Pull = no_pull(self.simulator)
        self.recorded: dict[str, np.ndarray] = {}

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.steps * self.dt

    @property
    def record(self) -> tuple[str, ...]:
        """Variables that every step keeps: forces of contact, and what is watched."""
        shown = SHOWN if self.simulator.contact is not None else ()
        return (*shown, *(name for name in self.watched if name not in shown))

    @property
    def compiled(self) -> bool:
        """Whether a step costs no more than its own time."""
        return self.record in self._made

    def instant(self) -> Instant:
        """This moment."""
        q, qd = np.asarray(self.state.q, float), np.asarray(self.state.qd, float)
        return Instant(self.time, q, qd, self.u.copy(), dict(self.recorded))

    def put(self, state: State) -> None:
        """Go on from another state. Raises ModelError as the constructor does."""
        self.state = checked(self.simulator, state)
        self.recorded = {}

    def set_joint(self, coordinate: str, value: float) -> None:
        """Put a coordinate (rad, m) somewhere, at rest; loops are closed again around it."""
        tree = self.model.tree
        k = tree.coordinates.index(coordinate)
        q = np.asarray(self.state.q).copy()
        q[k] = value
        link = next(i for i, rows in enumerate(tree.q_index) if k in rows)
        qd = np.asarray(self.state.qd).copy()
        qd[tree.v_index[link]] = 0.0
        state = State(jnp.asarray(q), jnp.asarray(qd), self.state.act)
        if self.model.closed:
            state = self.simulator.assemble(state, keep=[tree.dofs[tree.v_index[link][0]]])
        self.put(state)

    def hold(self, link: int, point: np.ndarray, target: np.ndarray, strength: float = 1.0) -> None:
        """Pull a link at a point in it (m) towards a place (m); what the world carries stays."""
        body = carriers(self.model)[link]
        if body is not None:
            at = self._in_carrier(link, point)
            self.pull = pull(self.simulator, self.state.q, body, at, target, strength)

    def release(self) -> None:
        """Let go."""
        self.pull = no_pull(self.simulator)

    def advance(self, steps: int) -> None:
        """That many steps on. Raises GraftsimError: commands of another shape, or not finite; a
        motion that leaves the finite numbers, of which the last finite state is kept.
        """
        left = steps
        while left > 0:
            count = left
            if self.policy is not None:
                into = self.steps % self.every
                if into == 0:
                    self.u = self.commands(
                        self.policy(self.time, self.state), f"at {self.time:.4g} s the policy's are"
                    )
                count = min(left, self.every - into)
            self._steps(count)
            left -= count

    def _steps(self, count: int) -> None:
        # One kernel serves all lengths but one step: two are made, and the second is forgotten.
        controls = jnp.asarray(np.broadcast_to(self.u, (max(count, 2), self.model.nu)))
        simulator = pulled(self.simulator, self.pull)
        path = simulator.rollout(self.state, controls, record=self.record)
        self._made.add(self.record)
        after = jax.tree.map(lambda x: np.asarray(x)[count], path.states)
        if not (np.isfinite(after.q).all() and np.isfinite(after.qd).all()):
            raise GraftsimError(
                f"The motion left the finite numbers after {self.time:.4g} s. Reset it; a smaller "
                "dt, more substeps or ImplicitDamping stand more."
            )
        self.state = after
        self.recorded = {k: np.asarray(v)[count - 1] for k, v in path.recorded.items()}
        self.steps += count

    def commands(self, given: Any, whose: str) -> np.ndarray:
        """Commands as numbers; ModelError if they are not finite, or not one for each control."""
        u = np.asarray(given, float)
        if u.shape != (self.model.nu,) or not np.isfinite(u).all():
            names = ", ".join(self.model.actuator.controls) or "no controls"
            raise ModelError(
                f"Finite commands of shape [{self.model.nu}] are wanted ({names}); {whose} "
                f"{_what(u)}."
            )
        return u

    def _in_carrier(self, link: int, point: np.ndarray) -> np.ndarray:
        """A point of a link in the moving link that carries it."""
        from graftsim.io.robot.poses import matrix

        tree, joint = self.model.tree, self.model.joint
        at = np.asarray(point, float)
        while not tree.moving[link]:
            turn = matrix(np.asarray(joint.rotation[link], float))
            at = np.asarray(joint.origin[link], float) + turn @ at
            link = tree.parent[link]
        return at


def checked(simulator: Simulator, state: State) -> State:
    """A state as numbers of this machine; ModelError if it is not finite or not this model's."""
    model = simulator.model
    for name, x, n in (("q", state.q, model.nq), ("qd", state.qd, model.nv)):
        if np.shape(x) != (n,):
            raise ModelError(f"The state's {name} must have shape [{n}], got {np.shape(x)}.")
        if not np.isfinite(np.asarray(x)).all():
            names = model.tree.coordinates if name == "q" else model.tree.dofs
            bad = [k for k, y in zip(names, np.asarray(x), strict=True) if not np.isfinite(y)]
            raise ModelError(f"The state is not finite: {name} of {', '.join(bad)}.")
    return jax.tree.map(np.asarray, state)


def watchable(simulator: Simulator) -> dict[str, tuple[str, ...]]:
    """Variables that can be plotted, rows of numbers: their row labels."""
    found = {}
    for name, (shape, _, _) in simulator.variables().items():
        if len(shape) == 1 and shape[0] > 0:
            found[name] = labels(simulator.model, CATALOGUE[name].rows)
    return found


def _what(u: np.ndarray) -> str:
    return f"of shape {list(u.shape)}" if np.isfinite(u).all() else "not finite"
