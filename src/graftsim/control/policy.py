"""A policy: a network that gives commands. On its own it is a function; on a simulator, a graft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import VariableError
from graftsim.graft.blueprint import Blueprint, Feature, Graft
from graftsim.graft.bound import BoundGrafts
from graftsim.graft.network import Specification
from graftsim.graft.perceptron import Perceptron

if TYPE_CHECKING:
    from graftsim.engine import Simulator


class Policy(eqx.Module):
    """u = s_u f(x / s_x) with a network f; x and u are in physical units.

    A pytree: its weights can be differentiated and batched. `specification` is what the network
    was built from, by which a file of grafts describes it.
    """

    specification: Specification = eqx.field(static=True)
    network: Any
    input_scale: Float[Array, " n"]
    output_scale: Float[Array, " m"]

    def __call__(self, x: Float[Array, "*b n"]) -> Float[Array, "*b m"]:
        """Commands for inputs, any leading axes."""
        x = jnp.asarray(x, self.input_scale.dtype)
        if x.shape[-1:] != self.input_scale.shape:
            raise VariableError(
                f"The policy has {self.input_scale.shape[0]} inputs, got an array {x.shape}."
            )
        f = self.network
        for _ in x.shape[:-1]:
            f = jax.vmap(f)
        return self.output_scale * f(x / self.input_scale)

    def in_numpy(self) -> Callable[[Any], np.ndarray]:
        """The same function in NumPy, for a loop that asks for one command at a time.

        A call takes microseconds, less than starting a compiled JAX function. x [*b, n] to [*b, m],
        not checked. Raises VariableError: the network is no `MLP`.
        """
        if not isinstance(self.network, Perceptron):
            raise VariableError(
                f"in_numpy() knows MLP(...), and this policy is a {self.specification}: "
                "jax.jit(policy) is the same function."
            )
        scale, gain = np.asarray(self.input_scale), np.asarray(self.output_scale)
        if self.network.signs:
            f = self.network.in_numpy()
            return lambda x: gain * f(np.asarray(x) / scale)
        return self.network.affine(
            np.zeros_like(scale), scale, np.zeros_like(gain), gain
        ).in_numpy()

    def onto(
        self,
        simulator: Simulator,
        inputs: str | Feature | tuple[str | Feature, ...],
        target: str = "control.u",
        *,
        mode: str = "replace",
        name: str = "policy",
    ) -> Simulator:
        """The simulator with this policy as a graft, in place of the commands given.

        inputs: named variables whose numbers, in this order, are x. target: the commands that it
        gives, all or some. mode: "add" adds them to those given. Raises VariableError: names or
        rows that do not exist, another number of inputs or commands than the policy's.
        """
        graft = Graft(target, inputs, self.specification, mode=mode, name=name)
        grafted = simulator.graft(Blueprint(graft))
        assert isinstance(grafted.grafts, BoundGrafts)
        bound = grafted.grafts[name]
        for what, mine, there in (
            ("inputs", self.input_scale, bound.input_scale),
            ("commands", self.output_scale, bound.output_scale),
        ):
            if mine.shape != there.shape:
                columns = bound.wiring.columns
                names = ", ".join(columns) if what == "inputs" else target
                raise VariableError(
                    f"The policy has {mine.shape[0]} {what}, and the simulator gives "
                    f"{there.shape[0]}: {names}."
                )
        mine = (eqx.filter(self.network, eqx.is_array), self.input_scale, self.output_scale)
        dtype = simulator.dt.dtype
        weights, scale_in, scale_out = jax.tree.map(lambda a: jnp.asarray(a, dtype), mine)
        filled = replace(
            bound,
            wiring=bound.wiring.settle(),
            weights=weights,
            input_scale=scale_in,
            output_scale=scale_out,
        )
        return replace(grafted, grafts=grafted.grafts.replace(name, filled))


def policy_of(simulator: Simulator, name: str = "policy") -> Policy:
    """The policy of a graft on its own, as after training. Raises VariableError: no such graft,
    rows with networks of their own, a structure, memory, a network that is a module of one's own.
    """
    grafts = simulator.grafts
    labels = grafts.labels if grafts is not None else ()
    if not isinstance(grafts, BoundGrafts) or name not in labels:
        there = ", ".join(labels) or "none"
        raise VariableError(f"The simulator has no graft '{name}'. Its grafts: {there}.")
    graft = grafts[name]
    w = graft.wiring
    if w.rows > 1 or not w.shared or w.structure or graft.recurrent or w.specification is None:
        raise VariableError(
            f"Graft '{name}' is no policy on its own: that takes one network for all commands, "
            "from a specification such as MLP(32, 32), without structure or memory."
        )
    return Policy(w.specification, graft.network, graft.input_scale, graft.output_scale)
