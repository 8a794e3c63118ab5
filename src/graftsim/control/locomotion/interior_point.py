"""The program of the standing feet by a primal-dual interior point with a Riccati recursion.

Mehrotra's predictor and corrector (1992) from a feasible point: forces stay inside their bounds, so
slacks s = d - D f are exact. A Newton step is a linear-quadratic regulator with dynamics
[xi; nu] -> [xi + dt nu + dt^2/2 W f; nu + dt W f], of which only W is dense: forces are eliminated
foot by foot (3 x 3), which leaves 6 x 6 systems in the acceleration a = W f, whatever the number of
feet. With the value V(x) = x^T P x / 2 + p^T x of what follows and R the Hessian in a stage's f,

    S = B^T P B,  Y = B^T P A,  M = W R^-1 W^T,  N = (I + S M)^-1,
    P <- Q + A^T P A - Y^T M N Y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim import kernels
from graftsim.control.locomotion.forces import Forces, ForceSolver
from graftsim.control.locomotion.stance import StanceProblem
from graftsim.solvers import general

# Sides of the cone that a foot's force (x, y, z) lies in: +x, -x, +y, -y, least, greatest.
_SIDES = 6


@dataclass(frozen=True)
class InteriorPoint(ForceSolver):
    """Our own solver, of a fixed number of iterations, as a kernel on the CPU.

    Works in jit and vmap; `jax.vmap` fills the lanes, one robot each. kernel: "auto", or False for
    plain JAX.
    """

    iterations: int = 12
    kernel: bool = True

    def solve(self, problem: StanceProblem) -> Forces:
        """Forces of least cost; those of swinging feet are zero."""
        if not self.kernel or jax.default_backend() != "cpu":
            return interior_point(problem, self.iterations)
        leaves, tree = jax.tree.flatten(problem)
        shapes = tuple((x.shape, jnp.result_type(x).name) for x in leaves)
        return _kernel(self.iterations, tree, shapes)(problem)


@lru_cache(maxsize=16)
def _kernel(iterations: int, tree: Any, shapes: tuple[Any, ...]) -> kernels.CompiledFunction:
    example = jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(s, d) for s, d in shapes])
    return kernels.compile(lambda problem: interior_point(problem, iterations), example)


class _Factors(NamedTuple):
    """What a stage's Newton step needs of the matrices; leading axis: stages."""

    R: Float[Array, "n 4 5"]
    S: Float[Array, "n 6 6"]
    M: Float[Array, "n 6 6"]
    N: Float[Array, "n 6 6"]
    Y: Float[Array, "n 6 12"]


def interior_point(problem: StanceProblem, iterations: int) -> Forces:
    """See `InteriorPoint`; plain JAX."""
    W = problem.W.reshape(6, 4, 3) * problem.stands[None, :, None]
    n = len(problem.free)
    start = _start(problem)
    f = jnp.broadcast_to(start * problem.stands[:, None], (n, 4, 3))
    e = problem.free + _moved(problem, W, f)
    s = _slacks(problem, f)
    z = _MU / s
    least = 100 * jnp.finfo(f.dtype).eps

    def iterate(carry: Any, _: Any) -> tuple[Any, None]:
        f, e, z = carry
        s = _slacks(problem, f)
        mu = _mean(problem, s * z)
        factors = _factorise(problem, W, z / s)
        # Predictor: straight to the solution. Corrector: what its curvature asks for.
        df, _ = _newton(problem, W, factors, f, e, jnp.zeros_like(z))
        ds = -_sides(problem, df)
        dz = -z - z / s * ds
        reach = _longest(problem, s, ds, z, dz, 1.0)
        aim = mu * (_mean(problem, (s + reach * ds) * (z + reach * dz)) / mu) ** 3
        target = (aim - ds * dz) / s
        df, de = _newton(problem, W, factors, f, e, target)
        ds = -_sides(problem, df)
        dz = target - z - z / s * ds
        t = _longest(problem, s, ds, z, dz, _SHORT)
        moved = (f + t * df, e + t * de, z + t * dz)
        # Beyond rounding there is nothing to gain, and slacks would vanish.
        goes = mu > least
        return tuple(
            jnp.where(goes, new, old) for new, old in zip(moved, (f, e, z), strict=True)
        ), None

    (f, e, z), _ = jax.lax.scan(iterate, (f, e, z), None, length=iterations)
    gap = _mean(problem, _slacks(problem, f) * z)
    return Forces(f * problem.stands[None, :, None], gap)


