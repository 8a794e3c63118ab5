"""E5: a real double pendulum, filmed at 400 Hz; its inertias and damping from joint angles alone.

Data: Asseman, Kornuta, Ozcan (2018), `ibm_double_pendulum` under GRAFTSIM_DATA. Without
torques only ratios can be known, so the outer arm's mass and centre of mass stay fixed, and what is
found is everything over m2 c2:
A = (I1 + m1 c1^2 + m2 l1^2)/(m2 c2), C = (I2 + m2 c2^2)/(m2 c2), gamma = (m1 c1 + m2 l1)/(m2 c2),
two dampings, and g over l1. The last is free because the published arm lengths, g and the frame
rate do not agree: eight runs together want g/l1 smaller, as if the film ran at 504 frames a second
instead of 400. (The authors of the papers let the time step be fitted, to the same end.)
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import judged
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

L1, L2 = 0.091, 0.070
# Fixed: the outer arm's mass and centre of mass. C and gamma then may fall to C2 and L1/C2.
M2, C2 = 0.1, 0.05
RATE = 400.0
ALONE = (0, 1, 3)
TOGETHER = (0, 1, 3, 5, 6, 8, 9, 10)
OTHERS = (11, 13, 14, 15, 16, 17, 18, 20)
FREE = {
    "link.mass[arm1]": gs.Bounds(1e-3, 2.0),
    "link.inertia[arm1].xx,yy": gs.Bounds(1e-7, 2e-2, shared=True),
    "link.inertia[arm2].xx,yy": gs.Bounds(1e-7, 2e-2, shared=True),
    "joint.damping[*]": gs.Positive(),
    "world.gravity[z]": gs.Bounds(-20.0, -3.0),
}


def read(folder: Path, run: int) -> gs.Recording:
    """Joint angles of one run. The first number of a marker runs downwards, the second sideways."""
    xy = np.load(folder / f"{run:02d}.npz")["xy"].astype(float)
    pivot, elbow, tip = xy[:, 0:2], xy[:, 2:4], xy[:, 4:6]
    angles = []
    for a, b in ((pivot, elbow), (elbow, tip)):
        arm = b - a
        angles.append(np.unwrap(np.arctan2(arm[:, 1], arm[:, 0])))
    time = np.arange(len(xy)) / RATE
    channels = {
        "joint.q[arm1]": gs.Channel("joint.q[arm1]", time, angles[0], "rad"),
        "joint.q[arm2]": gs.Channel("joint.q[arm2]", time, angles[1] - angles[0], "rad"),
    }
    return gs.Recording(channels, name=f"run {run}")


def simulator() -> gs.Simulator:
    """Two arms hanging along -z, their ratios those of two equal point masses at the arms' ends."""
    A, C, gamma = 2 * L1**2 / L2, L2, 2 * L1 / L2
    c1 = L1 / 2
    m1 = (gamma * M2 * C2 - M2 * L1) / c1
    I1, I2 = A * M2 * C2 - m1 * c1**2 - M2 * L1**2, C * M2 * C2 - M2 * C2**2
    b = gs.Builder("double_pendulum")
    b.link("arm1", axis=(1, 0, 0), mass=m1, com=(0, 0, -c1), inertia=(I1, I1, I1))
    b.link("arm2", "arm1", axis=(1, 0, 0), origin=(0, 0, -L1), mass=M2, com=(0, 0, -C2), inertia=I2)
    return gs.Simulator(b.build(), 1 / RATE, integrator=gs.RungeKutta4())


def ratios(model: gs.Model) -> dict[str, tuple[float, str]]:
    """The observable inertial numbers, and the frame rate at which g would be 9.81."""
    (m1, m2), I = np.asarray(model.link.mass), np.asarray(model.link.inertia)[:, 0]
    c1, g = L1 / 2, -float(model.world.gravity[2])
    scale = m2 * C2
    return {
        "A": ((I[0] + m1 * c1**2 + m2 * L1**2) / scale, "m"),
        "C": ((I[1] + m2 * C2**2) / scale, "m"),
        "gamma": ((m1 * c1 + m2 * L1) / scale, "1"),
        "g as it appears at 400 Hz": (g, "m/s^2"),
        "frame rate for g = 9.81": (RATE * np.sqrt(9.81 / g), "Hz"),
    }


