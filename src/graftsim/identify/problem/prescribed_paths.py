"""Whether the recorded paths of prescribed joints can be meant, before anything is simulated."""

from __future__ import annotations

import jax.numpy as jnp

from graftsim.engine.prescribed_motion import check_commands
from graftsim.engine.simulator import Simulator
from graftsim.errors import ModelError, ProblemError
from graftsim.identify.problem.windows import Windows
from graftsim.model.state import State


def check_paths(simulator: Simulator, windows: Windows) -> None:
    """Raises ProblemError, with the recording and window: a path that jumps, also from where the
    window starts, that leaves its joint's limits, or is no number.
    """
    if not simulator.model.guided:
        return
    for k in range(len(windows)):
        state = State(q=windows.q0[k], qd=windows.qd0[k], act=jnp.zeros(0))
        try:
            check_commands(simulator, state, windows.controls[k])
        except ModelError as error:
            raise ProblemError(
                f"Recording '{windows.recording[k]}', the window from {windows.start[k]:.6g} s on: "
                f"{error}"
            ) from error
