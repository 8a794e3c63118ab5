"""Model predictive control: at every step the best commands ahead, of which the first is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.control.cost import Cost
from graftsim.control.ilqr import ILQR, ilqr
from graftsim.control.ilqr_result import Outcome, Solution
from graftsim.engine.simulator import Simulator
from graftsim.errors import ControlError
from graftsim.model.state import State

# What is controlled: the state after a step under commands [nu].
Plant = Callable[[State, Array], State]


@dataclass(frozen=True)
class Receding:
    """A motion under model predictive control.

    states: q, qd and act, leading axis steps + 1, as the plant had them. controls: what it was
    given. outcomes, iterations, seconds: of the solve of each step. last: the last plan.
    """

    states: State
    controls: Float[np.ndarray, "t m"]
    outcomes: tuple[Outcome, ...]
    iterations: tuple[int, ...]
    seconds: tuple[float, ...]
    last: Solution


def mpc(
    simulator: Simulator,
    state: State,
    cost: Cost,
    horizon: int,
    steps: int,
    *,
    plant: Plant | Simulator | None = None,
    limits: tuple[Any, Any] | None = None,
    reference: Any = (),
    solver: ILQR = ILQR(iterations=5),  # noqa: B008 (frozen)
) -> Receding:
    """`steps` steps, each under the first of the best `horizon` commands that are foreseen.

    Each solve starts from what is left of the last one, its feedback included, and makes a few
    iterations; the first may make as many as `ILQR` does by itself. plant: what is controlled, if
    it is another simulator or a function (state, u) -> state. reference: leading axis steps +
    horizon, of which each solve sees horizon + 1 rows.

    In a loop of your own: `plan = ilqr(simulator, state, cost, horizon, warm=plan.shifted())`.
    Raises ControlError: as `ilqr`, no step, a reference of another length.
    """
    if steps < 1:
        raise ControlError(f"{steps} steps of control; at least 1 is needed.")
    rows = steps + horizon
    for x in jax.tree.leaves(reference):
        if np.shape(x)[:1] != (rows,):
            raise ControlError(
                f"reference needs steps + horizon = {rows} rows; an array has shape {np.shape(x)}."
            )
    advance = _plant(simulator if plant is None else plant)
    states, controls, plans = [state], [], []
    plan: Solution | None = None
    for t in range(steps):
        ahead = jax.tree.map(lambda x, t=t: x[t : t + horizon + 1], reference)
        plan = ilqr(
            simulator, states[-1], cost, horizon, limits=limits, reference=ahead,
            warm=_left_of(plan),
            solver=replace(solver, iterations=ILQR().iterations) if plan is None else solver,
        )  # fmt: skip
        u = np.asarray(plan.controls[0])
        states.append(advance(states[-1], jnp.asarray(u)))
        controls.append(u)
        plans.append((plan.outcome, plan.iterations, plan.seconds))
    assert plan is not None
    outcomes, iterations, seconds = zip(*plans, strict=True)
    return Receding(_stack(states), np.stack(controls), outcomes, iterations, seconds, plan)


def _left_of(plan: Solution | None) -> Solution | None:
    """A motion that left the finite numbers is nothing to start from."""
    good = plan is not None and plan.outcome != Outcome.NON_FINITE
    return plan.shifted() if plan is not None and good else None


def _plant(plant: Plant | Simulator) -> Plant:
    if not isinstance(plant, Simulator):
        return plant

    def advance(state: State, u: Array) -> State:
        return jax.tree.map(lambda x: x[-1], plant.rollout(state, u[None]).states)

    return advance


def _stack(states: list[State]) -> State:
    bare = [State(x.q, x.qd, x.act) for x in states]
    return jax.tree.map(lambda *x: jnp.stack([jnp.asarray(v) for v in x]), *bare)
