import graftsim as gs

_servo = gs.read_recording("servo.csv")
_late = {n: c for n, c in _servo.channels.items() if n.startswith("control")}
commands = gs.Recording(
    {n: gs.Channel(n, c.time + 0.2, c.values[:, 0], c.unit) for n, c in _late.items()},
    name="commands",
)
motion = gs.Recording(
    {n: c for n, c in _servo.channels.items() if n.startswith("joint")}, name="motion"
)


def holds():
    """Commands whose clock is ahead are moved back, and make a run with the motion."""
    assert found.offset < 0
    assert {"joint.q[elbow]", "control[elbow]"} <= set(run.channels)
