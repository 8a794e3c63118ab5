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

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation import control_owners
from graftsim.errors import GraftsimError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import commands_before
from graftsim.identify.problem.withheld_numbers import WithheldNumber
from graftsim.identify.results.information import Information, positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.result import ParameterRow, Withheld
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows
from graftsim.identify.words import Status
from graftsim.model.catalogue import PARAMETERS
from graftsim.optim.arrowhead import reduced
from graftsim.optim.local_solver import Point

# Differences by a delay: this share of a step.
SHORT = 0.01
# So many windows say enough about directions.
WINDOWS = 24
# A number is conditional if what is withheld could move it by so many of its standard deviations
# and by this share of its size.
MOVED, SHARE = 2.0, 0.05
# What the data ask for counts from a fall of the cost of so much on, up to so many plausible sizes.
CLEAR, FAR = 2.0, 3.0


def withheld(
    problem: Problem, part: WindowSubset, point: Point, info: Information
) -> tuple[Withheld, ...]:
    """What freeing each withheld number of an actuator would do, the largest move first.

    Empty if nothing is withheld, or if it cannot be tried.
    """
    tried = [t for t in problem.withheld if t.is_delay or t.name in problem.extended.names]
    own = np.flatnonzero(problem.parameters.physical & np.isfinite(np.diag(info.covariance)))
    if not tried or not len(own) or not np.isfinite(info.S).all():
        return ()
    chosen = np.unique(np.linspace(0, len(part.kept) - 1, WINDOWS).astype(int))
    bounds = problem.bounds_of(point.theta).only(own).beside(len(tried))
    theta, local = np.concatenate([point.theta[own], np.zeros(len(tried))]), point.local[chosen]
    try:
        windows = problem.train_windows(part.horizon).only(part.kept[chosen])
        before = commands_before(problem.simulator.model, problem.train, windows, problem.dt)
        program = compile_windows(problem, windows)
        r, J_t, J_l = _linearised(program, before, point.theta, local, own, tried)
    except GraftsimError:
        return ()
    n = Linearisation(r, J_t, J_l, theta, local, bounds).normal()
    S, g = reduced(n)
    k = len(own)
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


def _linearised(
    program: ResidualProgram,
    before: np.ndarray,
    theta: np.ndarray,
    local: np.ndarray,
    own: np.ndarray,
    tried: Sequence[WithheldNumber],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Residuals [w, m], Jacobians by parameters `own` and what is tried, and by local [w, m, s].

    before: [w, nu] commands of the step before each window.
    """
    inside = [t.name for t in tried if t.name in program.reader.parameters.names]
    r, J, J_l = program.jacobian(theta, local, own, withheld=inside)
    J_t = np.zeros((*J.shape[:2], len(own) + len(tried)))
    J_t[..., : len(own)] = J[..., : len(own)]
    for j, t in enumerate(tried):
        if t.name in inside:
            column = J[..., len(own) + inside.index(t.name)]
        else:
            column = by_delay(program, before, theta, local, t.actuator)
        J_t[..., len(own) + j] = column
    return r, J_t, J_l


def by_delay(
    program: ResidualProgram,
    before: np.ndarray,
    theta: np.ndarray,
    local: np.ndarray,
    actuator: int,
) -> np.ndarray:
    """Derivative [w, m] by a delay of one actuator's commands, where there is none.

    Delayed by d, a step has the command u - (d/dt) (u - u_before) in its mean: differences of that.
    before: [w, nu] commands of the step before each window.
    """
    data, simulator = program.data, program.reader.setup.simulator
    u = np.asarray(data.controls)
    own = np.flatnonzero(control_owners(simulator.model.actuator) == actuator)
    change = np.zeros_like(u)
    change[..., own] = np.diff(u, axis=1, prepend=before[:, None])[..., own]
    little = SHORT * float(simulator.dt)

    def residual(d: float) -> np.ndarray:
        moved = jnp.asarray(u - d / float(simulator.dt) * change, data.controls.dtype)
        other = program.on(data._replace(controls=moved))
        assert other is not None
        return other.residual(theta, local)

    return (residual(little) - residual(-little)) / (2 * little)


def _judged(
    t: WithheldNumber,
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
