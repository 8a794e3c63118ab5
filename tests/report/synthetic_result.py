"""A result as a fit would return it, made without one: a double pendulum, noise, and numbers."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from graftsim import Builder, Simulator
from graftsim.identify.results.result import (
    ErrorRow,
    Iteration,
    ParameterRow,
    Replay,
    Result,
    Trace,
    WeakDirection,
)

DT = 0.01
STEPS = 200


def pendulum(damping: float, mass: float):
    """Two rods that hang along -z, the second with a name that HTML must escape."""
    builder = Builder("double <pendulum> & friends")
    rod: dict = {"axis": (1, 0, 0), "com": (0, 0, -0.25), "damping": damping}
    rod["inertia"] = (0.02, 0.02, 1e-4)
    builder.link("upper", mass=1.0, joint_name="shoulder", **rod)
    builder.link(
        "lower", "upper", origin=(0, 0, -0.5), mass=mass, joint_name='elbow <"left"> & co', **rod
    )
    return builder.build()


@cache
def simulators() -> tuple[Simulator, Simulator, Simulator]:
    """The start, the fitted one and the truth."""
    return tuple(
        Simulator(pendulum(*numbers), DT) for numbers in ((0.01, 0.7), (0.0503, 1.03), (0.05, 1.0))
    )


@cache
def motions(windows: int = 6, recordings: int = 2) -> list[tuple[str, int, bool, tuple]]:
    """(recording, window, held out, (truth, before, after)) with positions [n, 2]."""
    rng = np.random.default_rng(4)
    start, fitted, truth = simulators()
    found = []
    for k in range(recordings):
        for w in range(windows):
            q0, qd0 = rng.uniform(-1.4, 1.4, 2), rng.uniform(-2, 2, 2)
            paths = tuple(
                np.asarray(s.rollout(s.initial_state(q0, qd0), steps=STEPS).q)
                for s in (truth, start, fitted)
            )
            found.append((f"swing_{k + 1}.csv", w, w % 3 == 2, paths))
    return found


def result(**changes) -> Result:
    """A plausible result: fields can be replaced by name."""
    rng = np.random.default_rng(5)
    start, fitted, _ = simulators()
    time = DT * np.arange(STEPS + 1)
    channels = ("joint.q[shoulder]", 'joint.q[elbow <"left"> & co]')
    traces, replays, squares = [], [], {}
    for name, window, heldout, (truth, before, after) in motions():
        noisy = truth + rng.normal(size=truth.shape) * 0.015
        when = time + window * (time[-1] + DT)
        for i, channel in enumerate(channels):
            columns = (x[:, i : i + 1] for x in (noisy, before, after))
            traces.append(Trace(name, channel, "rad", heldout, window, when, *columns))
            half = len(time) // 2 if heldout else 0
            for what, x in {"before": before, "after": after}.items():
                key = (channel, heldout, what)
                squares.setdefault(key, []).append((x - noisy)[half:, i] ** 2)
        if heldout:
            replays.append(Replay(f"{name}, window {window + 1}", time, noisy, after))
    rms = {k: float(np.sqrt(np.mean(np.concatenate(v)))) for k, v in squares.items()}
    errors = tuple(
        ErrorRow(c, "rad", *(rms[c, h, w] for h in (False, True) for w in ("before", "after")))
        for c in channels
    )
    rows = (
        ("joint.damping[shoulder]", "N m s/rad", 0.01, 0.05031, 0.0011, "identified"),
        ('joint.damping[elbow <"left"> & co]', "N m s/rad", 0.01, 0.0502, 0.0008, "identified"),
        ("link.mass[lower]", "kg", 0.7, 1.0312, 0.021, "identified"),
        ("link.com[lower].z", "m", -0.25, -0.2481, 0.0047, "identified"),
        ("link.inertia[lower].xx", "kg m^2", 0.02, 0.0213, 0.0052, "weakly determined"),
        ("link.inertia[lower].zz", "kg m^2", 1e-4, 1.0e-4, np.inf, "not determined by the data"),
        ("joint.friction[shoulder]", "N m", 0.02, 2.1e-6, 1.4e-5, "at its lower bound 0"),
    )
    parameters = tuple(
        ParameterRow(
            n, u, a, x, s, *((x - 1.96 * s, x + 1.96 * s) if s < 1e9 else (np.nan, np.nan)), t
        )
        for n, u, a, x, s, t in rows
    )
    p = len(rows)
    shape = rng.normal(size=(p, p)) * 0.5 + np.eye(p)
    shape[3] = -0.9 * shape[2] + 0.1 * shape[3]
    covariance = shape @ shape.T
    std = np.array([r.std if np.isfinite(r.std) else 1.0 for r in parameters])
    covariance *= np.outer(std, std) / np.sqrt(np.outer(*[np.diag(covariance)] * 2))
    covariance[5] = covariance[:, 5] = np.nan
    fields = Result(
        outcome="converged",
        parameters=parameters,
        errors=errors,
        traces=tuple(traces),
        replays=tuple(replays),
        history=history(),
        covariance=covariance,
        weak=(
            WeakDirection(
                "The mass of the lower rod can grow while its centre of mass moves up: the data "
                "fix their product, m c_z, and hardly the two alone.",
                0.31,
                {
                    "link.mass[lower]": 0.71,
                    "link.com[lower].z": -0.69,
                    "link.inertia[lower].xx": 0.1,
                },
            ),
        ),
        warnings=(
            "joint.friction[shoulder] ended on its lower bound: too small to see.",
            "link.inertia[lower].zz does not change any measured channel <at all> & was kept.",
        ),
        start=start,
        simulator=fitted,
        seconds=41.7,
        settings={
            "local": "levenberg_marquardt",
            "horizons": [0.1, 0.5, 2.0],
            "tolerance": 1e-8,
            "search": {"starts": 1, "seed": 0},
            "held out": "every third window",
        },
        command="graftsim fit pendulum.urdf swing_*.csv --free 'joint.damping[*]' --out out/",
    )
    return dataclasses.replace(fields, **changes)


def history() -> tuple[Iteration, ...]:
    """Three stages of growing horizon, each from a larger cost down to its floor."""
    found = []
    for stage, (horizon, first, floor) in enumerate(
        ((0.1, 4e3, 210.0), (0.5, 9e2, 230.0), (2.0, 5e2, 244.0))
    ):
        for i in range(9 - stage):
            cost = floor + (first - floor) * 10.0 ** (-0.8 * i)
            found.append(Iteration(stage, horizon, i, cost, cost * 10.0**-i, 10.0 ** (-3 - i), 0.9))
    return tuple(found)
