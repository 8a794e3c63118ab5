"""The contact problem with a polyhedral cone, as a linear complementarity problem.

Friction is a sum of pushes f_k >= 0 along nd directions d_k (columns of D) of the tangent plane;
with gamma, the speed of sliding, it reads for each contact (Anitescu, Potra 1997; de Avila
Belbute-Peres et al. 2018), w = A lambda + b, lambda_t = D f:

    0 <= lambda_n  _|_  a     = w_n                   >= 0
    0 <= f         _|_  sigma = D^T w_t + gamma       >= 0
    0 <= gamma     _|_  zeta  = mu lambda_n - sum(f)  >= 0

A primal-dual interior point (Mehrotra 1992) follows s z = kappa to kappa -> 0. In each Newton step
f and gamma are eliminated contact by contact, so the system to solve has three rows a contact,
whatever the number of directions. Newton's method on the fixed point (`cone.newton`) takes
the last digits, where products of twenty orders of magnitude would cost them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.solvers import cone
from graftsim.solvers.cone import Problem, goal, newton, velocities
from graftsim.solvers.general import factor
from graftsim.solvers.pgs import GaussSeidel
from graftsim.solvers.sections import corners
from graftsim.spatial import safe

_SWEEPS = 50


class InteriorPoint(NamedTuple):
    """Friction directions by their angles in the tangent plane (rad), and when to stop."""

    section: tuple[float, ...]
    iterations: int = 40
    newton: int = 5
    tolerance: float | None = None
    unroll: bool = True

    def solve(self, problem: Problem, start: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
        """Impulses: the first guess mended by Newton, or else products s z near sqrt(eps).

        What is left is for Newton again, and where contacts are redundant for a few sweeps too.
        """
        D = corners(self.section).astype(problem.b.dtype)
        enough = goal(problem, self.tolerance)
        x, error = newton(problem, start, self.newton, enough, self.section, self.unroll)
        z = _interior(problem, D, jnp.where(error > enough, self.iterations, 0), self.unroll)
        found = jnp.concatenate([z.normal[:, None], z.push @ D.T], -1)
        # Where the interior point did not arrive, its impulses can be of any size.
        left = jnp.max(jnp.abs(cone.residual(problem, found, self.section)))
        x = jnp.where(left < error, found, x)
        finish = GaussSeidel(_SWEEPS, self.newton, self.tolerance, self.section, self.unroll)
        return finish.solve(problem, x)


class Point(NamedTuple):
    """Multipliers or their slacks, of the three conditions: normal [n], push [n, nd], slip [n]."""

    normal: Float[Array, " n"]
    push: Float[Array, "n nd"]
    slip: Float[Array, " n"]


def _slacks(problem: Problem, z: Point, D: np.ndarray) -> Point:
    """a, sigma, zeta of multipliers."""
    w = velocities(problem, jnp.concatenate([z.normal[:, None], z.push @ D.T], -1))
    return Point(
        w[:, 0],
        w[:, 1:] @ D + z.slip[:, None],
        problem.mu * z.normal - jnp.sum(z.push, -1),
    )


def _interior(problem: Problem, D: np.ndarray, iterations: Array, unroll: bool) -> Point:
    """Multipliers near the solution."""
    n, nd = problem.n, D.shape[1]
    dtype = problem.b.dtype
    tolerance = 0.1 * float(jnp.finfo(dtype).eps) ** 0.5
    # Speeds and impulses of the right size to start from.
    speed = jnp.maximum(cone.speed(problem), jnp.asarray(1e-6, dtype))
    inertia = 1 / jnp.max(jnp.diagonal(problem.A))
    z = Point(
        jnp.full(n, speed * inertia), jnp.full((n, nd), speed * inertia / nd), jnp.full(n, speed)
    )
    s = Point(jnp.full(n, speed), jnp.full((n, nd), speed), jnp.full(n, speed * inertia))
    # Products are powers: speed^2 times inertia.
    goal = tolerance * speed * speed * inertia

    def unfinished(carry: tuple[Array, Point, Point, Array]) -> Array:
        k, _, _, error = carry
        return (k < iterations) & (error > goal)

    def iterate(carry: tuple[Array, Point, Point, Array]) -> tuple[Array, Point, Point, Array]:
        k, z, s, _ = carry
        residuals = jax.tree.map(jnp.subtract, s, _slacks(problem, z, D))
        step = _newton(problem, z, s, D, unroll)
        kappa = _dot(z, s) / (n * (nd + 2))
        dz, ds = step(residuals, jax.tree.map(lambda a, b: -a * b, z, s))
        alpha = _longest(z, s, dz, ds)
        predicted = _dot(_moved(z, dz, alpha), _moved(s, ds, alpha)) / (n * (nd + 2))
        centre = (predicted / kappa) ** 3 * kappa
        dz, ds = step(
            residuals, jax.tree.map(lambda a, b, c, d: centre - a * b - c * d, z, s, dz, ds)
        )
        alpha = jnp.minimum(1.0, 0.999 * _longest(z, s, dz, ds))
        z, s = _moved(z, dz, alpha), _moved(s, ds, alpha)
        left = jax.tree.map(lambda r: (1 - alpha) * r, residuals)
        return k + 1, z, s, jnp.maximum(_dot(z, s) / (n * (nd + 2)), _work(left, speed, inertia))

    start = (jnp.asarray(0), z, s, jnp.asarray(jnp.inf, dtype))
    return jax.lax.while_loop(unfinished, iterate, start)[1]


def _work(r: Point, speed: Float[Array, ""], inertia: Float[Array, ""]) -> Float[Array, ""]:
    """Residuals as powers, to compare with the products."""
    velocity = jnp.maximum(jnp.max(jnp.abs(r.normal)), jnp.max(jnp.abs(r.push)))
    return jnp.maximum(velocity * speed * inertia, jnp.max(jnp.abs(r.slip)) * speed)


def _dot(a: Point, b: Point) -> Float[Array, ""]:
    return sum((jnp.sum(x * y) for x, y in zip(a, b, strict=True)), jnp.zeros(()))


def _moved(a: Point, da: Point, alpha: Float[Array, ""]) -> Point:
    return jax.tree.map(lambda x, dx: x + alpha * dx, a, da)


def _longest(z: Point, s: Point, dz: Point, ds: Point) -> Float[Array, ""]:
    """Longest step, at most 1/0.999, that keeps everything positive."""
    found = jnp.asarray(1 / 0.999, z.normal.dtype)
    for x, dx in zip((*z, *s), (*dz, *ds), strict=True):
        room = jnp.where(dx < 0, -x / jnp.where(dx < 0, dx, -1.0), jnp.inf)
        found = jnp.minimum(found, jnp.min(room))
    return found


def _newton(problem: Problem, z: Point, s: Point, D: np.ndarray, unroll: bool):
    """Newton's equations at (z, s): (residuals of the slacks, change of the products) -> steps.

    With phi = f / sigma and N = zeta + gamma sum(phi), the eliminated friction obeys
    dlambda_t = -M dw_t + (gamma mu / N) g dlambda_n + ..., M the conductance of the contact.
    """
    n = problem.n
    phi = z.push / s.push
    total, g = jnp.sum(phi, -1), phi @ D.T
    N = s.slip + z.slip * total
    Q, resistance = _resistance(phi, s.slip / N, z.slip / N, D)
    pull = (z.slip * problem.mu / N)[:, None] * g
    solve = _condensed(problem, s.normal / z.normal, Q, resistance, pull, unroll)

    def step(r: Point, product: Point) -> tuple[Point, Point]:
        e = (product.push + z.push * r.push) / s.push
        k = product.slip + z.slip * (r.slip + jnp.sum(e, -1))
        known_t = e @ D.T - g * (k / N)[:, None]
        right_n = product.normal / z.normal + r.normal
        dx = solve(right_n, known_t)
        dw = (problem.A @ dx.reshape(-1)).reshape(n, 3)
        dslip = (k - z.slip * (problem.mu * dx[:, 0] + jnp.sum(g * dw[:, 1:], -1))) / N
        dpush = e - phi * (dw[:, 1:] @ D + dslip[:, None])
        dz = Point(dx[:, 0], dpush, dslip)
        ds = Point(
            dw[:, 0] - r.normal,
            dw[:, 1:] @ D + dslip[:, None] - r.push,
            problem.mu * dx[:, 0] - jnp.sum(dpush, -1) - r.slip,
        )
        return dz, ds

    return step


def _resistance(
    phi: Float[Array, "n nd"], own: Float[Array, " n"], mixed: Float[Array, " n"], D: np.ndarray
) -> tuple[Float[Array, "n 2 2"], Float[Array, "n 2"]]:
    """Axes (columns) and eigenvalues of M^-1, M = sum phi d d^T - (gamma/N) g g^T
    = zeta/N sum phi_j d_j d_j^T + gamma/N sum_(j<k) phi_j phi_k (d_j - d_k)(d_j - d_k)^T.

    Near the solution phi spans twenty orders of magnitude. As a sum of positive weights times
    lines, M and its determinant, sum w_i w_j (v_i x v_j)^2, are formed without a difference.
    """
    lines: list[np.ndarray] = []
    weights: list[Float[Array, " n"]] = []

    def add(vector: np.ndarray, weight: Float[Array, " n"]) -> None:
        length = float(np.linalg.norm(vector))
        for k, v in enumerate(lines):
            if abs(v[0] * vector[1] - v[1] * vector[0]) < 1e-9 * length:
                weights[k] = weights[k] + length**2 * weight
                return
        lines.append(vector / length)
        weights.append(length**2 * weight)

    for k in range(D.shape[1]):
        add(D[:, k], own * phi[:, k])
    for j, k in combinations(range(D.shape[1]), 2):
        add(D[:, j] - D[:, k], mixed * phi[:, j] * phi[:, k])
    if len(lines) == 1:
        # Friction along one line only: across it the resistance is next to infinite.
        (x, y), w = lines[0], weights[0]
        Q = jnp.broadcast_to(jnp.array([[x, -y], [y, x]], own.dtype), (len(own), 2, 2))
        return Q, jnp.stack([1 / w, 1e12 / w], -1)
    a, b, c = (
        sum((v[i] * v[j] * w for v, w in zip(lines, weights, strict=True)), jnp.zeros_like(own))
        for i, j in ((0, 0), (0, 1), (1, 1))
    )
    det = jnp.zeros_like(own)
    for i, j in combinations(range(len(lines)), 2):
        (x, y), (u, v) = lines[i], lines[j]
        det = det + (x * v - y * u) ** 2 * weights[i] * weights[j]
    half = (a - c) / 2
    spread = safe.sqrt(half * half + b * b)
    large = (a + c) / 2 + spread
    # Cosine and sine of half the angle whose tangent is b / half.
    share = jnp.where(spread > 0, 1 / jnp.where(spread > 0, spread, 1.0), 0.0)
    near = jnp.where(spread > 0, jnp.sqrt((1 + jnp.abs(half) * share) / 2), 1.0)
    far = b * share / (2 * near)
    x, y = jnp.where(half >= 0, near, far), jnp.where(half >= 0, far, near)
    Q = jnp.stack([jnp.stack([x, -y], -1), jnp.stack([y, x], -1)], -2)
    return Q, jnp.stack([1 / large, large / det], -1)


def _condensed(
    problem: Problem,
    stiff: Float[Array, " n"],
    Q: Float[Array, "n 2 2"],
    resistance: Float[Array, "n 2"],
    pull: Float[Array, "n 2"],
    unroll: bool,
) -> Callable[[Float[Array, " n"], Float[Array, "n 2"]], Float[Array, "n 3"]]:
    """A with each contact's own block added: factored once for predictor and corrector.

    In the axes of each contact's resistance: a contact that slides along a side of the polygon is
    almost free along it and almost rigid across it, and in axes oblique to the two elimination
    would take the difference of two numbers of the rigid size to find the free one.
    """
    n = problem.n
    A = problem.A.reshape(n, 3, 3 * n)
    A = jnp.concatenate([A[:, :1], jnp.einsum("nij,nik->njk", Q, A[:, 1:])], 1)
    A = A.reshape(3 * n, n, 3)
    A = jnp.concatenate([A[:, :, :1], jnp.einsum("knj,nji->kni", A[:, :, 1:], Q)], 2)
    turned = jnp.einsum("nij,ni->nj", Q, pull)
    zero = jnp.zeros_like(stiff)
    block = jnp.stack(
        [
            jnp.stack([stiff, zero, zero], -1),
            jnp.stack([-resistance[:, 0] * turned[:, 0], resistance[:, 0], zero], -1),
            jnp.stack([-resistance[:, 1] * turned[:, 1], zero, resistance[:, 1]], -1),
        ],
        1,
    )
    own = jnp.asarray(np.eye(n), block.dtype)[:, None, :, None] * block[:, :, None, :]
    solve = factor(A.reshape(3 * n, 3 * n) + own.reshape(3 * n, 3 * n), unroll)

    def solution(normal: Array, tangent: Array) -> Array:
        right_t = resistance * jnp.einsum("nij,ni->nj", Q, tangent)
        right = jnp.concatenate([normal[:, None], right_t], -1)
        dx = solve(right.reshape(-1, 1)).reshape(n, 3)
        return jnp.concatenate([dx[:, :1], jnp.einsum("nij,nj->ni", Q, dx[:, 1:])], -1)

    return solution
