import graftsim as gs

builder = gs.Builder("robot")
for _i, _name in enumerate(("knee_joint", "joint5", "joint6", "upperarm", "forearm")):
    _parent = ("world", "knee_joint", "joint5", "joint6", "upperarm")[_i]
    builder.link(_name, _parent, origin=(0, 0, 0.1), axis=(0, 1, 0), mass=1.0, inertia=0.01)
builder.frame("eye", "world", (0.1, 0, 0.8)).frame("rotor1", "forearm")


def holds():
    """All of it is one robot."""
    assert {"knee", "m6", "rotor1", "motor"} <= set(builder.build().actuator.names)
