"""How the program of the standing feet is solved: the interface, and OSQP behind it."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.control.locomotion.stance import StanceProblem, dense
from graftsim.errors import ModelError


class Forces(NamedTuple):
    """Forces of the feet over the horizon [n, 4, 3], in units of the body's weight, and how far the
    conditions of optimality are missed (`left`, the same units times the weight of forces).
    """

    force: Float[Array, "n 4 3"]
    left: Float[Array, ""]


class ForceSolver(abc.ABC):
    """A method for `StanceProblem`."""

    @abc.abstractmethod
    def solve(self, problem: StanceProblem) -> Forces:
        """Forces of least cost; those of swinging feet are zero."""


@dataclass(frozen=True)
class OSQP(ForceSolver):
    """OSQP (Stellato et al. 2020), the library: on numbers, not within compiled functions.

    tolerance: its eps_abs and eps_rel. all_feet: keep forces of swinging feet as variables that are
    bounded by zero, 12 a step; else they are left out.
    """

    tolerance: float = 1e-3
    all_feet: bool = False
    polish: bool = True
    iterations: int = 4000

    def solve(self, problem: StanceProblem) -> Forces:
        """Raises ModelError: within a compiled function, or where no force is feasible."""
        if isinstance(problem.W, Tracer):
            raise ModelError(
                "OSQP solves one program of numbers at a time: call the controller outside jit and "
                "vmap, or give it solver=InteriorPoint()."
            )
        osqp = _osqp()
        kept, H, g, A, lower, upper = self.matrices(problem)
        solver = osqp.OSQP()
        solver.setup(H, g, A, lower, upper, **self.settings())
        found = solver.solve()
        if not np.all(np.isfinite(found.x)):
            raise ModelError(f"OSQP: {found.info.status}: {_named(problem)}")
        n = len(problem.free)
        out = np.zeros(12 * n)
        out[kept] = found.x
        dtype = problem.W.dtype
        force = jnp.asarray(out.reshape(n, 4, 3), dtype)
        return Forces(force, jnp.asarray(found.info.dual_res, dtype))

    def settings(self) -> dict[str, Any]:
        """Of OSQP's `setup`."""
        return {
            "eps_abs": self.tolerance, "eps_rel": self.tolerance, "polishing": self.polish,
            "warm_starting": True, "verbose": False, "max_iter": self.iterations,
            "adaptive_rho_interval": 25, "check_termination": 25,
        }  # fmt: skip

    def matrices(self, problem: StanceProblem) -> tuple[Any, ...]:
        """(which variables are kept, P upper triangle, q, A, l, u) as OSQP takes them."""
        from scipy import sparse

        n, stands = len(problem.free), np.asarray(problem.stands)
        H, g, _ = dense(problem)
        feet = np.tile(np.ones(4, bool) if self.all_feet else stands, n)
        kept = np.repeat(feet, 3)
        mu = np.tile(np.asarray(problem.friction, float), n)[feet]
        standing = np.tile(stands, n)[feet]
        # mu fz - fx, mu fz + fx, the same of y, and fz: five rows a foot.
        rows = np.zeros((len(mu), 5, 3))
        rows[:, :4, 2] = mu[:, None]
        rows[:, 0, 0], rows[:, 1, 0], rows[:, 2, 1], rows[:, 3, 1] = -1, 1, -1, 1
        rows[:, 4, 2] = 1
        lower, upper = np.zeros((len(mu), 5)), np.full((len(mu), 5), np.inf)
        lower[:, 4] = np.where(standing, float(problem.least), 0.0)
        upper[:, 4] = np.where(standing, float(problem.greatest), 0.0)
        A = sparse.block_diag(rows, format="csc")
        P = sparse.csc_matrix(np.triu(H[np.ix_(kept, kept)]))
        return kept, P, g[kept], A, lower.ravel(), upper.ravel()


def _osqp() -> Any:
    try:
        import osqp
    except ModuleNotFoundError:
        raise ModelError(
            "OSQP is not installed: pip install 'graftsim[control]', or take "
            "solver=InteriorPoint(), which needs no library."
        ) from None
    return osqp


def _named(problem: StanceProblem) -> str:
    """Which constraint no force meets."""
    least, greatest = float(problem.least), float(problem.greatest)
    if least > greatest:
        return f"fz >= {least:g} m g (least) against fz <= {greatest:g} m g (greatest)."
    mu = np.asarray(problem.friction, float)
    if np.any(mu < 0):
        return f"|fx|, |fy| <= friction fz with friction {mu.tolist()}: negative."
    return "the program's numbers are not finite."
