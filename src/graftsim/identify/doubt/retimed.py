"""The same windows with other timing, for programs that are compiled already.

As many half steps reach the middle of a window: commands are held over two of them; a delay is so
many half steps, by which its commands are moved, and a rest, which the program then applies. Where
a model has no delay, commands that come later are means over steps.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation import control_owners, delayed_controls, owners
from graftsim.engine.simulator import Simulator
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.window_function import Timing


def half_steps(simulator: Simulator, data: WindowData) -> tuple[Timing, WindowData]:
    """Half the step of a simulator, and windows for it of the same form."""
    h, steps = simulator.dt / 2, data.controls.shape[1]
    timing = Timing.of(simulator)._replace(dt=h)
    if isinstance(data.before, tuple):
        twice = np.repeat(np.asarray(data.controls), 2, axis=1)[:, :steps]
        return timing, data._replace(controls=jnp.asarray(twice))
    actuator, back = simulator.model.actuator, data.before.shape[1]
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


def delayed(
    program: ResidualProgram, before: np.ndarray, delay: float, actuator: int
) -> ResidualProgram:
    """The program under commands of an actuator that come later by `delay` (s).

    A command is held over its step; delayed, a step has the mean of what acts in it. before:
    [w, nu] commands of the step before each window, held for long where the windows remember no
    earlier ones; for a derivative a delay may be below zero by less than a step.
    """
    data, simulator = program.data, program.reader.setup.simulator
    u, remembers = np.asarray(data.controls), not isinstance(data.before, tuple)
    past = np.asarray(data.before)[:, ::-1] if remembers else before[:, None]
    own = np.flatnonzero(control_owners(simulator.model.actuator) == actuator)
    late = delay / float(simulator.dt)
    whole = max(int(np.floor(late)), 0)
    sent = np.concatenate([past, u], 1)
    every = np.concatenate([np.repeat(sent[:, :1], whole + 1, 1), sent], 1)
    near, far = (every[:, i : i + sent.shape[1], own] for i in (1, 0))
    moved = sent.copy()
    moved[..., own] = near - (late - whole) * (near - far)
    dtype, back = data.controls.dtype, past.shape[1]
    data = data._replace(controls=jnp.asarray(moved[:, back:], dtype))
    if remembers:
        data = data._replace(before=jnp.asarray(moved[:, :back][:, ::-1], dtype))
    other = program.on(data)
    assert other is not None
    return other
