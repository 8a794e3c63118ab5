"""What a trajectory optimisation is about, checked: before anything is compiled or simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.control.cost import Cost
from graftsim.control.ilqr_backward import Limits
from graftsim.control.ilqr_forward import Feedback, split
from graftsim.control.ilqr_programs import Form, Packed
from graftsim.control.ilqr_result import Solution
from graftsim.control.linear import tangent_size
from graftsim.engine.simulator import Simulator
from graftsim.engine.step import ready
from graftsim.errors import ControlError
from graftsim.model.model import Actuators
from graftsim.model.state import State

_INWARDS = 1e-6


@dataclass(frozen=True)
class Task:
    """A simulator in two parts, the cost, where the motion starts, and the law it starts with."""

    form: Form
    numbers: Float[Array, " p"]
    cost: Cost
    start: State
    law: Feedback
    reference: Any

    @classmethod
    def of(
        cls,
        simulator: Simulator,
        state: State,
        cost: Cost,
        horizon: int,
        controls: Any,
        limits: Any,
        reference: Any,
        warm: Solution | None,
    ) -> Task:
        """Raises ControlError for what cannot be."""
        if not isinstance(cost, Cost):
            raise ControlError(
                f"cost is a {type(cost).__name__}; a control.ScalarCost or control.LeastSquares of "
                "two functions, running and terminal, is expected."
            )
        if horizon < 1:
            raise ControlError(
                f"A horizon of {horizon} steps has no command; at least 1 is needed."
            )
        nu, dtype = simulator.model.nu, simulator.dt.dtype
        if not nu:
            raise ControlError(f"Model '{simulator.model.name}' has no actuator to command.")
        packed = Packed.of(simulator)
        u = _commands(controls, warm, horizon, nu, dtype)
        start = _start(simulator, state, u)
        bounds = _limits(simulator.model.actuator, limits, nu, dtype)
        if bounds is not None:
            u = np.clip(u, *bounds)
        n = tangent_size(start)
        if warm is None:
            states = jax.tree.map(lambda x: np.broadcast_to(x, (horizon, *x.shape)), start)
            K: Any = np.zeros((horizon, nu, n), dtype)
        else:
            states, K = jax.tree.map(lambda x: x[:-1], warm.states), warm.gains
        nothing: Any = np.zeros((horizon, nu), dtype)
        law = Feedback(states, u, nothing, K, bounds)
        reference = _reference(reference, horizon)
        _try_cost(cost, _shapes(start), _shapes(u[0]), _freeze(reference))
        return cls(packed.form, packed.numbers, cost, start, law, reference)


def _commands(given: Any, warm: Solution | None, horizon: int, nu: int, dtype: Any) -> Any:
    if given is not None and warm is not None:
        raise ControlError("Give the first commands or a warm start, not both.")
    if warm is not None:
        given = warm.controls
    u = np.zeros((horizon, nu), dtype) if given is None else np.asarray(given, dtype)
    if u.shape != (horizon, nu):
        what = "controls" if warm is None else "The commands of warm"
        raise ControlError(
            f"{what} must have shape [horizon, nu] = {(horizon, nu)}, got {u.shape}."
        )
    if not np.isfinite(u).all():
        t, i = np.argwhere(~np.isfinite(u))[0]
        raise ControlError(f"controls are not finite: {u[t, i]} in step {t}, column {i}.")
    return u


def _start(simulator: Simulator, state: State, u: np.ndarray) -> State:
    """The state with all that a step needs, as NumPy arrays."""
    tree = simulator.model.tree
    for name, x, labels in (("q", state.q, tree.coordinates), ("qd", state.qd, tree.dofs)):
        x = np.asarray(x)
        if x.shape != (len(labels),):
            raise ControlError(f"state.{name} must have shape {(len(labels),)}, got {x.shape}.")
        if not np.isfinite(x).all():
            where = labels[int(np.argmin(np.isfinite(x)))]
            raise ControlError(f"state.{name} is not finite at '{where}': {x}.")
    return jax.tree.map(np.asarray, ready(simulator, state, jnp.asarray(u[0])))


def _limits(actuator: Actuators, given: Any, nu: int, dtype: Any) -> Limits | None:
    low, high = command_limits(actuator, nu) if given is None else given
    try:
        low, high = (np.array(np.broadcast_to(np.asarray(x, dtype), (nu,))) for x in (low, high))
    except ValueError:
        raise ControlError(
            f"limits must be two numbers or two arrays [{nu}], got shapes {np.shape(low)} and "
            f"{np.shape(high)}."
        ) from None
    if not (low < high).all():
        i = int(np.argmin(low < high))
        raise ControlError(f"limits cross for command {i}: {low[i]} is not below {high[i]}.")
    return Limits(low, high) if np.isfinite([low, high]).any() else None  # type: ignore[arg-type]


def command_limits(actuator: Actuators, nu: int) -> tuple[np.ndarray, np.ndarray]:
    """What commands [nu] make a difference: the range of each; for torques also what is exerted."""
    n = len(actuator.drives)
    low, high = np.full(nu, -np.inf), np.full(nu, np.inf)
    low[:n], high[:n] = actuator.control_lower, actuator.control_upper
    gain = np.asarray(actuator.gain)
    torque = np.array([d.name == "torque" for d in actuator.drives]) & (gain > 0)
    per_force = np.where(torque, gain, 1.0)
    force_low, force_high = (np.asarray(x) for x in (actuator.force_lower, actuator.force_upper))
    low[:n] = np.where(torque, np.maximum(low[:n], force_low / per_force), low[:n])
    high[:n] = np.where(torque, np.minimum(high[:n], force_high / per_force), high[:n])
    # On its very limit an actuator's slope is one of two.
    inwards = np.where(np.isfinite(high - low), _INWARDS * (high - low), 0.0)
    return low + inwards, high - inwards


def _reference(given: Any, horizon: int) -> Any:
    found = jax.tree.map(np.asarray, given)
    for x in jax.tree.leaves(found):
        if x.ndim < 1 or x.shape[0] != horizon + 1:
            raise ControlError(
                f"reference needs a row for each step and one for the end, {horizon + 1} in all; "
                f"one of its arrays has shape {x.shape}."
            )
    return found


def _shapes(x: Any) -> Any:
    leaves, tree = jax.tree.flatten(x)
    return tree, tuple((np.shape(v), np.dtype(v.dtype).name) for v in leaves)


def _freeze(reference: Any) -> Any:
    first, _ = split(reference)
    return _shapes(jax.tree.map(lambda x: x[0], first))


@lru_cache(maxsize=256)
def _try_cost(cost: Cost, state: Any, u: Any, row: Any) -> None:
    """Raises ControlError unless both functions return what this kind of cost takes."""
    state, u, row = (
        jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(*x) for x in leaves])
        for tree, leaves in (state, u, row)
    )
    for name, f, args in (
        ("running", cost.running, (state, u, *row)),
        ("terminal", cost.terminal, (state, *row)),
    ):
        _try_function(cost, name, f, args)


def _try_function(cost: Cost, name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        found = jax.eval_shape(f, *args)
    except TypeError as error:
        raise ControlError(
            f"The {name} cost cannot be called with {len(args)} argument(s), a state"
            f"{' and commands' if name == 'running' else ''}, then a row of the reference if there "
            f"is one: {error}."
        ) from error
    if not hasattr(found, "shape"):
        raise ControlError(f"The {name} cost returns a {type(found).__name__}, not an array.")
    wrong = cost.wrong(found.shape)
    if wrong:
        raise ControlError(f"The {name} cost {wrong}.")
