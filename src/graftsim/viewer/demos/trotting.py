"""Quadrupeds that trot under convex predictive control."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from graftsim.contact import Complementarity
from graftsim.control.locomotion import Trot, trot
from graftsim.engine import ImplicitDamping, Simulator
from graftsim.errors import GraftsimError
from graftsim.io.load import load
from graftsim.model import Model, keep_pairs
from graftsim.model.state import State
from graftsim.viewer.demos.demo import Demo, Knob, Scene
from graftsim.viewer.demos.quadruped import quadruped

DT = 0.002
SPEED, SIDE, TURN = "forward (m/s)", "left (m/s)", "turn (rad/s)"
KNOBS = {SPEED: Knob(-0.3, 0.5, 0.3), SIDE: Knob(-0.2, 0.2, 0.0), TURN: Knob(-0.5, 0.5, 0.0)}


class Trotting:
    """A `Trot` as a policy of time and state: it plans every period, and steers on every step."""

    def __init__(self, controller: Trot, dt: float, setting: dict[str, float]) -> None:
        self._controller, self._setting, self._dt = controller, setting, dt
        self._every = max(round(controller.period / dt), 1)
        # Methods of a pytree of arrays are not hashable, which jit asks for.
        self._plan = jax.jit(lambda *seen: controller.plan(*seen))
        self._torques = jax.jit(lambda *seen: controller.torques(*seen))
        self._memory: Any = None
        self._aim: Any = None

    def __call__(self, time: float, state: State) -> np.ndarray:
        """Commands [nu] of the motors (N m)."""
        step = round(time / self._dt)
        # Impulses and memories of the simulation do not matter to the controller.
        seen = State(state.q, state.qd, state.act)
        if step == 0 or self._memory is None:
            self._memory = self._controller.start(seen)
        if step % self._every == 0 or self._aim is None:
            command = np.array([self._setting[k] for k in (SPEED, SIDE, TURN)])
            self._aim, self._memory = self._plan(seen, self._memory, command)
        return np.asarray(self._torques(self._aim, seen))


class TrotDemo(Demo):
    """`graftsim demo trot`: the package's own quadruped."""

    name: ClassVar[str] = "trot"
    about: ClassVar[str] = "a quadruped that trots under model-predictive control; pull at it"

    def robot(self) -> Model:
        """On a floor, with what may touch it."""
        return keep_pairs(quadruped(), "ground/*_foot", "ground/trunk")

    def scene(self) -> Scene:
        """Standing on a floor, about to walk."""
        model = self.robot()
        simulator = Simulator(model, DT, integrator=ImplicitDamping(), contact=Complementarity())
        controller = trot(model)
        setting = {name: knob.value for name, knob in KNOBS.items()}
        state = simulator.initial_state(np.asarray(controller.standing()))
        policy = Trotting(controller, DT, setting)
        return Scene(simulator, state, policy, knobs=KNOBS, setting=setting)


class LaikagoDemo(TrotDemo):
    """`graftsim demo laikago`: Unitree's Laikago, whose file is not part of the package."""

    name: ClassVar[str] = "laikago"
    about: ClassVar[str] = "Unitree's Laikago, as `trot`; its file lies under GRAFTSIM_ASSETS"

    def robot(self) -> Model:
        """Raises GraftsimError: no such file."""
        folder = os.environ.get("GRAFTSIM_ASSETS", "")
        files = sorted(Path(folder).glob("laikago/*.urdf")) if folder else []
        if not files:
            where = f"There is no laikago/*.urdf in GRAFTSIM_ASSETS={folder}"
            raise GraftsimError(
                f"{where if folder else 'GRAFTSIM_ASSETS names no folder'}. The file of Laikago is "
                "not part of the package; PyPI's pybullet has it (pybullet_data/laikago). "
                "`graftsim demo trot` needs no file."
            )
        return keep_pairs(load(files[0], ground=0.0), "ground/toe*", "ground/chassis/*")
