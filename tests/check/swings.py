"""Logs of a pendulum from closed forms, right ones and ones with a single thing wrong in them.

The pendulum: 1 kg at 0.4 m on a hinge about y that hangs down at zero, inertia 0.02 kg m^2 about
its centre, damping 0.05 N m s/rad: tau = (I + m l^2) qdd + b qd + m g l sin q.
"""

import numpy as np

import graftsim as gs
from graftsim.recordings.recording import Channel, Recording

MASS, LENGTH, INERTIA, DAMPING, GRAVITY = 1.0, 0.4, 0.02, 0.05, 9.81
DT = 0.005


def pendulum(kind="torque", *, joint="j", **numbers):
    """The robot. kind: of its actuator `a`, None for no actuator; numbers: of the link."""
    b = gs.Builder("pendulum")
    numbers = {"damping": DAMPING, "lower": -2.5, "upper": 2.5} | numbers
    b.link(
        "rod",
        "world",
        joint_name=joint,
        axis=(0, 1, 0),
        mass=MASS,
        com=(0, 0, -LENGTH),
        inertia=(INERTIA, INERTIA, 1e-3),
        **numbers,
    )
    if kind is not None:
        b.actuator("a", joint, kind, kp=30.0, kd=1.0)
    return b.build()


def motion(t):
    """Position, velocity, acceleration of two sines."""
    w, v = 2 * np.pi * 0.5, 2 * np.pi * 1.1
    q = 0.8 * np.sin(w * t) + 0.4 * np.sin(v * t + 1)
    qd = 0.8 * w * np.cos(w * t) + 0.4 * v * np.cos(v * t + 1)
    qdd = -0.8 * w**2 * np.sin(w * t) - 0.4 * v**2 * np.sin(v * t + 1)
    return q, qd, qdd


def torque(q, qd, qdd):
    """What drives that motion (N m)."""
    inertia = INERTIA + MASS * LENGTH**2
    return inertia * qdd + DAMPING * qd + MASS * GRAVITY * LENGTH * np.sin(q)


def clock(seconds=10.0, dt=DT):
    """Sample times (s)."""
    return dt * np.arange(round(seconds / dt))


def recording(time, name="run", **values):
    """A recording of channels by short names: q, qd, tau, u, stamp, other ones as they are."""
    known = {
        "q": ("joint.q[j]", "rad or m"),
        "qd": ("joint.qd[j]", "rad/s or m/s"),
        "tau": ("joint.tau[j]", "N m or N"),
        "u": ("control[a]", "SI"),
        "stamp": ("signal[stamp]", "SI"),
    }
    channels = {}
    for key, x in values.items():
        label, unit = known.get(key, (key, "rad or m"))
        at, x = x if isinstance(x, tuple) else (time, x)
        channels[label] = Channel(label, at, x, unit, source=f"{name}.csv", column_names=(key,))
    return Recording(channels, name)


def swing(name="run", *, seconds=10.0, dt=DT, noise=1e-4, seed=0):
    """A right log: positions with noise, velocities, torques."""
    t = clock(seconds, dt)
    q, qd, qdd = motion(t)
    rng = np.random.default_rng(seed)
    read = q + noise * rng.standard_normal(len(t))
    return recording(t, name, q=read, qd=qd, tau=torque(q, qd, qdd))


def changed(base, **values):
    """A recording with channels put in the place of its own; None takes one away."""
    time = base["joint.q[j]"].time
    for key, x in values.items():
        own = {key: time if x is None else x}
        ((name, channel),) = recording(time, base.name, **own).channels.items()
        if x is None:
            base = base.select(*(n for n in base.names if n != name))
        else:
            base = base.with_channel(channel)
    return base


def found(robot, recordings, name):
    """What the check of this name finds."""
    return [f for f in gs.check(robot, recordings) if f.check == name]
