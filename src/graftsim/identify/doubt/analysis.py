"""What a fit was not asked for, and would change its answer: one Jacobian of all of it at the end.

Residuals of a wrong model are often white, because the free parameters theta absorb what is wrong.
So numbers phi that were not free are tried to first order where the fit has ended, each with a
plausible size s (`standard`): a Gaussian prior about what the file says. With S the curvature of
the cost after initial states and k the factor by which residuals are larger than noise,

    M = dtheta/dphi = -S_tt^-1 S_tp,      S' = S_pp - S_pt S_tt^-1 S_tp,
    cov(phi) = (S'/k + diag(1/s^2))^-1,   phi ~ -cov(phi) (g_p + M^T g_t) / k,

a parameter's variance grows by that of M phi, and its value may be off by M times what the data ask
of phi, beyond what noise makes them ask. Where a shift is large, the worst are found by a refit
(`refit`); a torque with memory at each joint that is driven has its own way (`torque`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graftsim.errors import GraftsimError
from graftsim.identify.doubt.columns import Columns
from graftsim.identify.doubt.motion import motion_of
from graftsim.identify.doubt.refit import refit
from graftsim.identify.doubt.standard import Nuisance, Number, candidates, nuisances, torque_numbers
from graftsim.identify.doubt.step import change_of_residuals, shift_of_parameters, steps_matter
from graftsim.identify.doubt.torque import Torques, torques
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.information import Information, positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows
from graftsim.optim.arrowhead import reduced
from graftsim.optim.local_solver import Point

# So many windows say enough about directions.
WINDOWS = 32
# Numbers that move a parameter by more than this share of it are beyond first order; so many of the
# worst are refitted.
BEYOND, REFITTED = 0.1, 5
# How what a number does was found.
FIRST, REFIT, UNSETTLED = "first order", "refit", "first order, and beyond it"


@dataclass(frozen=True)
class Doubt:
    """Nuisances phi [k], and what they do to parameters [p] of these names.

    moves [p, k]: dtheta/dphi. covariance [k, k], asked [k]: of phi, given data and sizes; noise [k,
    k]: the covariance of `asked` in a right model. alone_std, alone_asked [k]: how well the data
    would know each if it alone were free, and where they would like it; gain [k]: by which half the
    weighted sum of squares would fall. step [p]: how far very short steps would move a parameter.
    order [k]: how moves were found. torques: those with memory, beside.
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
    order: tuple[str, ...]
    torques: Torques

    def variance(self) -> np.ndarray:
        """What the nuisances add to the variance of each parameter [p]."""
        spread = np.sum((self.moves @ self.covariance) * self.moves, 1)
        noise = np.sum((self.moves @ self.noise) * self.moves, 1)
        biased = np.maximum((self.moves @ self.asked) ** 2 - noise, 0.0)
        return spread + biased + self.torques.variance.sum(1)

    def relief(self) -> np.ndarray:
        """By how much the variance of each parameter would fall if one number were known [p, k].

        That of the others given it is cov - cov_j cov_j^T / cov_jj.
        """
        var = np.maximum(np.diag(self.covariance), 1e-300)
        return (self.moves @ self.covariance) ** 2 / var

    def off(self) -> np.ndarray:
        """How far each nuisance may be off [k], given the data."""
        asked = np.maximum(self.asked**2 - np.diag(self.noise), 0.0)
        return np.sqrt(np.diag(self.covariance) + asked)


