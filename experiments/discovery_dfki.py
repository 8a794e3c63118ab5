"""What a frictionless model of two real pendulums lacks: friction, found and written as a law.

Data: RealAIGym double pendulum (design C.1) and simple pendulum, under GRAFTSIM_DATA. The models
start without friction and damping; inertias and centres of mass are free all along. Beside what is
found: the same model with Coulomb friction and damping fitted (the tuned analytical model), and the
authors' values.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import dfki_double_pendulum as double
import judged
import numpy as np
import pictures

import graftsim as gs
from graftsim.targets import Figures

SIMPLE_FITTED = ("ddp", "direct_collocation")


def simple(friction: bool) -> gs.Simulator:
    """A rod of 0.5 m with 0.6755 kg at its end, and a motor."""
    b = gs.Builder("simple_pendulum")
    numbers = {"damping": 0.01, "friction": 0.1, "friction_velocity": 0.05} if friction else {}
    m, l = 0.6755, 0.5
    b.link(
        "rod",
        "world",
        joint_name="pivot",
        axis=(0, 1, 0),
        mass=m,
        com=(0, 0, -l),
        inertia=(0.01, 0.01, 1e-4),
        armature=2.3e-3,
        **numbers,
    )
    b.actuator("pivot", "pivot")
    return gs.Simulator(b.build(), 0.002, integrator=gs.ImplicitDamping(), substeps=2)


def simple_free() -> dict[str, Any]:
    """Two numbers of a rigid pendulum: moment of gravity and moment of inertia."""
    return {
        "link.com[rod].z": gs.Bounds(-0.9, -0.2),
        "link.inertia[rod].xx,yy": gs.Bounds(1e-5, 0.3, shared=True),
    }


FRICTION = {
    "joint.damping[*]": gs.Positive(),
    "joint.friction[*]": gs.Positive(),
    "joint.friction_velocity[*]": gs.Bounds(1e-3, 1.0),
}


def read_simple(folder: Path, run: str) -> gs.Recording:
    """Angle and torque of a run."""
    columns = {"joint.q[pivot]": "position", "joint.tau[pivot]": "torque"}
    return gs.read_recording(folder / f"{run}.npz", columns, name=run)


def heldout_rms(result: gs.Result) -> dict[str, float]:
    """RMS over held-out windows by channel."""
    return {e.channel: e.heldout_after for e in result.errors}


def report(
    figures: Figures,
    name: str,
    found: gs.Discovery,
    tuned: gs.Result,
    authors: dict[str, tuple[float, float]],
    folder: str | None,
) -> None:
    """Figures of one machine."""
    for line in found.sentences():
        print(line)
    before = {e.channel: e.heldout_after for e in found.result.physics or found.result.errors}
    after, analytical = heldout_rms(found.result), heldout_rms(tuned)
    for channel in after:
        figures.note(f"{name}, {channel}: held out, no friction", before[channel], "rad")
        figures.note(f"{name}, {channel}: held out, tuned analytical", analytical[channel], "rad")
        figures.note(f"{name}, {channel}: held out, discovered graft", after[channel], "rad")
    total = np.sqrt(sum(v**2 for v in after.values()))
    other = np.sqrt(sum(v**2 for v in analytical.values()))
    figures.note(f"{name}: held out, graft over tuned analytical", float(total / other))
    for joint, (coulomb, viscous) in authors.items():
        own = f"joint.qd[{joint}]"
        target = f"joint.tau_passive[{joint}]"
        right = [f for f in found.findings if f.target == target and own in f.inputs]
        figures.at_least(f"{name}, {joint}: friction of its own velocity found", len(right), 1)
        kinds = {t.kind: t.value for f in right for t in f.formula if t.group.input == own}
        figures.note(f"{name}, {joint}: Coulomb found", -kinds.get("coulomb", 0.0), "N m")
        figures.note(f"{name}, {joint}: Coulomb of the authors", coulomb, "N m")
        figures.note(f"{name}, {joint}: viscous found", -kinds.get("linear", 0.0), "N m s/rad")
        figures.note(f"{name}, {joint}: viscous of the authors", viscous, "N m s/rad")
        for quantity in ("friction", "damping"):
            value = tuned.value(f"joint.{quantity}[{joint}]")
            figures.note(f"{name}, {joint}: {quantity} of the tuned model", value)
    draw(folder, name, found, tuned, authors)


def draw(
    folder: str | None,
    name: str,
    found: gs.Discovery,
    tuned: gs.Result,
    authors: dict[str, tuple[float, float]],
) -> None:
    """Learned friction over velocity, beside the authors' and the tuned law."""
    if folder is None or not found.findings:
        return
    figure, grid = pictures.axes(len(authors))
    for a, (joint, (coulomb, viscous)) in zip(grid[0], authors.items(), strict=True):
        for finding in found.findings:
            for c in finding.summary.curves:
                if finding.target == f"joint.tau_passive[{joint}]" and c.column.endswith(
                    (f"qd[{joint}]", "qd[*]")
                ):
                    a.fill_between(c.x, c.low, c.high, color=pictures.HYBRID, alpha=0.25)
                    a.plot(c.x, c.y, color=pictures.HYBRID, label="learned")
                    law = -coulomb * np.tanh(c.x / 0.05) - viscous * c.x
                    a.plot(c.x, law, "--", color=pictures.TRUTH, label="authors")
                    f, d, v = (
                        tuned.value(f"joint.{k}[{joint}]")
                        for k in ("friction", "damping", "friction_velocity")
                    )
                    law = -f * np.tanh(c.x / v) - d * c.x
                    a.plot(c.x, law, color=pictures.NETWORK, label="tuned analytical")
        a.set(xlabel=f"velocity of {joint} (rad/s)", ylabel="torque (N m)")
        a.legend(frameon=False)
    pictures.save(figure, folder, f"discovery_{name.replace(' ', '_')}")


