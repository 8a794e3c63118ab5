"""A torque-driven double pendulum: friction, damping, armature and inertias from logged torques.

Data: RealAIGym double pendulum, design C.1 (`dfki_double_pendulum` under GRAFTSIM_DATA). The
start is the authors' own fit. Measured motor torques drive the simulation, joint angles are
explained; two whole runs are held out, one of them three times faster than any that is fitted.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import judged
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

FITTED = ("143339", "143524", "143906", "144003", "144115")
SLOW, FAST = "143704", "154220"
L1 = 0.2
JOINTS = ("shoulder", "elbow")


def simulator(*, friction: bool = True) -> gs.Simulator:
    """The authors' model 1.0: masses, centres of mass, inertias about joints, rotors, friction."""
    (m1, m2), (r1, r2), (I1, I2) = (0.523, 0.626), (0.2, 0.2557), (0.0319, 0.0509)
    rotor = 6.3e-5 * 6**2
    b = gs.Builder("double_pendulum")
    for name, parent, m, r, I, z, coulomb in (
        ("upper", "world", m1, r1, I1, 0.0, 0.16),
        ("lower", "upper", m2, r2, I2, -L1, 0.12),
    ):
        b.link(
            name,
            parent,
            joint_name=JOINTS[parent == "upper"],
            axis=(0, 1, 0),
            origin=(0, 0, z),
            mass=m,
            com=(0, 0, -r),
            inertia=(I - m * r**2, I - m * r**2, 1e-4),
            armature=rotor,
            damping=0.001 if friction else 0.0,
            friction=coulomb if friction else 0.0,
            friction_velocity=0.05,
        )
    for joint in JOINTS:
        b.actuator(joint, joint)
    return gs.Simulator(b.build(), 0.002, integrator=gs.ImplicitDamping(), substeps=2)


def free() -> dict[str, gs.Domain]:
    """Masses are weighed; the rotors are known to about half; the rest is found."""
    chosen: dict[str, gs.Domain] = {
        "joint.armature[*]": gs.Positive(prior=gs.Prior(2.3e-3, 1e-3)),
        "joint.damping[*]": gs.Positive(),
        "joint.friction[*]": gs.Positive(),
        "joint.friction_velocity[*]": gs.Bounds(1e-3, 1.0),
    }
    for link in ("upper", "lower"):
        chosen[f"link.com[{link}].z"] = gs.Bounds(-0.5, -0.01)
        chosen[f"link.inertia[{link}].xx,yy"] = gs.Bounds(1e-5, 0.2, shared=True)
    return chosen


def read(folder: Path, run: str) -> gs.Recording:
    columns = {f"joint.q[{j}]": f"pos_meas{i + 1}" for i, j in enumerate(JOINTS)}
    columns |= {f"joint.tau[{j}]": f"tau_meas{i + 1}" for i, j in enumerate(JOINTS)}
    return gs.read_recording(folder / f"20230629-{run}.npz", columns, name=run)


def rms(traces: list[gs.Trace], which: str) -> float:
    """RMS over the second halves of held-out windows, both joints."""
    errors = []
    for t in traces:
        late = t.time - t.time[0] > 0.5 * (t.time[-1] - t.time[0])
        errors.append((getattr(t, which) - t.measured)[late].reshape(-1))
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def main() -> int:
    arguments = judged.add_option(Figures.arguments(__doc__ or "")).parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "dfki_double_pendulum"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    figures = Figures("DFKI double pendulum", seed=arguments.seed, json_path=arguments.json)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        fitted = [read(folder, run) for run in FITTED]
        held = [read(folder, run) for run in (SLOW, FAST)]
        names = {SLOW: "slow", FAST: "fast"}
        unseen = judged.folder(arguments, "dfki_double_pendulum")
        if unseen is not None:
            paths = judged.files(unseen, "20230629-*.npz")
            fitted = fitted + held
            held = [read(unseen, path.stem.removeprefix("20230629-")) for path in paths]
            names = {r.name: r.name for r in held}
    judged.say(figures, unseen)
    problem = gs.Problem(simulator(), fitted, free(), holdout=held, horizon=0.5)
    result = gs.fit(problem)
    for row in result.parameters:
        figures.note(row.name, row.value, row.unit)
    for row in result.errors:
        figures.note(f"{row.channel}, fitted runs, authors' model", row.train_before, row.unit)
        figures.note(f"{row.channel}, fitted runs, fitted", row.train_after, row.unit)
    for run, name in names.items():
        traces = [t for t in result.traces if t.recording == run]
        before, after = rms(traces, "before"), rms(traces, "after")
        figures.note(f"{name} held-out run, authors' model", before, "rad")
        figures.note(f"{name} held-out run, fitted", after, "rad")
        figures.at_most(f"{name} held-out run, share of the authors' model", after / before, 1.0)
    for warning in (*result.warnings, *(w.text for w in result.weak)):
        print(warning)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
