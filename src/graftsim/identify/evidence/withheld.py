"""What of the actuators was not free, and would change the answer: a test from one Jacobian.

Armature and damping of a servo trade with its delay, masses with its gain. A fit to which the delay
was given calls them identified however wrong it is, because the residuals stay white. So numbers
phi of the actuators that are withheld are tried to first order where the fit has ended, each with a
plausible size s. With S the curvature of the cost after initial states and free parameters,

    dtheta/dphi = -S_tt^-1 S_tp,     S_pp' = S_pp - S_pt S_tt^-1 S_tp,

freeing phi moves theta by dtheta/dphi times what is unknown of phi, of variance 1/(S_pp' + 1/s^2),
and times what the data ask for, -g_p / S_pp', if that is clear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from graftsim.errors import GraftsimError
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.parameters import default_domain
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.information import Information, positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.result import ParameterRow, Withheld
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.words import Status
from graftsim.model.catalogue import PARAMETERS, dofs_by_row
from graftsim.optim.arrowhead import reduced
from graftsim.optim.local_solver import Point
from graftsim.selectors import row_name

# So many windows say enough about directions.
WINDOWS = 24
# A number is conditional if what is withheld could move it by so many of its standard deviations
# and by this share of its size.
MOVED, SHARE = 2.0, 0.05
# What the data ask for counts from a fall of the cost of so much on, up to so many plausible sizes.
CLEAR, FAR = 2.0, 3.0
# How wrong a number of an actuator may be that nobody has measured.
DELAY, ZERO, GAIN = 0.01, np.deg2rad(0.5), 0.05
# Which numbers each kind of drive has, and whether their size is a share of the value.
CANDIDATES: dict[str, tuple[tuple[str, ...], float, bool]] = {
    "delay": (("torque", "position", "velocity", "pid", "voltage", "voltage_servo"), DELAY, False),
    "zero": (("position", "pid", "voltage_servo"), float(ZERO), False),
    "gain": (("torque",), GAIN, True),
    "kp": (("position", "pid", "voltage_servo"), GAIN, True),
    "kd": (("position", "velocity", "pid", "voltage_servo"), GAIN, True),
    "motor_constant": (("voltage", "voltage_servo"), GAIN, True),
}
# Next to one that is free these say nothing new.
SAME = {"gear": ("gain", "kp", "kd", "motor_constant"), "resistance": ("motor_constant",)}


class _Tried(NamedTuple):
    """A withheld number: its name, actuator, plausible size."""

    name: str
    actuator: int
    size: float


def withheld(
    problem: Problem, part: WindowSubset, point: Point, info: Information
) -> tuple[Withheld, ...]:
    """What freeing each withheld number of an actuator would do, the largest move first.

    Empty if nothing is withheld, or if it cannot be tried.
    """
    tried = _tried(problem)
    own = np.flatnonzero(problem.parameters.physical & np.isfinite(np.diag(info.covariance)))
    if not tried or not len(own) or not np.isfinite(info.S).all():
        return ()
    chosen = np.unique(np.linspace(0, len(part.kept) - 1, WINDOWS).astype(int))
    try:
        wider, theta = _wider(problem, tried, point.theta)
        windows = wider.train_windows(part.horizon).only(part.kept[chosen])
        program = compile_windows(wider, windows)
        names = list(wider.parameters.names)
        free = np.array([names.index(problem.parameters.names[i]) for i in own])
        more = np.array([names.index(t.name) for t in tried])
        active = np.concatenate([free, more])
        local = point.local[chosen]
        r, J_t, J_l = program.jacobian(theta, local, active)
    except GraftsimError:
        return ()
    bounds = wider.bounds_of(theta).only(active)
    n = Linearisation(r, J_t, J_l, theta[active], local, bounds).normal()
    S, g = reduced(n)
    k = len(free)
    # Of all windows, if those that were tried are like the others.
    S, g = (x * (len(part.kept) / len(chosen)) for x in (S, g))
    if not np.isfinite(S).all():
        return ()
    moves = -positive_inverse(S[:k, :k]) @ S[:k, k:]
    left = np.maximum(np.diag(S)[k:] + np.sum(S[:k, k:] * moves, 0), 0.0)
    slope = g[k:] + g[:k] @ moves
    # What a number explains of the residuals is no noise once it is free.
    cost = np.sum(r * r) / 2 * (len(part.kept) / len(chosen))
    explained = np.minimum(slope**2 / (2 * np.maximum(left, 1e-300)) / max(cost, 1e-300), 1.0)
    memory = np.where(explained > 0.5, 1.0, max(info.lack.widened, 1.0) ** 2)
    widened = memory * np.maximum(info.variance_ratio * (1 - explained), 1.0)
    std = np.sqrt(np.diag(info.covariance)[own])
    names = [problem.parameters.names[i] for i in own]
    found = [
        _judged(t, left[j] / widened[j], slope[j] / widened[j], moves[:, j], names, std)
        for j, t in enumerate(tried)
    ]
    return tuple(sorted(found, key=lambda w: -w.worst))


def _judged(
    t: _Tried,
    left: float,
    slope: float,
    moves: np.ndarray,
    names: Sequence[str],
    std: np.ndarray,
) -> Withheld:
    """left: what the data know of the number, as 1/variance; slope: of the cost by it.

    moves [p]: of the parameters of these names and deviations by it.
    """
    asked, gain = (-slope / left, slope * slope / left / 2) if left > 0 else (0.0, 0.0)
    unknown = 1 / np.sqrt(left + 1 / t.size**2)
    # Where the data ask for another value, that is how far it may be off.
    off = np.hypot(unknown, np.clip(asked, -FAR * t.size, FAR * t.size) if gain > CLEAR else 0.0)
    changed = moves * off
    return Withheld(
        t.name,
        PARAMETERS[t.name.split("[")[0]].unit.split(" | ")[0],
        t.size,
        std=float(1 / np.sqrt(left)) if left > 0 else float("inf"),
        asked=float(asked),
        gain=float(gain),
        moves=dict(zip(names, changed.tolist(), strict=True)),
        worst=float(np.max(np.abs(changed) / std)),
    )


def conditional(
    rows: tuple[ParameterRow, ...], found: tuple[Withheld, ...]
) -> tuple[ParameterRow, ...]:
    """Rows with what their deviation would be if the withheld numbers were unknown as well.

    A number that one of them moves by more than its own deviation is no longer "identified".
    """
    out = []
    for row in rows:
        moves = {w.name: w.moves[row.name] for w in found if row.name in w.moves}
        if not moves or not np.isfinite(row.std):
            out.append(row)
            continue
        most = max(moves, key=lambda name: abs(moves[name]))
        total = float(np.hypot(row.std, abs(moves[most])))
        matters = abs(moves[most]) > max(MOVED * row.std, SHARE * abs(row.value))
        status = row.status
        if matters and status == Status.IDENTIFIED:
            status = Status.CONDITIONAL
        if matters:
            row = replace(row, status=status, std_if_freed=total, trades_with=most)
        out.append(row)
    return tuple(out)


def _tried(problem: Problem) -> list[_Tried]:
    """Numbers of actuators that are not free and not channels of the log."""
    model = problem.simulator.model
    a, names = model.actuator, set(problem.parameters.names)
    free = {n.split("[")[0].removeprefix("actuator.") for n in names if n.startswith("actuator.")}
    same = {x for k in free for x in SAME.get(k, ())}
    shared = {n for n in names if "*" in n or "," in n}
    driven = _driven(problem)
    out = []
    for quantity, (kinds, size, relative) in CANDIDATES.items():
        if quantity in same or any(n.startswith(f"actuator.{quantity}[") for n in shared):
            continue
        for i, label in enumerate(a.names):
            name = row_name(f"actuator.{quantity}", label)
            value = float(getattr(a, quantity)[i])
            if a.kinds[i] not in kinds or quantity in a.inputs[i] or name in names:
                continue
            if i in driven and (value or not relative):
                out.append(_Tried(name, i, abs(value) * size if relative else size))
    return out


def _driven(problem: Problem) -> set[int]:
    """Actuators over whose joints something is free, or that have commands at all."""
    model = problem.simulator.model
    commanded = {c.split("[", 1)[1][:-1] for r in problem.given for c in r.names
                 if c.startswith("control[")}  # fmt: skip
    dofs = dofs_by_row(model, "actuator")
    torques = {c.split("[", 1)[1][:-1] for r in problem.given for c in r.names
               if c.startswith("joint.tau[")} if not commanded else set()  # fmt: skip
    return {
        i for i, name in enumerate(model.actuator.names)
        if name in commanded or any(model.tree.dofs[d] in torques for d in dofs[i])
    }  # fmt: skip


def _wider(problem: Problem, tried: list[_Tried], theta: np.ndarray) -> tuple[Problem, np.ndarray]:
    """The problem with the withheld numbers free too, and its vector where the fit has ended."""
    more: dict[str, Any] = {}
    for t in tried:
        domain = default_domain(t.name)
        if t.name.startswith("actuator.delay"):
            longest = problem.simulator.model.actuator.longest_delay[t.actuator]
            domain = Domain(0.0, max(longest, 2 * t.size))
        more[t.name] = domain
    assert isinstance(problem.free, Mapping)
    wider = replace(problem, free={**problem.free, **more})
    p = wider.parameters
    place = {name: i for i, name in enumerate(problem.parameters.names)}
    start = p.start.copy()
    for i, name in enumerate(p.names):
        if name in place:
            start[i] = theta[place[name]]
    return wider, start
