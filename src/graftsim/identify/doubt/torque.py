"""An unknown torque with memory at each joint that is driven: what it would do to a fit.

A process of a size s and a correlation time T stands for all that is on no list: bearings, cables,
a gear that is not quite round. It is held over blocks of each window, and J_b, the residuals'
derivatives by what is held, come from commands that are changed in one block. With P as in
`information`, G = P^T J_b and C = s^2 exp(-|t - u| / T) between blocks, the parameters' variance
grows by S^-1 (sum_w G C G^T) S^-1. What residuals show of it limits s: of independent Gaussians,
sum_w |L^T J_b^T (1 - H) r|^2, L L^T = C, is as large as noise and torque together make it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.compilation import BRIEF
from graftsim.dynamics.actuation.drive import by_drive, drive_signal
from graftsim.identify.doubt.standard import Nuisance
from graftsim.identify.results.information import positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.shared_tangents import colours
from graftsim.model.model import Model
from graftsim.optim.arrowhead import inverse, reduced

# Correlation time (s), and blocks of a window.
MEMORY, BLOCKS = 0.1, 5
# A difference by a torque: this share of its size.
SMALL = 0.1


class Torques(NamedTuple):
    """Torques that residuals allow: nuisances [k], what each adds to variances [p, k]."""

    nuisances: tuple[Nuisance, ...]
    variance: Float[np.ndarray, "p k"]


def torques(
    program: ResidualProgram,
    at: Linearisation,
    theta: np.ndarray,
    asked: Mapping[int, Nuisance],
    touches: Bool[np.ndarray, "m nv"],
    share: float,
) -> Torques:
    """Those `asked` for by degree of freedom, where commands move it.

    theta: all parameters, `at` has those that are free. touches: which residuals a torque has an
    effect on. share: of windows there are to those at hand.
    """
    levers = commands_per_torque(program.reader.setup.simulator.model)
    dofs = [d for d in asked if d in levers and asked[d].size > 0 and touches[:, d].any()]
    if not dofs:
        return Torques((), np.zeros((len(at.theta), 0)))
    # Joints whose torques touch different residuals share a window; others have their own.
    colour = colours(touches[:, dofs])
    turn = np.arange(len(at.r)) % (colour.max() + 1)
    push = {d: (levers[d][0], SMALL * asked[d].size * levers[d][1]) for d in dofs}
    groups = [[d for d, c in zip(dofs, colour, strict=True) if c == k] for k in turn]
    J, time = _by_blocks(program, at, theta, [[push[d] for d in own] for own in groups])
    L = np.linalg.cholesky(np.exp(-np.abs(time[:, None] - time) / MEMORY))
    look = _Look.of(at, share)
    found, parts = [], []
    for d, c in zip(dofs, colour, strict=True):
        own = np.flatnonzero(turn == c)
        A = np.where(touches[:, d, None], J[own], 0.0) @ L
        variance, allowed = look.judged(own, A)
        n = asked[d]
        parts.append(variance * allowed)
        found.append(replace(n, size=n.size * float(np.sqrt(allowed))))
    return Torques(tuple(found), np.stack(parts, 1))


def commands_per_torque(model: Model) -> dict[int, tuple[int, float]]:
    """By degree of freedom: the command that moves it, and how much of it makes 1 N m (N)."""
    a = model.actuator
    if not a.names:
        return {}

    @partial(jax.jit, compiler_options=BRIEF)
    def commands(force: Float[Array, " n"]) -> Float[Array, " n"]:
        nothing = jnp.zeros(len(a.names))
        at = drive_signal(a, jnp.zeros(a.nu), jnp.zeros(a.na), nothing, nothing)
        return by_drive(a, lambda drive, at, own: drive.command(force[own], at), at)

    one, none = (np.asarray(commands(np.full(len(a.names), f))) for f in (1.0, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (one - none) / np.asarray(a.gear)
    found: dict[int, tuple[int, float]] = {}
    for i, d in enumerate(a.dof):
        if a.tendon[i] < 0 and np.isfinite(change[i]) and change[i] and d not in found:
            found[d] = i, float(change[i])
    return found


def _by_blocks(
    program: ResidualProgram,
    at: Linearisation,
    theta: np.ndarray,
    pushes: Sequence[Sequence[tuple[int, float]]],
) -> tuple[Float[np.ndarray, "w m b"], Float[np.ndarray, " b"]]:
    """Residuals' derivatives by a torque of its size in each block, and when blocks are (s).

    pushes: of each window, commands and what they change by for the share SMALL of the torque.
    """
    data, dt = program.data, float(program.reader.setup.simulator.dt)
    steps = data.controls.shape[1]
    edges = np.linspace(0, steps, min(BLOCKS, steps) + 1).round().astype(int)
    columns = []
    for first, end in itertools.pairwise(edges):
        u = np.array(data.controls)
        for w, own in enumerate(pushes):
            for column, change in own:
                u[w, first:end, column] += change
        other = program.on(data._replace(controls=jnp.asarray(u, data.controls.dtype)))
        assert other is not None
        columns.append((other.residual(theta, at.local) - at.r) / SMALL)
    return np.stack(columns, -1), dt * (edges[:-1] + edges[1:]) / 2


class _Look(NamedTuple):
    """A fit to first order: P, S^-1 of the windows at hand, J_l and a root of C^-1; their share."""

    at: Linearisation
    P: np.ndarray
    S_inv: np.ndarray
    H: np.ndarray
    share: float

    @classmethod
    def of(cls, at: Linearisation, share: float) -> _Look:
        n = at.normal()
        C_inv = inverse(n.C) if n.C.shape[-1] else n.C
        P = at.J_t - at.J_l @ (C_inv @ np.swapaxes(n.B, 1, 2))
        return cls(at, P, positive_inverse(reduced(n)[0]), C_inv, share)

    def judged(self, own: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, float]:
        """Variances [p] of a torque with J_b L = A [w, m, b] in windows `own`, and the share of
        them that residuals allow.
        """
        AT = np.swapaxes(A, 1, 2)
        G = np.swapaxes(self.P[own], 1, 2) @ A
        way = np.einsum("pq,wqb->wpb", self.S_inv, G)
        variance = np.einsum("wpb,wpb->p", way, way) * len(self.at.r) / len(own) / self.share
        # (1 - H) between the blocks: initial states and parameters take some of it out.
        local = AT @ self.at.J_l[own]
        inside = AT @ A - local @ self.H[own] @ np.swapaxes(local, 1, 2)
        inside = inside - np.swapaxes(G, 1, 2) @ way / self.share
        seen = float(np.sum((AT @ self.at.r[own][..., None]) ** 2))
        noise, power = float(np.einsum("wbb->", inside)), float(np.sum(inside**2))
        if power <= 0:
            return variance, 1.0
        return variance, min((max(seen - noise, 0.0) + 2 * np.sqrt(2 * power)) / power, 1.0)
