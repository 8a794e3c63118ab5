"""What a fit was not asked for, and would change its answer: one Jacobian of all of it at the end.

Residuals of a wrong model are often white, because the free parameters theta absorb what is wrong.
So numbers phi that were not free are tried to first order where the fit has ended, each with a
plausible size s (`standard`): a Gaussian prior about what the file says. With S the curvature of
the cost after initial states and k the factor by which residuals are larger than noise,

    M = dtheta/dphi = -S_tt^-1 S_tp,      S' = S_pp - S_pt S_tt^-1 S_tp,
    cov(phi) = (S'/k + diag(1/s^2))^-1,   phi ~ -cov(phi) (g_p + M^T g_t) / k,

a parameter's variance grows by that of M phi, and its value may be off by M times what the data ask
of phi, beyond what noise makes them ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim import kernels
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.errors import GraftsimError
from graftsim.identify.doubt.effects import EFFECTS, Effects
from graftsim.identify.doubt.moved_commands import by_delay
from graftsim.identify.doubt.standard import Motion, Nuisance, Number, candidates, nuisances
from graftsim.identify.doubt.step import change_of_residuals, shift_of_parameters, steps_matter
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import Windows, commands_before
from graftsim.identify.results.information import Information, positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows
from graftsim.identify.runs.window_function import Reader
from graftsim.optim.arrowhead import reduced
from graftsim.optim.local_solver import Point

# So many windows say enough about directions.
WINDOWS = 24


@dataclass(frozen=True)
class Doubt:
    """Nuisances phi [k], and what they do to parameters [p] of these names.

    moves [p, k]: dtheta/dphi. covariance [k, k], asked [k]: of phi, given data and sizes; noise [k,
    k]: the covariance of `asked` in a right model. alone_std, alone_asked [k]: how well the data
    would know each if it alone were free, and where they would like it; gain [k]: by which half the
    weighted sum of squares would fall. step [p]: how far very short steps would move a parameter.
    """

    parameters: tuple[str, ...]
    nuisances: tuple[Nuisance, ...]
    moves: np.ndarray
    covariance: np.ndarray
    asked: np.ndarray
    noise: np.ndarray
    alone_std: np.ndarray
    alone_asked: np.ndarray
    gain: np.ndarray
    step: np.ndarray

    def variance(self) -> np.ndarray:
        """What the nuisances add to the variance of each parameter [p]."""
        spread = np.sum((self.moves @ self.covariance) * self.moves, 1)
        noise = np.sum((self.moves @ self.noise) * self.moves, 1)
        return spread + np.maximum((self.moves @ self.asked) ** 2 - noise, 0.0)

    def off(self) -> np.ndarray:
        """How far each nuisance may be off [k], given the data."""
        asked = np.maximum(self.asked**2 - np.diag(self.noise), 0.0)
        return np.sqrt(np.diag(self.covariance) + asked)


def doubt(problem: Problem, part: WindowSubset, point: Point, info: Information) -> Doubt | None:
    """The nuisances of a fit; None if there are none, or they cannot be tried."""
    own = np.flatnonzero(problem.parameters.physical & np.isfinite(np.diag(info.covariance)))
    numbers = candidates(problem)
    if not numbers or not len(own) or not np.isfinite(info.S).all():
        return None
    chosen = np.unique(np.linspace(0, len(part.kept) - 1, WINDOWS).astype(int))
    windows, local = part.windows.only(chosen), point.local[chosen]
    try:
        program = compile_windows(problem, windows)
        plain = all(n.quantity.startswith(("link.", "actuator.")) for n in numbers)
        motion = None if plain else _motion(problem, program, point.theta, local)
        listed = nuisances(problem, numbers, motion)
        r, J, J_l = program.jacobian(point.theta, local, own)
        K = _slopes(problem, program, windows, point.theta, local, numbers)
    except GraftsimError:
        return None
    size = np.array([n.size for n in listed])
    use = np.isfinite(K).all((0, 1)) & (K != 0).any((0, 1)) & (size > 0) & np.isfinite(size)
    if not use.any():
        return None
    kept = tuple(n for n, u in zip(listed, use, strict=True) if u)
    bounds = problem.bounds_of(point.theta).only(own).beside(len(kept))
    theta = np.concatenate([point.theta[own], np.zeros(len(kept))])
    at = Linearisation(r, np.concatenate([J, K[..., use]], -1), J_l, theta, local, bounds)
    names = tuple(problem.parameters.names[i] for i in own)
    # Of all windows, if those that were tried are like the others.
    found = _solved(at, kept, names, info, len(part.kept) / len(chosen))
    if found is None:
        return None
    of = problem.setup_at(point.theta).simulator
    if of.contact is None and steps_matter(of):
        changed = change_of_residuals(program, of, point.theta, local)
        step = shift_of_parameters(at.by(np.arange(len(own))), *changed, of.integrator.order)
        found = found if step is None else replace(found, step=step)
    return found


def _solved(
    at: Linearisation,
    kept: tuple[Nuisance, ...],
    names: tuple[str, ...],
    info: Information,
    share: float,
) -> Doubt | None:
    """The linear algebra; `share`: of windows there are to windows that were tried."""
    S, g = (share * x for x in reduced(at.normal()))
    if not np.isfinite(S).all():
        return None
    p, size = len(names), np.array([n.size for n in kept])
    moves = -positive_inverse(S[:p, :p]) @ S[:p, p:]
    left = S[p:, p:] + S[p:, :p] @ moves
    slope = g[p:] + g[:p] @ moves
    cost = share * float(np.sum(at.r * at.r)) / 2
    # In units of the sizes.
    left, slope = (left + left.T) / 2 * np.outer(size, size), slope * size
    single = np.maximum(np.diag(left), 0.0)
    gain = np.where(single > 0, slope**2 / (2 * np.maximum(single, 1e-300)), 0.0)
    wide = _widened(info, gain / max(cost, 1e-300))
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(single > 0, size * np.sqrt(wide / single), np.inf)
        asked_alone = np.where(single > 0, -slope / single * size, 0.0)
    # Together they may explain what none explains alone.
    together = 0.5 * slope @ positive_inverse(left + np.eye(len(size)) * wide.min()) @ slope
    k = float(_widened(info, np.array([together / max(cost, 1e-300)]))[0])
    cov = positive_inverse(left / k + np.eye(len(size)))
    scale = np.outer(size, size)
    return Doubt(
        names, kept, moves, cov * scale, -cov @ slope / k * size,
        cov @ (left / k) @ cov * scale, alone, asked_alone, gain / wide, np.zeros(p),
    )  # fmt: skip


def _widened(info: Information, explained: np.ndarray) -> np.ndarray:
    """By how much residuals are more than noise, once a share of their squares is explained."""
    explained = np.minimum(explained, 1.0)
    memory = np.where(explained > 0.5, 1.0, max(info.lack.widened, 1.0) ** 2)
    return memory * np.maximum(info.variance_ratio * (1 - explained), 1.0)


def _slopes(
    problem: Problem,
    program: ResidualProgram,
    windows: Windows,
    theta: np.ndarray,
    local: np.ndarray,
    numbers: Sequence[Number],
) -> np.ndarray:
    """Derivatives [w, m, k] of the residuals by numbers that are not free."""
    names = [n.name for n in numbers]
    actuators = {n.name: n.actuator for n in problem.withheld if n.is_delay}
    inside = set(program.reader.names)
    delays = [n for n in names if n in actuators and n not in inside]
    rest = [n for n in names if n not in delays]
    wider = program
    if not inside.issuperset(rest):
        wider = ResidualProgram(problem, program.data, own=_wider(problem, rest))
    before = commands_before(problem.simulator.model, problem.train, windows, problem.dt)
    columns = dict(zip(rest, np.moveaxis(wider.slopes(theta, local, rest), -1, 0), strict=True))
    columns |= {n: by_delay(program, before, theta, local, actuators[n]) for n in delays}
    return np.stack([columns[n] for n in names], -1)


def _wider(problem: Problem, names: Sequence[str]) -> Reader:
    """A reader that has these numbers and effects among its parameters."""
    effects = [n for n in names if n.split("[")[0] in EFFECTS]
    offsets = [n for n in names if n not in effects]
    dofs = problem.simulator.model.tree.dofs
    beside = problem.parameters_beside(offsets)
    return Reader(problem, problem.nlocal, beside, Effects(dofs, effects))


def _motion(
    problem: Problem, program: ResidualProgram, theta: np.ndarray, local: np.ndarray
) -> Motion:
    """How the robot moves in the windows, and the torques that move it."""
    tree, dt = problem.simulator.model.tree, problem.dt
    q = program.readings(theta, local)[1]
    plain = [i for i, kind in enumerate(tree.joint_types) if kind.one_by_one]
    d = np.zeros((*q.shape[:2], tree.nv))
    for i in plain:
        d[..., tree.v_index[i]] = q[..., tree.q_index[i]]
    rate = np.gradient(d, dt, axis=1)
    acceleration = np.gradient(rate, dt, axis=1)
    few = slice(None, None, max(q.shape[1] // 25, 1))
    flat = [x[:, few].reshape(-1, x.shape[-1]) for x in (q, d, rate, acceleration)]
    flat = [x[np.isfinite(x).all(1)] for x in flat]
    dtype = problem.simulator.dt.dtype
    arrays = [jnp.asarray(x, dtype) for x in (flat[0], flat[2], flat[3])]
    setup, apply = problem.setup, problem.parameters.apply

    def torque(theta: Any, q: Any, qd: Any, qdd: Any) -> Any:
        return inverse_dynamics(apply(setup, theta).simulator.model, q, qd, qdd)

    # Of theta too, so that one kernel serves all fits of a robot.
    at = jnp.asarray(theta, dtype)
    kernel = kernels.compile(torque, at, *(x[0] for x in arrays))
    moving = np.asarray(jax.vmap(kernel, (None, 0, 0, 0))(at, *arrays), float)
    return Motion(flat[1], flat[2], flat[3], np.sqrt(np.mean(moving**2, 0)))