def doubt(
    problem: Problem, part: WindowSubset, point: Point, whole: Linearisation, info: Information
) -> Doubt | None:
    """The nuisances of a fit; None if there are none, or they cannot be tried.

    whole: the fit to first order, by all parameters.
    """
    own = np.flatnonzero(problem.parameters.physical & np.isfinite(np.diag(info.covariance)))
    numbers = candidates(problem)
    if not numbers or not len(own) or not np.isfinite(info.S).all():
        return None
    chosen = np.unique(np.linspace(0, len(part.kept) - 1, WINDOWS).astype(int))
    # Of all windows, if those that were tried are like the others.
    share = len(part.kept) / len(chosen)
    windows, at = part.windows.only(chosen), whole.of(chosen).by(own)
    theta, local, memory = point.theta, at.local, torque_numbers(problem)
    try:
        program = part.compiled if share == 1 else compile_windows(problem, windows)
        motion = None
        if any(n.needs_motion for n in (*numbers, *memory.values())):
            motion = motion_of(problem, program, theta, local)
        listed = nuisances(problem, numbers, motion)
        tried = [k for k, n in enumerate(listed) if 0 < n.size < np.inf]
        if not tried:
            return None
        numbers, listed = [numbers[k] for k in tried], [listed[k] for k in tried]
        columns = Columns(problem, program, windows, numbers, [n.size for n in listed])
        K = columns.slopes(theta, local)
    except GraftsimError:
        return None
    use = np.isfinite(K).all((0, 1)) & (K != 0).any((0, 1))
    if not use.any():
        return None
    kept = tuple(n for n, u in zip(listed, use, strict=True) if u)
    names = tuple(problem.parameters.names[i] for i in own)
    found = _solved(_beside(at, K if use.all() else K[..., use]), kept, names, info, share)
    if found is None:
        return None
    found = _beyond(found, at, columns, theta, own)
    found = replace(found, step=_step(problem, program, at, theta, local))
    if not memory:
        return found
    asked = dict(zip(memory, nuisances(problem, list(memory.values()), motion), strict=True))
    touches = _touches(numbers, K, memory)
    return replace(found, torques=torques(program, at, theta, asked, touches, share))


def _beside(at: Linearisation, K: np.ndarray) -> Linearisation:
    """With columns K [w, m, k] of what is off by nothing."""
    k = K.shape[-1]
    theta = np.concatenate([at.theta, np.zeros(k)])
    J_t = np.concatenate([at.J_t, K], -1)
    return at._replace(J_t=J_t, theta=theta, bounds=at.bounds.beside(k))


def _touches(numbers: list[Number], K: np.ndarray, dofs: dict[int, Number]) -> np.ndarray:
    """Which residuals [m, nv] depend on numbers that act on a degree of freedom."""
    touches = np.zeros((K.shape[1], max(dofs) + 1), bool)
    for d, torque in dofs.items():
        own = [k for k, n in enumerate(numbers) if n.label == torque.label and n.acts_on_joint]
        touches[:, d] = (K[..., own] != 0).any((0, 2))
    return touches


def _step(
    problem: Problem,
    program: ResidualProgram,
    at: Linearisation,
    theta: np.ndarray,
    local: np.ndarray,
) -> np.ndarray:
    """How far very short steps would move the parameters [p]; zero where that cannot be said."""
    of, still = problem.setup_at(theta).simulator, np.zeros(len(at.theta))
    if of.contact is not None or not steps_matter(of):
        return still
    changed = change_of_residuals(program, of, theta, local)
    step = shift_of_parameters(at, *changed, of.integrator.order)
    return still if step is None else step


def _beyond(
    found: Doubt, at: Linearisation, columns: Columns, theta: np.ndarray, own: np.ndarray
) -> Doubt:
    """With the worst of those refitted that move a parameter by more than first order is good for.

    own: places in theta of the parameters that `at` has.
    """
    off = found.off()
    shifts = np.abs(found.moves * off)
    share = (shifts / np.maximum(np.abs(at.theta), 1e-300)[:, None]).max(0)
    std = np.sqrt(np.maximum(np.diag(positive_inverse(reduced(at.normal())[0])), 1e-300))
    worst = [j for j in np.argsort(-(shifts / std[:, None]).max(0)) if share[j] > BEYOND]
    moves, order = found.moves.copy(), list(found.order)
    for j in worst[:REFITTED]:
        name = found.nuisances[j].name
        late = name.startswith("actuator.delay")
        amount = float(off[j]) * (1.0 if late or found.asked[j] >= 0 else -1.0)

        def residual(x: np.ndarray, local: np.ndarray, amount=amount, name=name) -> np.ndarray:
            full = theta.copy()
            full[own] = x
            return columns.residual(name, amount, full, local)

        shift = refit(at, residual, moves[:, j] * amount)
        order[j] = UNSETTLED if shift is None else REFIT
        if shift is not None:
            moves[:, j] = shift / amount
    return replace(found, moves=moves, order=tuple(order))


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
        (FIRST,) * len(kept), Torques((), np.zeros((p, 0))),
    )  # fmt: skip


def _widened(info: Information, explained: np.ndarray) -> np.ndarray:
    """By how much residuals are more than noise, once a share of their squares is explained."""
    explained = np.minimum(explained, 1.0)
    memory = np.where(explained > 0.5, 1.0, max(info.lack.widened, 1.0) ** 2)
    return memory * np.maximum(info.variance_ratio * (1 - explained), 1.0)
