"""What the friction of one object's tuned model lacks, asked as a user would: `gs.discover`.

Candidates are the friction against sliding of the support points, by their speed and their place
on the board, one law for all points, and the force on the object by its velocity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pushes import DT, Pushes, Shape
from pushing import SINK, Body, bodies, with_body, with_friction
from pushing_fit import SURFACES, Candidate
from scipy.signal import savgol_filter

import graftsim as gs

POSES = ("object.x", "object.y", "object.yaw")
CANDIDATES: dict[str, list[Any]] = {
    "contact.drag[ground/*]": [
        "contact.slip[*]",
        "contact.position[*].x",
        "contact.position[*].y",
        "contact.force_n[*]",
    ],
}
# Noise of the cameras (m, rad), a window (s).
NOISE, HORIZON = (3e-4, 3e-4, 3e-3), 0.2


def recording(pushes: Pushes, k: int) -> gs.Recording:
    """One push: commands are where the tip is at the end of each step."""
    last = pushes.last[k]
    t = DT * np.arange(last)
    columns = {f"control[tip_{c}]": pushes.tip[k, 1 : last + 1, i] for i, c in enumerate("xy")}
    columns |= {f"joint.q[{d}]": pushes.pose[k, :last, i] for i, d in enumerate(POSES)}
    units = dict(zip(POSES, ("m", "m", "rad"), strict=True))
    channels = {
        name: gs.Channel(name, t, x, units.get(name[8:-1], "m")) for name, x in columns.items()
    }
    return gs.Recording(channels, name=str(pushes.names[k]))


def discover(
    tuned: Candidate, shapes: dict[str, Shape], train: Pushes, test: Pushes, shape: str
) -> gs.Discovery:
    """What one object on the first board lacks."""
    own = [
        p[np.flatnonzero((p.shape == shape) & (p.surface == SURFACES[0]))] for p in (train, test)
    ]
    body = Body(*(x[0] for x in bodies(shapes, own[0])))
    simulator = with_friction(with_body(tuned.simulator, body), tuned.friction[0])
    by_name = {str(p.names[k]): _states(p, k) for p in own for k in range(len(p))}

    def initial(recording: gs.Recording, t: float) -> tuple[np.ndarray, np.ndarray]:
        q, qd = by_name[recording.name]
        return q[round(t / DT)], qd[round(t / DT)]

    return gs.discover(
        simulator,
        [recording(own[0], k) for k in range(len(own[0]))],
        {"pair.friction[tip/outline]": gs.Bounds(0.02, 1.0)},
        candidates=CANDIDATES,
        shared=True,
        holdout=[recording(own[1], k) for k in range(len(own[1]))],
        horizon=HORIZON,
        noise={f"joint.q[{d}]": s for d, s in zip(POSES, NOISE, strict=True)},
        initial=initial,
        fit_initial=False,
        progress=print,
    )


def _states(pushes: Pushes, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions [t, 6] and velocities of a push, as measured."""
    pose, tip = pushes.pose[k], pushes.tip[k]
    q = np.concatenate([np.full((len(pose), 1), -SINK), pose, tip], 1)
    speed = savgol_filter(pose, 11, 2, deriv=1, delta=DT, axis=0)
    tip_speed = np.diff(tip, axis=0, prepend=2 * tip[:1] - tip[1:2]) / DT
    return q, np.concatenate([np.zeros((len(pose), 1)), speed, tip_speed], 1)
