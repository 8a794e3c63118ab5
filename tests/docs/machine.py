"""The reader's own robot and logs, which the pages speak of: an arm of two joints with motors."""

from pathlib import Path

import numpy as np

import graftsim as gs

DT, STEPS = 0.01, 400
NAMES = ("shoulder", "elbow")
# What the logs are made with; the robot's files have half the damping.
DAMPING = 0.1


def arm(damping: float = DAMPING / 2, drive: str = "torque", **numbers: float):
    """Two links about x, hanging, each with an actuator of a kind."""
    builder = gs.Builder("arm")
    link = {"axis": (1, 0, 0), "mass": 1.0, "com": (0, 0, -0.15), "inertia": 0.02}
    link |= {"damping": damping, "lower": -6.0, "upper": 6.0}
    builder.link("upper", joint_name="shoulder", **link)
    builder.link("arm", "upper", joint_name="elbow", origin=(0, 0, -0.3), **link)
    builder.frame("tip", "arm", (0, 0, -0.3))
    builder.geom("sphere", 0.03, "arm", (0, 0, -0.3), name="ball")
    for name in NAMES:
        builder.actuator(name, name, drive, **numbers)
    return builder.build()


def log(simulator: gs.Simulator, seed: int = 0, steps: int = STEPS) -> gs.Recording:
    """Commands and what they do, read with 1 mrad and 5 mrad/s of noise."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(steps + 1)
    u = sum(
        rng.uniform(0.2, 0.8, 2) * np.sin(2 * np.pi * f * t[:, None] + rng.uniform(0, 6, 2))
        for f in (0.4, 0.9, 1.7)
    )
    run = simulator.rollout(simulator.initial_state({"elbow": 0.3}), u[:-1])
    columns = {"time": t}
    for i, name in enumerate(NAMES):
        columns[f"joint.q[{name}]"] = np.asarray(run.q)[:, i] + rng.normal(0, 1e-3, len(t))
        columns[f"joint.qd[{name}]"] = np.asarray(run.qd)[:, i] + rng.normal(0, 5e-3, len(t))
        columns[f"control[{name}]"] = u[:, i]
    return gs.recording_from_arrays(columns, name=f"run{seed}")


def raw(recording: gs.Recording, path: Path) -> None:
    """A log as a driver writes it: degrees, and names of its own."""
    column = {x: recording[f"{x}[elbow]"].values[:, 0] for x in ("joint.q", "control")}
    rows = np.column_stack([recording["control[elbow]"].time, np.degrees(column["joint.q"])])
    rows = np.column_stack([rows, column["control"]])
    np.savetxt(path, rows, delimiter=",", header="time,pos2,torque_cmd", comments="")


def torques(recording: gs.Recording, path: Path) -> None:
    """The same motion with its joints' torques in place of the commands of its motors."""
    channels = {}
    for name, channel in recording.channels.items():
        new = name.replace("control", "joint.tau")
        unit = "N m" if new != name else channel.unit
        channels[new] = gs.Channel(new, channel.time, channel.values[:, 0], unit)
    gs.write_csv(gs.Recording(channels, name="torques"), path)


def write(folder: Path) -> None:
    """Robots robot.urdf, robot.xml, servo.xml; logs log.csv, logs/run*.csv, run1.csv, servo.csv."""
    (folder / "logs").mkdir()
    gs.write_urdf(arm(), folder / "robot.urdf", lossy=True)
    gs.write_mjcf(arm(), folder / "robot.xml")
    machine = gs.Simulator(arm(DAMPING), DT, substeps=5)
    for seed in (1, 2):
        gs.write_csv(log(machine, seed), folder / f"logs/run{seed}.csv")
    gs.write_csv(log(machine), folder / "log.csv")
    raw(log(machine), folder / "run1.csv")
    torques(log(machine, 3, 4 * STEPS), folder / "torques.csv")
    late = {"drive": "position", "kp": 30.0, "kd": 1.0}
    gs.write_mjcf(arm(DAMPING, delay=0.0, **late), folder / "servo.xml")
    servo = gs.Simulator(arm(DAMPING, delay=0.012, **late), DT, substeps=5)
    gs.write_csv(log(servo), folder / "servo.csv")
