"""The posterior density of a problem, in coordinates in which it is nearly a standard normal.

Bounded parameters go through a smooth transform, theta = T(u), and the density takes its slope:
between two bounds low + (high - low) logistic(u), above one low + size softplus(u), else start +
size u. Around a point the coordinates x = (xi, zeta) are then affine,

    u = u0 + W xi,   z_w = z_w0 + K_w (u - u0) + L_w zeta_w,

with W W^T the reduced covariance of the parameters after a fit, K_w = -C_w^-1 B_w^T how the initial
state of window w follows them and L_w L_w^T = C_w^-1 what is left of it (the blocks of
`least_squares`). Far from that point the density is still exact; only the coordinates suit it less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import ProblemError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.arrowhead import inverse, normal_equations, reduced
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point

# No direction is taken to be wider than so many sizes of its parameter.
WIDEST = 10.0


class Space(eqx.Module):
    """Smooth maps from all real numbers u [p] into the bounds of theta [p]."""

    lower: Float[Array, " p"]
    upper: Float[Array, " p"]
    start: Float[Array, " p"]
    size: Float[Array, " p"]

    @property
    def _kinds(self) -> tuple[Array, Array, Array]:
        low, high = jnp.isfinite(self.lower), jnp.isfinite(self.upper)
        return low & high, low & ~high, high & ~low

    @property
    def _finite(self) -> tuple[Array, Array]:
        # An infinite number in a branch that is not taken would still spoil the gradient.
        lower, upper = self.lower, self.upper
        return (
            jnp.where(jnp.isfinite(lower), lower, 0.0),
            jnp.where(jnp.isfinite(upper), upper, 0.0),
        )

    def theta(self, u: Float[Array, " p"]) -> Float[Array, " p"]:
        """Parameters at u."""
        both, low, high = self._kinds
        lower, upper = self._finite
        soft = self.size * jax.nn.softplus(u)
        theta = jnp.where(low, lower + soft, self.start + self.size * u)
        theta = jnp.where(high, upper - soft, theta)
        return jnp.where(both, lower + (upper - lower) * jax.nn.sigmoid(u), theta)

    def log_slope(self, u: Float[Array, " p"]) -> Float[Array, " p"]:
        """log |d theta / d u|."""
        both, low, high = self._kinds
        lower, upper = self._finite
        one = jax.nn.log_sigmoid(u)
        width = jnp.where(both, upper - lower, self.size)
        slope = jnp.where(low | high, one, 0.0)
        return jnp.log(width) + jnp.where(both, one + jax.nn.log_sigmoid(-u), slope)

    def u(self, theta: Float[Array, " p"]) -> Float[Array, " p"]:
        """Where theta is reached; it must lie inside its bounds."""
        both, low, high = self._kinds
        lower, upper = self._finite
        share = jnp.where(both, (theta - lower) / jnp.where(both, upper - lower, 1.0), 0.5)
        far = jnp.where(low, theta - lower, upper - theta) / self.size
        far = jnp.where(low | high, far, 1.0)
        soft = far + jnp.log(-jnp.expm1(-far))
        plain = (theta - self.start) / self.size
        return jnp.where(
            both, jnp.log(share) - jnp.log1p(-share), jnp.where(low | high, soft, plain)
        )


class Coordinates(NamedTuple):
    """Where x is zero and how far one is: see the module. Arrays, so that they can be stacked.

    centre [p], spread [p, p] (W), local [w, s], follow [w, s, p] (K), local_spread [w, s, s] (L).
    """

    centre: Any
    spread: Any
    local: Any
    follow: Any
    local_spread: Any


class Density:
    """log p(theta, z | data) of a problem on the windows of a `ResidualProgram`, up to a constant.

    Likelihood: whitened residuals are standard normal (Huber's density where the problem's loss
    is). Prior: the problem's Gaussian priors within the bounds, flat where there is none, and the
    weak prior of initial states. All methods but `around` can be traced, mapped, differentiated.
    """

    def __init__(self, problem: Problem, compiled: ResidualProgram) -> None:
        p, self.dtype = problem.parameters, compiled.dtype
        size = np.where(p.start != 0, np.abs(p.start), 0.1)
        size = np.where(p.physical, size, 1.0)
        size = np.minimum(size, p.prior_std)
        arrays = (jnp.asarray(x, self.dtype) for x in (p.lower, p.upper, p.start, size))
        self.problem, self.compiled, self.space = problem, compiled, Space(*arrays)
        self.data, self._one = compiled.data, compiled.one
        self.count, self.windows = len(p), len(compiled.data.controls)
        self._mean = jnp.asarray(p.prior_mean, self.dtype)
        self._precision = jnp.asarray(1 / p.prior_std, self.dtype)
        self._local_precision = jnp.asarray(1 / problem.local_std, self.dtype)

    @property
    def dimension(self) -> int:
        """Length of x: parameters, and initial states of all windows."""
        return self.count + self.windows * self.problem.nlocal

    def place(self, x: Float[Array, " n"], at: Coordinates) -> tuple[Array, Array]:
        """Transformed parameters u [p] and initial states [w, s] at x."""
        step = at.spread @ x[: self.count]
        if not at.local.shape[-1]:
            return at.centre + step, at.local
        own = x[self.count :].reshape(at.local.shape)
        local = at.local + at.follow @ step + jnp.einsum("wst,wt->ws", at.local_spread, own)
        return at.centre + step, local

    def theta(self, x: Float[Array, " n"], at: Coordinates) -> Float[Array, " p"]:
        """Parameters at x; the initial states' part of x may be left out."""
        return self.space.theta(at.centre + at.spread @ x[: self.count])

    def cost(self, theta: Array, local: Array, data: WindowData) -> Array:
        """Half the sum of squares of the residuals: minus the log likelihood."""
        r = jax.vmap(self._one, (None, 0, 0))(theta, local, data)
        return 0.5 * jnp.sum(r * r)

    def prior_cost(self, theta: Array, local: Array) -> Array:
        """Half the squared, whitened distances from the Gaussian priors."""
        far = jnp.sum(((theta - self._mean) * self._precision) ** 2)
        return 0.5 * (far + jnp.sum((local * self._local_precision) ** 2))

    def log(self, x: Float[Array, " n"], at: Coordinates, data: WindowData) -> Float[Array, ""]:
        """The density of x."""
        u, local = self.place(x, at)
        theta = self.space.theta(u)
        cost = self.cost(theta, local, data) + self.prior_cost(theta, local)
        return jnp.sum(self.space.log_slope(u)) - cost

    def around(self, theta: np.ndarray, data: WindowData | None = None) -> Coordinates:
        """Coordinates around the minimum that Levenberg-Marquardt reaches from theta [p].

        Raises ProblemError where it cannot be simulated.
        """
        problem = self.problem
        compiled = self.compiled if data is None else self.compiled.on(data)
        assert compiled is not None
        bounds = problem.bounds_of(theta)
        start = Point(theta, np.zeros((self.windows, problem.nlocal)))
        point = LevenbergMarquardt().minimise(WindowCost(problem, compiled), start, bounds)
        r, J, J_l = compiled.jacobian(point.theta, point.local)
        if not (np.isfinite(r).all() and np.isfinite(J).all() and np.isfinite(J_l).all()):
            raise ProblemError("The model cannot be simulated around the best fit: not finite.")
        curvature, _ = reduced(normal_equations(r, J, J_l, point.theta, point.local, bounds))
        moved = self._inside(point.theta, curvature)
        u = self.space.u(jnp.asarray(moved, self.dtype))
        one = jnp.ones_like(u)
        slope = np.asarray(jax.jvp(self.space.theta, (u,), (one,))[1], float)
        widths = replace(bounds, prior_std=bounds.prior_std / np.abs(slope))
        n = normal_equations(r, J * slope, J_l, np.zeros(self.count), point.local, widths)
        S, _ = reduced(n)
        # The transform's own curvature, that of -log slope, and a limit to what is not known.
        bend = -jax.jvp(jax.grad(lambda u: self.space.log_slope(u).sum()), (u,), (one,))[1]
        S = S + np.diag(np.asarray(bend, float) + WIDEST**-2)
        C = inverse(n.C)
        follow = -C @ np.swapaxes(n.B, 1, 2)
        local = point.local + follow @ ((moved - point.theta) / slope)
        return Coordinates(
            *(
                jnp.asarray(x, self.dtype)
                for x in (u, _root(S), local, follow, np.linalg.cholesky(C))
            )
        )

    def _inside(self, theta: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """theta, at least a standard deviation (or a tenth of the interval) from its bounds."""
        p = self.problem.parameters
        width = np.where(np.isfinite(p.upper - p.lower), p.upper - p.lower, np.inf)
        with np.errstate(divide="ignore"):
            std = 1 / np.sqrt(np.maximum(np.diag(curvature), 0.0))
        size = np.asarray(self.space.size, float)
        margin = np.minimum(np.minimum(std, 0.1 * width), size)
        return np.clip(theta, p.lower + margin, p.upper - margin)


def _root(S: np.ndarray) -> np.ndarray:
    """W with W W^T = S^-1."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return vectors / np.sqrt(np.maximum(values, 1e-14 * values.max()))