def main() -> int:
    parser = judged.add_option(pictures.add_option(Figures.arguments(__doc__ or "")))
    parser.add_argument("--only", choices=("double", "simple"), help="one machine alone")
    arguments = parser.parse_args()
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
    if not data.is_dir():
        print(f"No recordings in {data}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("Friction of real pendulums", seed=arguments.seed, json_path=arguments.json)

    if arguments.judge:
        judged.say(figures, Path(arguments.judge))

    def say(text: str) -> None:
        print(f"  {text}", flush=True)

    if arguments.only != "simple":
        folder = data / "dfki_double_pendulum"
        fitted = [double.read(folder, run) for run in double.FITTED]
        held = [double.read(folder, run) for run in (double.SLOW, double.FAST)]
        unseen = judged.folder(arguments, "dfki_double_pendulum")
        if unseen is not None:
            paths = judged.files(unseen, "20230629-*.npz")
            fitted = fitted + held
            held = [double.read(unseen, path.stem.removeprefix("20230629-")) for path in paths]
        free = double.free()
        bare = {k: v for k, v in free.items() if k not in FRICTION}
        tuned = gs.fit(gs.Problem(double.simulator(), fitted, free, holdout=held, horizon=0.5))
        start = double.simulator(friction=False)
        found = gs.discover(start, fitted, bare, holdout=held, horizon=0.5, progress=say)
        authors = {"shoulder": (0.16, 0.001), "elbow": (0.12, 0.001)}
        report(figures, "double pendulum", found, tuned, authors, arguments.pictures)
    if arguments.only != "double":
        folder = data / "dfki_simple_pendulum"
        runs = [read_simple(folder, run) for run in SIMPLE_FITTED]
        options: dict[str, Any] = {"horizon": 0.3, "holdout": 0.35}
        unseen = judged.folder(arguments, "dfki_simple_pendulum")
        if unseen is not None:
            paths = judged.files(unseen, "*.npz")
            options["holdout"] = [read_simple(unseen, path.stem) for path in paths]
        tuned = gs.fit(gs.Problem(simple(True), runs, simple_free() | FRICTION, **options))
        found = gs.discover(simple(False), runs, simple_free(), progress=say, **options)
        # A least-squares fit of the torques by the data's own description.
        report(figures, "simple pendulum", found, tuned, {"pivot": (0.17, 0.0)}, arguments.pictures)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
