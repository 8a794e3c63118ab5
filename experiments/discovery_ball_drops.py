"""Drag of balls dropped from a bridge: found where there is some, and nothing where there is none.

Data: eleven balls filmed at 15 Hz (`ball_drops` under GRAFTSIM_DATA). Each ball is a mass on a
vertical slide, in vacuum. `discover` is asked whether its force lacks an effect of its speed,
judged on another drop of the same ball (of its twin, for the first whiffle ball). Of the tennis
ball and the volleyball one drop is at hand, and its end judges: that asks for extrapolation to
speeds never seen. What two drops agree on and the judge cannot show is "likely, not certain".
Then three closed laws are fitted, and the quadratic coefficient stands beside the data's own
description.
"""

import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import judged
import numpy as np
import pictures

import graftsim as gs
from graftsim.targets import Figures

OUNCE = 0.0283495
# Mass (oz), drop to fit, ball and drop to judge by, and drag over mass and speed squared (1/m) as
# the description of the data has it, lowest and highest of its kind.
BALLS = {
    "whiffle_ball_2": (1.0, 1, ("whiffle_ball_2", 2), (0.039, 0.063)),
    "orange_whiffle_ball": (1.5, 1, ("orange_whiffle_ball", 2), (0.039, 0.063)),
    "whiffle_ball_1": (1.0, 1, ("whiffle_ball_2", 1), (0.039, 0.063)),
    "tennis_ball": (2.0, 1, ("tennis_ball", 2), (0.015, 0.015)),
    # Nobody weighed it: as the rules have it.
    "volleyball": (9.5, 1, ("volleyball", 2), (0.013, 0.013)),
    "green_basketball": (16.0, 1, ("green_basketball", 2), (0.005, 0.008)),
    "blue_basketball": (16.0, 2, ("blue_basketball", 1), (0.005, 0.008)),
    "baseball": (5.0, 1, ("baseball", 2), (0.0, 0.0)),
    "bowling_ball": (81.0, 1, ("bowling_ball", 2), (0.0, 0.0)),
}
LIGHT = ("whiffle_ball_2", "orange_whiffle_ball", "whiffle_ball_1")
MIDDLE = ("tennis_ball", "volleyball", "green_basketball", "blue_basketball")
HEAVY = ("baseball", "bowling_ball")
# Heights carry 6 to 33 cm of distortion and noise.
NOISE = {"joint.q[height]": 0.05}


def read(folder: Path, ball: str, drop: int) -> gs.Recording:
    """Height over time, from where it surely falls."""
    rows = np.genfromtxt(folder / f"{ball}_drop{drop}.csv", delimiter=",", names=True)
    first = np.flatnonzero(rows["velocity_m_s"] < -3)[0]
    time = rows["t_s"][first:] - rows["t_s"][first]
    columns = {"time": time, "joint.q[height]": rows["height_m"][first:]}
    return gs.recording_from_arrays(columns, name=f"{ball} {drop}")


def drops_of(folder: Path, ball: str) -> list[gs.Recording]:
    """All drops of a ball in a folder."""
    paths = sorted(folder.glob(f"{ball}_drop*.csv"))
    return [read(folder, ball, int(path.stem.rsplit("drop", 1)[1])) for path in paths]


def simulator(mass: float) -> gs.Simulator:
    """A mass on a vertical slide."""
    b = gs.Builder("ball")
    b.link(
        "ball",
        "world",
        joint="prismatic",
        joint_name="height",
        axis=(0, 0, 1),
        mass=mass,
        inertia=(1e-4 * mass,) * 3,
    )
    return gs.Simulator(b.build(), 1 / 60, integrator=gs.RungeKutta4())


def law(start: gs.Simulator, recording: gs.Recording, term: str) -> tuple[float, float]:
    """Cost of a one-term law over the whole drop, and its force at 1 m/s with its std (N)."""
    graft = gs.Graft(
        "joint.tau_passive[*]",
        "joint.qd[*]",
        network=gs.Library(term),
        input_scale={"joint.qd[*]": "1 m/s"},
        output_scale="1 N",
        name="air",
    )
    hybrid = start.graft(gs.Blueprint(graft))
    length = recording.duration - 0.05
    problem = gs.Problem(hybrid, recording, noise=NOISE, holdout=0, horizon=length, growth=(1.0,))
    result = gs.fit(problem)
    return result.history[-1].cost, -float(result.theta[0])