# Products of slack and multiplier at the start, where forces of the body's weight are 1; and the
# share of the way to the nearest bound that a step takes.
_MU, _SHORT = 0.1, 0.995


def _start(problem: StanceProblem) -> Float[Array, "4 3"]:
    """The weight shared among the standing feet, inside the bounds."""
    count = jnp.maximum(jnp.sum(problem.stands), 1)
    low, high = problem.least, problem.greatest
    # Inside by a share of what there is.
    inside = 0.05 * jnp.minimum(high - low, 1.0)
    fz = jnp.clip(1.0 / count, low + inside, high - inside) * jnp.ones(4, problem.W.dtype)
    return jnp.stack([0 * fz, 0 * fz, fz], -1)


def _sides(problem: StanceProblem, f: Float[Array, "n 4 3"]) -> Float[Array, "n 4 6"]:
    """D f, of feet that stand."""
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    cone = problem.friction * z
    sides = jnp.stack([x - cone, -x - cone, y - cone, -y - cone, -z, z], -1)
    return jnp.where(problem.stands[:, None], sides, 0.0)


def _gathered(problem: StanceProblem, w: Float[Array, "n 4 6"]) -> Float[Array, "n 4 3"]:
    """D^T w, of feet that stand."""
    w = jnp.where(problem.stands[:, None], w, 0.0)
    a, b, c, d, low, high = (w[..., k] for k in range(_SIDES))
    return jnp.stack([a - b, c - d, high - low - problem.friction * (a + b + c + d)], -1)


def _slacks(problem: StanceProblem, f: Float[Array, "n 4 3"]) -> Float[Array, "n 4 6"]:
    zero = jnp.zeros_like(problem.least)
    d = jnp.stack([zero, zero, zero, zero, -problem.least, problem.greatest])
    # A foot in the air has no sides: any positive number does.
    return jnp.where(problem.stands[:, None], d - _sides(problem, f), 1.0)


def _mean(problem: StanceProblem, x: Float[Array, "n 4 6"]) -> Float[Array, ""]:
    """Over the sides of standing feet."""
    weight = jnp.asarray(problem.stands, x.dtype)
    total = jnp.sum(jnp.sum(x, (0, 2)) * weight)
    return total / (len(x) * _SIDES * jnp.maximum(jnp.sum(weight), 1))


def _longest(problem: StanceProblem, s: Array, ds: Array, z: Array, dz: Array, share: float):
    """The step, at most 1, that goes `share` of the way to the first bound."""
    stands = problem.stands[None, :, None]
    worst = jnp.maximum(-ds / s, -dz / z)
    return jnp.minimum(1.0, share / jnp.maximum(jnp.max(jnp.where(stands, worst, 0.0)), 1e-12))


def _moved(problem: StanceProblem, W: Array, f: Float[Array, "n 4 3"]) -> Float[Array, "n 12"]:
    """What forces add to the errors."""
    dt = problem.dt
    a = jnp.einsum("ijk,njk->ni", W, f)

    def step(x: Any, a: Array) -> tuple[Any, Array]:
        xi, nu = x
        xi, nu = xi + dt * nu + dt * dt / 2 * a, nu + dt * a
        return (xi, nu), jnp.concatenate([xi, nu])

    zero = jnp.zeros(6, W.dtype)
    return jax.lax.scan(step, (zero, zero), a)[1]


