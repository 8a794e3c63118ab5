"""The long set of E9: runs of 18 s as the paper's framework records them, for the report alone.

From rest at any angle, torques a smooth curve through knots every 0.4 s; 200 samples of 20 ms (4 s)
are fitted, on windows of 0.4 s, and the runs continued to sample 900. Two links that may turn over
are chaotic: what a model gets wrong grows until it is the size of the motion itself.
"""

from __future__ import annotations

import numpy as np
import swimmer
from scipy.interpolate import CubicSpline
from swimmer_models import dissipative, paper, trained

import graftsim as gs
from graftsim.targets import Figures

# Steps of 2 ms in a sample, samples that are fitted and that are judged, and steps between knots.
SAMPLE, FITTED, JUDGED, KNOT = 10, 200, 900, 200


def smooth(steps: int, rng: np.random.Generator) -> np.ndarray:
    """Torques [steps, 1] of one motor: a cubic curve through random knots, cut off at TORQUE."""
    at = KNOT * np.arange(steps // KNOT + 2)
    knots = rng.uniform(-swimmer.TORQUE, swimmer.TORQUE, len(at))
    curve = CubicSpline(at, knots)(np.arange(steps))
    return np.clip(curve, -swimmer.TORQUE, swimmer.TORQUE)[:, None]


def report(figures: Figures, quick: bool) -> None:
    """Errors over 4 s and 18 s, on the runs that are fitted and on new ones."""
    share = 10 if quick else 1
    fitted, steps = FITTED * SAMPLE // share, JUDGED * SAMPLE // share
    rng = np.random.default_rng(figures.seed)
    medium = swimmer.MEDIA["water 25 C"]

    def draw() -> list[swimmer.Run]:
        return swimmer.swim(
            2, medium, rng, count=2 if quick else 10, steps=steps, spread=np.pi,
            controls=lambda g: smooth(steps, g),
        )  # fmt: skip

    runs, new = draw(), draw()
    models = {"vacuum": swimmer.simulator(2)}
    for name, graft, solver in (
        ("hybrid", paper(2, figures.seed or 0), gs.LBFGS(iterations=3 if quick else 200)),
        ("dissipative", dissipative(), gs.LevenbergMarquardt(iterations=2 if quick else 30)),
    ):
        fit, seconds = trained(graft, 2, runs, solver, figures.seed or 0, fitted)
        models[name] = fit.simulator
        figures.note(f"long set: {name}, training", seconds, "s")
    scale = swimmer.spread(runs, fitted)
    for name, simulator in models.items():
        own = swimmer.roll(simulator, runs, steps)
        for span, rows in (("4 s", fitted), ("18 s", steps)):
            error = swimmer.error([x[: rows + 1] for x in own], runs, scale)
            figures.note(f"long set: {name}, {span}", error)
        error = swimmer.error(swimmer.roll(simulator, new, steps), new, scale)
        figures.note(f"long set: {name}, new runs, 18 s", error)
