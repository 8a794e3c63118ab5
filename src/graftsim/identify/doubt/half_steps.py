"""The same windows in steps of half the length, for the programs that are compiled already.

As many half steps reach the middle of a window. Commands are held over two of them; a delay is so
many half steps, by which its commands are moved, and a rest, which the program then applies.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation import delayed_controls, owners
from graftsim.engine.simulator import Simulator
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.window_function import Timing


def half_steps(simulator: Simulator, data: WindowData) -> tuple[Timing, WindowData]:
    """Half the step of a simulator, and windows for it of the same form."""
    h, steps = simulator.dt / 2, data.controls.shape[1]
    timing = Timing.of(simulator)._replace(dt=h)
    twice = jnp.repeat(data.controls, 2, axis=1)[:, :steps]
    if not simulator.back:
        return timing, data._replace(controls=twice)
    actuator, back = simulator.model.actuator, simulator.back
    delay = np.asarray(actuator.delay, float)
    whole = np.floor(delay / float(h) + 1e-9).astype(int)
    # No more than the delay itself, or rounding would leave less than none.
    ahead = np.minimum(whole * float(h), delay)
    timing = timing._replace(moved=jnp.asarray(ahead, actuator.delay.dtype))
    moved = np.zeros(actuator.nu, int)
    moved[delayed_controls(actuator)] = whole[owners(actuator)]

    every = np.concatenate([np.asarray(data.before)[:, ::-1], np.asarray(data.controls)], 1)
    every = np.repeat(every, 2, axis=1)

    def taken(first: int, last: int) -> np.ndarray:
        """Half steps first to last - 1 from the window's start, each control moved by its own."""
        index = 2 * back + np.arange(first, last)[:, None] - moved
        return np.take_along_axis(every, np.maximum(index, 0)[None], 1)

    controls, before = taken(0, steps), taken(-back, 0)[:, ::-1]
    dtype = data.controls.dtype
    return timing, data._replace(
        controls=jnp.asarray(controls, dtype), before=jnp.asarray(before, dtype)
    )