def _factorise(problem: StanceProblem, W: Array, w: Float[Array, "n 4 6"]) -> _Factors:
    """The recursion of matrices, from the last stage to the first; w = z / s."""
    dt, Q_xi, Q_nu = problem.dt, jnp.diag(problem.Q_xi), problem.Q_nu
    h = dt * dt / 2
    one = jnp.eye(6, dtype=W.dtype)

    def stage(P: Any, w: Float[Array, "4 6"]) -> tuple[Any, _Factors]:
        a, b, c = P
        R = _inverses(problem, w)
        M = jnp.einsum("ijk,ljk->il", W, _weighed(R, jnp.moveaxis(W, 1, 0)))
        S = h * h * a + h * dt * (b + b.T) + dt * dt * c
        y = h * a + dt * b.T
        Y = jnp.concatenate([y, dt * y + h * b + dt * c], -1)
        N = general.factor(one + S @ M, unroll=True)(one)
        K = M @ N
        K = (K + K.T) / 2
        taken = Y.T @ (K @ Y)
        new = (
            Q_xi + a - taken[:6, :6],
            dt * a + b - taken[:6, 6:],
            Q_nu + dt * dt * a + dt * (b + b.T) + c - taken[6:, 6:],
        )
        return new, _Factors(R, S, M, N, Y)

    last = (Q_xi, jnp.zeros_like(Q_xi), Q_nu)
    return jax.lax.scan(stage, last, w, reverse=True)[1]


def _inverses(problem: StanceProblem, w: Float[Array, "4 6"]) -> Float[Array, "4 5"]:
    """Of each foot's Hessian force I + D^T diag(w) D, an arrow: [x, y; column z; 1 / Schur]."""
    w = jnp.where(problem.stands[:, None], w, 0.0)
    a, b, c, d, low, high = (w[:, k] for k in range(_SIDES))
    mu, r = problem.friction, problem.force
    x, y = 1 / (r + a + b), 1 / (r + c + d)
    xz, yz = -mu * (a - b) * x, -mu * (c - d) * y
    zz = r + mu * mu * (a + b + c + d) + low + high
    return jnp.stack([x, y, xz, yz, 1 / (zz - xz * xz / x - yz * yz / y)], -1)


def _weighed(R: Float[Array, "4 5"], v: Array) -> Array:
    """R^-1 v of each foot: v [4, m, 3] to [m, 4, 3], or [4, 3] to the same."""
    matrix = v.ndim == 3
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    ix, iy, xz, yz, iz = (R[:, k, None] if matrix else R[:, k] for k in range(5))
    fz = (z - xz * x - yz * y) * iz
    out = jnp.stack([ix * x - xz * fz, iy * y - yz * fz, fz], -1)
    return jnp.moveaxis(out, 0, 1) if matrix else out


def _newton(
    problem: StanceProblem, W: Array, factors: _Factors, f: Array, e: Array, target: Array
) -> tuple[Float[Array, "n 4 3"], Float[Array, "n 12"]]:
    """Changes of forces and errors: the regulator with its linear terms."""
    dt, h = problem.dt, problem.dt**2 / 2
    grad = problem.force * f + _gathered(problem, target)
    q_xi, q_nu = problem.Q_xi * e[:, :6], e[:, 6:] @ problem.Q_nu

    def backward(p: Any, x: Any) -> tuple[Any, Any]:
        (F, r, q_xi, q_nu), (p_xi, p_nu) = x, p
        # The error after this stage is paid for here.
        p_xi, p_nu = p_xi + q_xi, p_nu + q_nu
        c = jnp.einsum("ijk,jk->i", W, _weighed(F.R, r))
        lead = F.N @ (h * p_xi + dt * p_nu - F.S @ c)
        a = -c - F.M @ lead
        back = F.Y.T @ a
        return (p_xi + back[:6], dt * p_xi + p_nu + back[6:]), lead

    zero = jnp.zeros(6, W.dtype)
    _, lead = jax.lax.scan(backward, (zero, zero), (factors, grad, q_xi, q_nu), reverse=True)

    def forward(x: Any, given: Any) -> tuple[Any, Any]:
        (F, r, lead), (xi, nu) = given, x
        force = lead + F.N @ (F.Y @ jnp.concatenate([xi, nu]))
        df = -_weighed(F.R, r + jnp.einsum("ijk,i->jk", W, force))
        a = jnp.einsum("ijk,jk->i", W, df)
        xi, nu = xi + dt * nu + h * a, nu + dt * a
        return (xi, nu), (df, jnp.concatenate([xi, nu]))

    return jax.lax.scan(forward, (zero, zero), (factors, grad, lead))[1]
