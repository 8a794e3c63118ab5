"""A real triple pendulum: centres of mass, inertias and friction from encoder angles alone.

Data: MultiArm-Pendulum (`multiarm_pendulum` under GRAFTSIM_DATA, MIT), free swings at 1 kHz, here
every second sample. Masses are taken as known, as is the last arm's centre of mass: without torques
one scale is free. The last quarter of the recording is held out.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import judged
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

ARMS = ("arm1", "arm2", "arm3")


def simulator(authors: dict[str, float], *, known: bool) -> gs.Simulator:
    """Three arms; `known`: the authors' centres of mass and inertias, else thin uniform rods."""
    lengths = (authors["L1"], authors["L2"], 2 * authors["a3"])
    b = gs.Builder("triple_pendulum")
    for i, arm in enumerate(ARMS):
        m, L = authors[f"m{i + 1}"], lengths[i]
        a = authors[f"a{i + 1}"] if known or i == 2 else L / 2
        I = authors[f"I{i + 1}"] if known else m * L**2 / 12
        b.link(
            arm,
            ARMS[i - 1] if i else "world",
            axis=(0, 1, 0),
            origin=(0, 0, -lengths[i - 1]) if i else (0, 0, 0),
            mass=m,
            com=(0, 0, -a),
            inertia=(I, I, 1e-6),
            damping=authors[f"k{i + 1}"] if known else 1e-4,
            friction_velocity=0.05,
        )
    return gs.Simulator(b.build(), 0.002, integrator=gs.RungeKutta4())


def read(folder: Path) -> gs.Recording:
    """Relative joint angles, zero hanging down; the file's are absolute, zero upright."""
    with np.load(folder / "triple.npz") as file:
        time, theta = file["t"], file["state"][:, :3]
    relative = np.diff(np.unwrap(theta - np.pi, axis=0), axis=1, prepend=0.0)
    order = np.argsort(time, kind="stable")[::2]
    channels = {
        f"joint.q[{arm}]": gs.Channel(f"joint.q[{arm}]", time[order], relative[order, i], "rad")
        for i, arm in enumerate(ARMS)
    }
    return gs.Recording(channels, name="triple")


def free() -> dict[str, gs.Domain]:
    """Friction, centres of mass, inertias; the last arm's centre is taken as known."""
    chosen: dict[str, gs.Domain] = {
        "joint.damping[*]": gs.Positive(),
        "joint.friction[*]": gs.Positive(),
    }
    for arm in ARMS:
        if arm != "arm3":
            chosen[f"link.com[{arm}].z"] = gs.Bounds(-0.4, -0.01)
        chosen[f"link.inertia[{arm}].xx,yy"] = gs.Bounds(1e-6, 0.05, shared=True)
    return chosen


def main() -> int:
    arguments = judged.add_option(Figures.arguments(__doc__ or "")).parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "multiarm_pendulum"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    figures = Figures("Triple pendulum", seed=arguments.seed, json_path=arguments.json)
    authors = json.loads((folder / "authors_estimates.json").read_text())["triple"]
    recording = read(folder)
    unseen = judged.folder(arguments, "multiarm_pendulum")
    judged.say(figures, unseen)
    results = {}
    for label, known in (("rods", False), ("authors", True)):
        problem = gs.Problem(
            simulator(authors, known=known),
            recording,
            free(),
            horizon=0.5,
            holdout=0.25 if unseen is None else read(unseen),
            max_windows=4 if arguments.quick else 60,
        )
        local = gs.LevenbergMarquardt(3 if arguments.quick else 50)
        results[label] = gs.fit(problem, local=local)
    apart = [0.0]
    for row in results["rods"].parameters:
        figures.note(row.name, row.value, row.unit)
        if np.isfinite(row.std):
            apart.append(abs(row.value - results["authors"].value(row.name)) / row.std)
    figures.at_most("largest distance of the two starts' ends, in std", max(apart), 1.0)
    for before in results["rods"].errors:
        best = next(e for e in results["authors"].errors if e.channel == before.channel)
        figures.note(f"{before.channel}, held out, rods", before.heldout_before, "rad")
        figures.note(f"{before.channel}, held out, authors' numbers", best.heldout_before, "rad")
        figures.at_most(
            f"{before.channel}, held out, fitted from rods",
            before.heldout_after,
            best.heldout_before,
            "rad",
        )
    for warning in (*results["rods"].warnings, *(w.text for w in results["rods"].weak)):
        print(warning)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