def absolute_rms(simulated: np.ndarray, measured: np.ndarray) -> float:
    """RMS over time and both arms of the absolute arm angles."""
    error = np.cumsum(np.asarray(simulated) - measured, axis=-1)
    return float(np.sqrt(np.mean(error**2)))


def measured(recording: gs.Recording) -> np.ndarray:
    return np.concatenate([recording[f"joint.q[arm{i}]"].values for i in (1, 2)], axis=-1)


def alone(figures: Figures, folder: Path, run: int) -> None:
    """Fit the first 0.5 s of one run; compare with the start from the measured initial velocity."""
    start = simulator()
    recording = read(folder, run).trim(0.0, 0.5)
    problem = gs.Problem(start, recording, FREE, horizon=0.5, growth=(0.3, 0.6, 1.0), holdout=0.0)
    result = gs.fit(problem)
    after = np.stack([t.after[:, 0] for t in result.traces], -1)
    window = problem.train_windows(0.5)
    state = start.initial_state(window.q0[0], window.qd0[0])
    before = start.rollout(state, steps=window.steps).q
    rms, rms0 = absolute_rms(after, measured(recording)), absolute_rms(before, measured(recording))
    figures.at_most(f"run {run} alone, RMS over 0.5 s", rms, 0.05, "rad")
    figures.at_most(f"run {run} alone, share of the start's RMS", rms / rms0, 0.10)
    for name, (value, unit) in ratios(result.model).items():
        figures.note(f"run {run} alone, {name}", value, unit)


def together(figures: Figures, folder: Path, unseen: Path | None) -> None:
    """One model for eight runs, predicting quarter seconds of eight others from measured states."""
    recordings = [read(folder, run).trim(0.0, 15.0) for run in TOGETHER]
    problem = gs.Problem(
        simulator(),
        recordings,
        FREE,
        horizon=0.25,
        growth=(0.25, 1.0),
        holdout=0.0,
        max_windows=300,
    )
    result = gs.fit(problem)
    for name, (value, unit) in ratios(result.model).items():
        figures.note(f"eight runs, {name}", value, unit)
    for row in result.parameters:
        if row.name.startswith("joint.damping"):
            figures.note(f"eight runs, {row.name}", row.value, row.unit)
    if unseen is None:
        paths = [folder / f"{run:02d}.npz" for run in OTHERS]
    else:
        paths = judged.files(unseen, "[0-9][0-9].npz")
    others = [read(path.parent, int(path.stem)).trim(0.0, 15.0) for path in paths]
    for label, sim in (("start", problem.setup.simulator), ("fitted", result.simulator)):
        errors = predict(sim, problem, others)
        rms = float(np.sqrt(np.mean(errors**2)))
        name = f"other runs, 0.25 s from measured states, RMS, {label}"
        if label == "fitted":
            figures.at_most(name, rms, 0.1, "rad")
            per_window = np.sqrt(np.mean(errors**2, axis=(1, 2)))
            figures.note(
                "other runs, median window's RMS, fitted", float(np.median(per_window)), "rad"
            )
            figures.note("other runs, worst window's RMS, fitted", float(per_window.max()), "rad")
        else:
            figures.note(name, rms, "rad")


def predict(sim: gs.Simulator, problem: gs.Problem, others: list[gs.Recording]) -> np.ndarray:
    """Errors of absolute arm angles [windows, samples, 2] from measured angles and velocities."""
    import jax

    windows = problem.windows_of(others, 0.25)
    states = jax.vmap(lambda q, v: gs.State(q, v, sim.initial_state().act))(windows.q0, windows.qd0)
    q = np.asarray(jax.vmap(lambda s: sim.rollout(s, steps=windows.steps).q)(states))
    true = np.concatenate(windows.value, axis=-1)
    return np.cumsum(q - true, axis=-1)


def main() -> int:
    arguments = judged.add_option(Figures.arguments(__doc__ or "")).parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "ibm_double_pendulum"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    figures = Figures("E5 real double pendulum", seed=arguments.seed, json_path=arguments.json)
    unseen = judged.folder(arguments, "ibm_double_pendulum")
    judged.say(figures, unseen)
    for run in ALONE[: 1 if arguments.quick else None]:
        alone(figures, folder, run)
    if not arguments.quick:
        together(figures, folder, unseen)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
