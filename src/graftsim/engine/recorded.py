"""Which values of a step a selector names: variables with rows, outputs and inputs of grafts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array

from graftsim.errors import VariableError, suggest
from graftsim.model.catalogue import labels
from graftsim.model.model import Model
from graftsim.selectors import Selector
from graftsim.taps import CATALOGUE, Scope

if TYPE_CHECKING:
    from graftsim.engine.simulator import Simulator


def reader(simulator: Simulator, model: Model, text: str) -> Callable[[Scope], Array]:
    """How to read a recorded variable, or a graft's output or inputs, from the scope of a step.

    Raises VariableError: there is none of that name, or nothing that computes it.
    """
    if text.startswith(("graft.", "inputs.")):
        known = () if simulator.grafts is None else simulator.grafts.labels
        name = text.split(".", 1)[1]
        if name not in known:
            raise VariableError(f"There is no graft named '{name}'. {suggest(name, known)}")
        return lambda scope: scope.notes[text]
    name, index = _resolve(model, text)
    if name.startswith("contact.") and simulator.contact is None:
        raise VariableError(
            f"'{text}' needs a contact law: "
            "Simulator(..., contact=graftsim.contact.Complementarity())."
        )
    return lambda scope: scope[name][index]


def _resolve(model: Model, text: str) -> tuple[str, Any]:
    """Name and row index of a variable selector."""
    chosen = Selector.parse(text)
    if chosen.name not in CATALOGUE:
        raise VariableError(
            f"There is no variable named '{chosen.name}'. {suggest(chosen.name, CATALOGUE)}"
        )
    if chosen.pattern is None:
        return chosen.name, ...
    names = labels(model, CATALOGUE[chosen.name].rows)
    rows = chosen.rows(names)
    if not rows:
        raise VariableError(f"'{text}' selects no row. {chosen.nearest(names)}")
    return chosen.name, np.array(rows)