def main() -> int:
    parser = judged.add_option(pictures.add_option(Figures.arguments(__doc__ or "")))
    arguments = parser.parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "ball_drops"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("Drag of dropped balls", seed=arguments.seed, json_path=arguments.json)
    curves = {}
    balls = list(BALLS.items())[: 1 if arguments.quick else None]
    unseen = judged.folder(arguments, "ball_drops")
    judged.say(figures, unseen)
    for ball, (ounces, fitted, other, (low, high)) in balls:
        mass = ounces * OUNCE
        start, drop = simulator(mass), read(folder, ball, fitted)
        there = (folder / "{}_drop{}.csv".format(*other)).is_file()
        drops, held = [drop], read(folder, *other) if there else 0.5
        if unseen is not None:
            drops, held = drops_of(folder, ball), drops_of(unseen, ball)
            if not held:
                print(f"{ball}: no drop of it in {unseen}")
                continue
        found = gs.discover(
            start,
            drops,
            candidates={"joint.tau_passive[height]": ("joint.qd[height]",)},
            horizon=0.8,
            stride=0.1,
            noise=NOISE,
            growth=(1.0,),
            holdout=held,
        )
        print(f"{ball}: {' '.join(found.sentences())}", flush=True)
        if ball in LIGHT:
            figures.at_least(f"{ball}: an effect of speed is found", len(found.findings), 1)
        elif ball in HEAVY:
            figures.at_most(f"{ball}: an effect of speed is found", len(found.findings), 0)
        else:
            assert ball in MIDDLE
            figures.at_least(f"{ball}: found or likely", len(found.findings), 1)
        figures.note(f"{ball}: of these certain", len(found.certain))
        if "network" in found.costs:
            share = np.sqrt(found.costs["network"] / found.costs["physics"])
            figures.note(f"{ball}: held-out error, share of the vacuum's", float(share))
            curves[ball] = (found.findings[0].summary.curves[0], mass)
        costs = {term: law(start, drop, term) for term in ("linear", "quadratic", "cubic")}
        for term, (cost, _) in costs.items():
            figures.note(f"{ball}: cost of a {term} law over the drop", cost)
        b = costs["quadratic"][1] / mass
        if ball in LIGHT:
            best = min(costs, key=lambda t: costs[t][0])
            figures.note(f"{ball}: quadratic is the best of the three", float(best == "quadratic"))
        figures.note(f"{ball}: quadratic drag over mass", b, "1/m")
        figures.note(f"{ball}: the same, of the data's description, from", low, "1/m")
        figures.note(f"{ball}: the same, of the data's description, to", high, "1/m")
    draw(arguments.pictures, curves)
    return 0 if figures.finish() else 1


def draw(folder: str | None, curves: dict) -> None:
    """Learned deceleration over speed."""
    if folder is None or not curves:
        return
    figure, grid = pictures.axes(len(curves), width=3.2)
    for a, (ball, (c, mass)) in zip(grid[0], curves.items(), strict=True):
        a.fill_between(-c.x, c.low / mass, c.high / mass, color=pictures.HYBRID, alpha=0.25)
        a.plot(-c.x, c.y / mass, color=pictures.HYBRID, label="learned")
        b = BALLS[ball][3]
        speed = np.linspace(0, float(np.abs(c.x).max()), 50)
        a.fill_between(
            speed, b[0] * speed**2, b[1] * speed**2, color=pictures.PLAIN, alpha=0.4,
            label="quadratic, as described",
        )  # fmt: skip
        a.set(title=ball.replace("_", " "), xlabel="speed (m/s)", ylabel="deceleration (m/s²)")
    grid[0, 0].legend(frameon=False)
    pictures.save(figure, folder, "discovery_ball_drops")


if __name__ == "__main__":
    sys.exit(main())
