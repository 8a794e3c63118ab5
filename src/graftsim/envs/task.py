"""A task: a simulator, where episodes begin, what is seen, what is rewarded, when they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from graftsim.engine import Simulator, Trajectory
from graftsim.engine.rollout import scan_steps
from graftsim.errors import ModelError
from graftsim.model.state import State

# Of the steps of one action, and the commands given; of a state.
Reward = Callable[[Trajectory, Array], Any]
OfState = Callable[[State], Any]


def positions_and_velocities(state: State) -> Array:
    """q and then qd: what is seen by default."""
    return jnp.concatenate([state.q, state.qd])


def never(state: State) -> Any:
    """No state ends an episode."""
    return False


# A task is itself: environments of the same one share what is compiled.
@dataclass(frozen=True, eq=False)
class Task:
    """What an environment is made of; its functions are in JAX, of one simulation.

    reward: of the `Trajectory` of an action (`repeat` steps, `repeat` + 1 states, and what `record`
    names) and the action [nu], a number. terminated: of the state after it, whether the episode
    ends. start: of a `jax.random.key`, the state at the beginning; by default the one that the file
    draws. observe: of a state, numbers [n]. repeat: steps of the simulator for an action. limit:
    actions after which an episode is cut off (truncated). actions: lowest and highest command, a
    number or [nu] each; by default the actuators' own limits.

    Raises ModelError: commands without limits, a function whose result has another form.
    """

    simulator: Simulator
    reward: Reward
    terminated: OfState = never
    start: Callable[[Any], State] | None = None
    observe: OfState = positions_and_velocities
    repeat: int = 1
    limit: int | None = None
    actions: tuple[Any, Any] | None = None
    record: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks all that needs no simulation."""
        if self.repeat < 1:
            raise ModelError(f"repeat must be at least 1 step an action, got {self.repeat}.")
        if self.limit is not None and self.limit < 1:
            raise ModelError(f"limit must be at least 1 action, got {self.limit}.")
        if self.simulator.model.nu == 0:
            raise ModelError(f"Robot '{self.simulator.model.name}' has no actuator to act with.")
        self.bounds()
        state = jax.eval_shape(self.begin, jax.random.key(0))
        u = jax.ShapeDtypeStruct((self.simulator.model.nu,), self.simulator.dt.dtype)
        motion = jax.eval_shape(self.move, state, u)
        _check("observe(state)", jax.eval_shape(self.observe, state), 1, "iuf", "numbers [n]")
        reward = jax.eval_shape(self.reward, motion, u)
        _check("reward(motion, action)", reward, 0, "f", "one real number")
        ended = jax.eval_shape(self.terminated, state)
        _check("terminated(state)", ended, 0, "b", "one truth value")

    def begin(self, key: Any) -> State:
        """A state at the beginning, with all that the simulator remembers."""
        state = self.simulator.initial_state() if self.start is None else self.start(key)
        none = jnp.zeros((0, self.simulator.model.nu), self.simulator.dt.dtype)
        return jax.tree.map(lambda x: x[0], scan_steps(self.simulator, state, none).states)

    def move(self, state: State, action: Array) -> Trajectory:
        """The steps of one action."""
        controls = jnp.broadcast_to(action, (self.repeat, action.shape[0]))
        return scan_steps(self.simulator, state, controls, self.record)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest command [nu]. Raises ModelError: there is none."""
        model = self.simulator.model
        a, nu = model.actuator, model.nu
        if self.actions is not None:
            low, high = (np.broadcast_to(np.asarray(x, float), nu) for x in self.actions)
        elif nu == len(a.names):
            low, high = np.asarray(a.control_lower), np.asarray(a.control_upper)
        else:
            raise ModelError("Drives with several inputs need actions=(lowest, highest) [nu].")
        bad = ~(np.isfinite(low) & np.isfinite(high) & (low < high))
        if bad.any():
            k = int(np.argmax(bad))
            name = a.names[k] if nu == len(a.names) else str(k)
            raise ModelError(
                f"Command '{name}' lies between {low[k]:g} and {high[k]:g}: an action needs finite "
                "limits, from the file (ctrlrange) or by actions=(lowest, highest)."
            )
        return low, high

    def check_action(self, action: Any, lanes: int | None = None) -> np.ndarray:
        """An action [nu], of many lanes [lanes, nu]. Raises ModelError: another shape, a value that
        is no number."""
        nu = self.simulator.model.nu
        shape = (nu,) if lanes is None else (lanes, nu)
        found = np.asarray(action, self.simulator.dt.dtype)
        names = ", ".join(self.simulator.model.actuator.names)
        if found.shape != shape:
            raise ModelError(f"An action must have shape {shape} ({names}), got {found.shape}.")
        if not np.isfinite(found).all():
            place = np.argwhere(~np.isfinite(found))[0]
            where = "" if lanes is None else f" of environment {place[0]}"
            raise ModelError(f"Action {place[-1]}{where} ({names}) is {found[tuple(place)]}.")
        return found


def _check(what: str, found: Any, axes: int, kinds: str, wanted: str) -> None:
    """Raises ModelError: a user's function returns something of another form."""
    leaves = jax.tree.leaves(found)
    one = leaves[0] if len(leaves) == 1 else None
    if one is None or len(one.shape) != axes or np.dtype(one.dtype).kind not in kinds:
        shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in leaves) or "nothing"
        raise ModelError(f"{what} must give {wanted}, got {shown}.")
