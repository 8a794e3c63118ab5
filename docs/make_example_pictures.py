"""Draw the gallery's pictures of the longer examples: each is run, and its own numbers are drawn.

python docs/make_example_pictures.py [04 05 ...]    # all, or these
"""

import runpy
import sys
from pathlib import Path

import numpy as np
from make_gallery import picture

EXAMPLES = Path(__file__).parent.parent / "examples"


def held_out(names: dict, channel: str, name: str) -> None:
    """A held-out window of a fit, measured, before and after; the last one if none was held out."""
    traces = [t for t in names["result"].traces if t.channel == channel]
    trace = ([t for t in traces if t.heldout] or traces)[-1]
    curves = [(trace.time, getattr(trace, x)[:, 0], x) for x in ("measured", "before", "after")]
    picture(name, "time (s)", f"{channel} ({trace.unit})", *curves)


def fit_damping(names: dict) -> None:
    """The end of the log."""
    held_out(names, "joint.q[arm]", "example_damping")


def driven_arm(names: dict) -> None:
    """The elbow at the end of the log."""
    held_out(names, "joint.q[elbow]", "example_arm")


def load_robot(names: dict) -> None:
    """The arm from the side, as it is asked for."""
    gs, model, q = names["gs"], names["model"], names["q"]
    places = [np.zeros(3)]
    places += [np.asarray(gs.dynamics.frame_pose(model, q, x)[1]) for x in ("lower", "tool")]
    x, _, z = np.array(places).T
    picture("example_pose", "x (m)", "z (m)", (x, z, "arm"), (x[-1:], z[-1:], "tool"), style="o-")


def write_robot(names: dict) -> None:
    """What the file's numbers do, and those of the start, on the log."""
    gs, log = names["gs"], names["recording"]["joint.q[arm]"]
    curves = [(log.time, log.values[:, 0], "log")]
    for model, label in ((names["pendulum"](0.01).model, "start"), (names["again"], "robot.xml")):
        s = gs.Simulator(model, 0.01, integrator=gs.ImplicitDamping())
        run = s.rollout(s.initial_state({"arm": 1.5}), steps=300)
        curves.append((run.time, run.q[:, 0], label))
    picture("example_written", "time (s)", "angle (rad)", *curves)


def graft(names: dict) -> None:
    """Its power: never above zero."""
    time = 0.002 * np.arange(len(names["power"]))
    curve = (time, names["power"], "power")
    picture("example_graft", "time (s)", "power of the network (W)", curve)


def discover(names: dict) -> None:
    """The law that was found, beside the one that made the log."""
    speed = np.linspace(-3, 3, 400)
    found = sum(np.asarray(t.evaluate(speed)) for t in names["found"].findings[0].formula)
    curves = (speed, -0.3 * np.tanh(speed / 0.02), "true"), (speed, found, "found")
    picture("example_discovery", "speed (rad/s)", "torque (N m)", *curves)


def how_sure(names: dict) -> None:
    """The profile of the damping, and where it is cut."""
    p = names["result"].profiles[0]
    limit = (p.values, np.full(len(p.values), p.limit), "95 %")
    picture(
        "example_profile",
        f"{p.name} ({p.unit})",
        "rise of the cost",
        (p.values, p.rise, "profile"),
        limit,
    )


def ankle(names: dict) -> None:
    """The foot's two angles, as the log has them."""
    log = names["log"]
    curves = [
        (log[f"joint.q[{x}]"].time, log[f"joint.q[{x}]"].values[:, 0], x)
        for x in ("left", "pitch", "roll")
    ]
    picture("example_ankle", "time (s)", "angle (rad)", *curves)


def swing_up(names: dict) -> None:
    """The pole's angle and the force over time."""
    plan, time = names["plan"], 0.02 * np.arange(201)
    curves = (
        (time, plan.states.q[:, 1], "pole (rad)"),
        (time[:-1], plan.controls[:, 0] / 10, "force / 10 N"),
    )
    picture("example_swing_up", "time (s)", "", *curves)


def policy(names: dict) -> None:
    """Poles of new starts under the trained policy."""
    q = np.asarray(names["motion"].q)[:24, :250, 1]
    curves = [(0.02 * np.arange(250), x, "") for x in q]
    picture("example_policy", "time (s)", "tilt of the pole (rad)", *curves)


def torch_layer(names: dict) -> None:
    """Where new scenes end along x: as the network says, and as it is."""
    ends = names["physics"](*names["encoder"](names["new_frames"]).unbind(1)).detach().numpy()
    ends, true = ends[:64], names["new_after"].numpy()[:64]
    curve = (true[..., 0].ravel(), ends[..., 0].ravel(), "")
    picture(
        "example_torch",
        "x of a ball after 0.3 s (m)",
        "x by the network (m)",
        curve,
        style="o",
    )


def mujoco_host(names: dict) -> None:
    """The body's path in MuJoCo, with the network's drag and without."""
    steps = range(0, 501, 20)
    free = np.array([names["in_mujoco"](names["start"], k) for k in steps])
    with names["passive_force"](names["simulator"], names["host"]):
        held = np.array([names["in_mujoco"](names["start"], k) for k in steps])
    curves = (free[:, 0], free[:, 2], "MuJoCo alone"), (held[:, 0], held[:, 2], "with the drag")
    picture("example_mujoco", "x (m)", "z (m)", *curves)


def thrower(names: dict) -> None:
    """How far targets are missed while it learns."""
    missed = 100 * np.sqrt(np.asarray(names["costs"]))
    curve = (np.arange(len(missed)), missed, "")
    picture("example_thrower", "iteration", "targets missed by (cm)", curve, scale="log")


DRAWN = {
    "04_fit_damping": fit_damping,
    "05_torque_driven_arm": driven_arm,
    "06_load_robot": load_robot,
    "07_write_fitted_robot": write_robot,
    "09_graft": graft,
    "10_discover": discover,
    "12_how_sure": how_sure,
    "13_closed_ankle": ankle,
    "14_swing_up": swing_up,
    "15_policy": policy,
    "16_torch_layer": torch_layer,
    "17_mujoco_host": mujoco_host,
    "18_engine_in_a_network": thrower,
}


def main() -> None:
    """Those whose numbers are given, or all."""
    for name, draw in DRAWN.items():
        if not sys.argv[1:] or name[:2] in sys.argv[1:]:
            draw(runpy.run_path(str(EXAMPLES / f"{name}.py")))


if __name__ == "__main__":
    main()
