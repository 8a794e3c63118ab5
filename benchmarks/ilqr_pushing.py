"""A box that iLQR pushes to its place through contact: part of `ilqr.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import control
from graftsim.targets import Figures

T = 100


def gentle(x: gs.State, u: Any) -> Any:
    """Little force."""
    return 1e-5 * jnp.sum(u * u)


def half_a_metre(x: gs.State) -> Any:
    """The box at rest half a metre on, the finger at rest where it began."""
    finger, box = x.q[0], x.q[1] - 0.5
    return 100 * (box * box + 0.1 * (x.qd[0] ** 2 + x.qd[1] ** 2) + 0.01 * finger * finger)


def pushed_box(figures: Figures) -> None:
    """A finger pushes a box on a floor with friction, which must slide to its place and rest."""
    b = gs.Builder("pushed_box")
    b.geom("plane", (), name="floor", friction=0.3)
    b.link("finger", joint="prismatic", axis=(1, 0, 0), origin=(0, 0, 0.1), mass=0.3)
    b.geom("sphere", 0.03, "finger", name="tip", friction=0.3)
    b.link("rail", joint="prismatic", axis=(1, 0, 0), origin=(0.2, 0, 0.1), mass=1e-3)
    b.link("box", "rail", joint="prismatic", axis=(0, 0, 1), mass=0.5)
    b.geom("box", (0.1, 0.1, 0.1), "box", name="block", friction=0.3)
    b.actuator("push", "finger", force_range=(-20, 20))
    simulator = gs.Simulator(b.build(), 0.01, contact=gs.contact.Complementarity())
    cost, first = control.ScalarCost(gentle, half_a_metre), np.full((T, 1), 3.0)
    plan = control.ilqr(simulator, simulator.initial_state(), cost, T, controls=first)
    figures.note("box pushed through contact: iterations", plan.iterations)
    off = abs(float(plan.states.q[-1, 1]) - 0.5)
    figures.at_most("box pushed through contact: distance from its place", off, 1e-3, "m")
    speed = abs(float(plan.states.qd[-1, 1]))
    figures.at_most("box pushed through contact: speed in the end", speed, 1e-3, "m/s")
