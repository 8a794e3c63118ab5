"""One environment."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from graftsim.envs.programs import programs
from graftsim.envs.task import Task
from graftsim.errors import ModelError

# Seeds of episodes, drawn from an environment's generator.
SEEDS = 2**31


class SimulatorEnv(gymnasium.Env):
    """A task as a Gymnasium environment.

    An action is held for `task.repeat` steps of the simulator. An episode whose simulation left the
    finite numbers ends (terminated, reward 0, `info["diverged"]`) in the state before.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, task: Task) -> None:
        self.task = task
        self.action_space, self.observation_space = spaces_of(task)
        self._programs = programs(task)
        self._state: Any = None
        self._count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new episode; a seed begins it in the same way here and in a `SimulatorVectorEnv`."""
        super().reset(seed=seed)
        self._state, seen = self._programs.begin(episode(self.np_random))
        self._count = 0
        return np.array(seen), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One action. Raises ModelError: another shape, no number, before the first reset."""
        if self._state is None:
            raise ModelError("The environment has no state yet: reset() comes before step().")
        moved = self._programs.advance(self._state, self.task.check_action(action))
        self._state = moved.state
        self._count += 1
        cut = self.task.limit is not None and self._count >= self.task.limit
        info = {"diverged": True} if moved.diverged else {}
        return np.array(moved.seen), float(moved.reward), bool(moved.terminated), cut, info


def spaces_of(task: Task) -> tuple[spaces.Box, spaces.Box]:
    """Actions and observations of one environment."""
    import jax

    low, high = task.bounds()
    dtype = np.dtype(task.simulator.dt.dtype)
    seen = jax.eval_shape(lambda key: task.observe(task.begin(key)), jax.random.key(0))
    return (
        spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type),
        spaces.Box(-np.inf, np.inf, seen.shape, dtype=np.dtype(seen.dtype).type),
    )


def episode(generator: np.random.Generator) -> np.uint32:
    """The seed of the next episode."""
    return np.uint32(generator.integers(SEEDS))
