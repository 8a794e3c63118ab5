"""Second derivatives of the steps, for the exact second order of a motion's cost.

With costates of the motion, lambda_T the slope of the terminal cost and lambda_t = l_x + A' lambda,
the second derivatives of the Lagrangian are those of running costs and of lambda' f, step by step:
Newton's method on the commands, where iLQR leaves the second part out.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.control.cost import Quadratic
from graftsim.control.ilqr_programs import Form, program
from graftsim.control.linear import difference, displace
from graftsim.model.state import State


def costates(
    A: Float[Array, "t n n"], slopes: Float[Array, "t n"], end: Float[Array, " n"]
) -> Float[Array, "t n"]:
    """What a displacement after each step costs to first order."""

    def step(later: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        A, slope = given
        return slope + A.T @ later, later

    return jax.lax.scan(step, end, (A, slopes), reverse=True)[1]


@dataclass(frozen=True)
class Curved:
    """(numbers, state, u, costate, seed) -> second derivatives of costate' f along a seed."""

    form: Form

    def __call__(
        self, numbers: Array, state: State, u: Array, costate: Array, seed: Array
    ) -> Float[Array, " z"]:
        """A row, in (dx, du)."""
        simulator = self.form.unpack(numbers)
        tree, n = simulator.model.tree, costate.shape[0]
        after = jax.lax.stop_gradient(simulator.step(state, u))

        def weighed(z: Array) -> Array:
            end = simulator.step(displace(tree, state, z[:n]), u + z[n:])
            return costate @ difference(tree, after, end)

        return jax.jvp(jax.grad(weighed), (jnp.zeros_like(seed),), (seed,))[1]


def with_curvature(
    form: Form,
    numbers: Array,
    nominal: State,
    controls: Array,
    A: Array,
    stages: Quadratic,
    end: Quadratic,
) -> Quadratic:
    """The running costs with the curvature of the steps in their second derivatives."""
    n = A.shape[1]
    along = stages.gradient[:, :n], end.gradient
    later = program(costates, A, *along)(A, *along)
    one = jax.tree.map(lambda x: x[0], (nominal, controls, later))
    seeds = jnp.eye(n + controls.shape[1], dtype=controls.dtype)
    f = program(Curved(form), numbers, *one, seeds[0], form=form)
    each = jax.vmap(f, (None, None, None, None, 0))
    H = jax.vmap(each, (None, 0, 0, 0, None))(numbers, nominal, controls, later, seeds)
    return stages._replace(hessian=stages.hessian + 0.5 * (H + jnp.swapaxes(H, 1, 2)))
