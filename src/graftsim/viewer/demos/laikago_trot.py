"""A Laikago that trots under convex predictive control."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from graftsim.contact import Complementarity
from graftsim.control.locomotion import Trot, trot
from graftsim.engine import ImplicitDamping, Simulator
from graftsim.io.load import load
from graftsim.model import keep_pairs
from graftsim.model.state import State
from graftsim.viewer.demos.demo import Demo, Knob, Scene

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


class LaikagoTrot(Demo):
    """`graftsim demo laikago`. The robot is PyBullet's, with primitives for shapes (zlib)."""

    name: ClassVar[str] = "laikago"
    about: ClassVar[str] = "a quadruped that trots under model-predictive control; pull at it"

    def scene(self) -> Scene:
        """Standing on a floor, about to walk."""
        file = Path(__file__).parent / "laikago" / "laikago.urdf"
        model = keep_pairs(load(file, ground=0.0), "ground/toe*", "ground/chassis/*")
        simulator = Simulator(model, DT, integrator=ImplicitDamping(), contact=Complementarity())
        controller = trot(model)
        setting = {name: knob.value for name, knob in KNOBS.items()}
        state = simulator.initial_state(np.asarray(controller.standing()))
        policy = Trotting(controller, DT, setting)
        return Scene(simulator, state, policy, knobs=KNOBS, setting=setting)
