"""Many environments side by side, one in each lane of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from graftsim.envs.programs import programs
from graftsim.envs.single import episode, spaces_of
from graftsim.envs.task import Task
from graftsim.errors import ModelError


class SimulatorVectorEnv(VectorEnv):
    """A task as a Gymnasium vector environment of `lanes` environments.

    Lane by lane it gives what `SimulatorEnv`s in a `SyncVectorEnv` give, of the same seeds.
    autoreset: `AutoresetMode.NEXT_STEP` (the action after an episode's end is not used and gives
    the first observation of the next), SAME_STEP (the last observation is in `final_obs` of the
    info) or DISABLED (`reset(options={"reset_mask": ...})`).
    """

    def __init__(
        self, task: Task, lanes: int, *, autoreset: AutoresetMode = AutoresetMode.NEXT_STEP
    ) -> None:
        """Raises ModelError: no lane, no such mode of autoreset."""
        if lanes < 1:
            raise ModelError(f"A vector environment needs at least 1 lane, got {lanes}.")
        if not isinstance(autoreset, AutoresetMode):
            raise ModelError(f"autoreset must be one of {[str(m) for m in AutoresetMode]}.")
        self.task, self.num_envs = task, lanes
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset}
        self.single_action_space, self.single_observation_space = spaces_of(task)
        self.action_space = batch_space(self.single_action_space, lanes)
        self.observation_space = batch_space(self.single_observation_space, lanes)
        self._programs = programs(task, lanes)
        self._generators: list[np.random.Generator] = []
        self._states: Any = None
        self._seen: Any = None
        self._count = np.zeros(lanes, int)
        self._over = np.zeros(lanes, bool)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes: all, or those of `options["reset_mask"]`. Lane i of seed s has s + i."""
        n = self.num_envs
        seeds = [seed + i for i in range(n)] if isinstance(seed, int) else seed or [None] * n
        if len(seeds) != n:
            raise ModelError(f"A list of seeds must have one for each of {n} lanes.")
        mask = np.ones(n, bool) if self._states is None else self._mask(options)
        if not self._generators:
            self._generators = [seeding.np_random(s)[0] for s in seeds]
        else:
            for i, s in enumerate(seeds):
                if mask[i] and s is not None:
                    self._generators[i] = seeding.np_random(s)[0]
        if self._states is None:
            drawn = np.array([episode(g) for g in self._generators])
            self._states, self._seen = self._programs.begin(drawn)
        else:
            self._restart(mask)
        self._count[mask], self._over[mask] = 0, False
        return np.array(self._seen), {}

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action of each lane. Raises ModelError: another shape, no number, no reset before."""
        if self._states is None:
            raise ModelError("The environments have no state yet: reset() comes before step().")
        mode, begins = self.metadata["autoreset_mode"], self._over
        if mode is AutoresetMode.DISABLED and begins.any():
            raise ModelError(
                f"The episode of environment {int(np.argmax(begins))} is over: reset it with "
                "reset(options={'reset_mask': ...}), or choose another autoreset."
            )
        moved = self._programs.advance(self._states, self.task.check_action(actions, self.num_envs))
        self._states, self._seen = moved.state, moved.seen
        reward = np.array(moved.reward, float)
        ended, lost = np.array(moved.terminated), np.array(moved.diverged)
        self._count += 1
        limit = self.task.limit
        cut = np.zeros_like(ended) if limit is None else self._count >= limit
        if begins.any():
            self._restart(begins)
            self._count[begins], reward[begins] = 0, 0.0
            ended[begins], cut[begins], lost[begins] = False, False, False
        infos = self._infos(lost)
        self._over = ended | cut
        if mode is AutoresetMode.SAME_STEP and self._over.any():
            infos = self._same_step(lost)
        return np.array(self._seen), reward, ended, cut, infos

    def _mask(self, options: dict[str, Any] | None) -> np.ndarray:
        """Which lanes a reset is for. Raises ModelError: no truth value for each lane."""
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ModelError(f"reset_mask must be {self.num_envs} truth values, one of them true.")
        return mask

    def _restart(self, mask: np.ndarray) -> None:
        """Begins anew where the mask says so."""
        drawn = np.array(
            [episode(g) if m else 0 for g, m in zip(self._generators, mask, strict=True)],
            np.uint32,
        )
        assert self._programs.again is not None
        self._states, self._seen = self._programs.again(self._states, self._seen, drawn, mask)

    def _infos(self, lost: np.ndarray) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(lost):
            infos = self._add_info(infos, {"diverged": True}, int(i))
        return infos

    def _same_step(self, lost: np.ndarray) -> dict[str, Any]:
        """Begins anew where episodes are over, and keeps how they ended."""
        infos: dict[str, Any] = {}
        seen, over = np.array(self._seen), self._over
        for i in np.flatnonzero(over):
            last = {"diverged": True} if lost[i] else {}
            infos = self._add_info(infos, {"final_obs": seen[i], "final_info": last}, int(i))
        self._restart(over)
        self._count[over] = 0
        self._over = np.zeros_like(over)
        return infos
