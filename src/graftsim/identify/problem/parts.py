"""Parts of a drive train that a fit asks for and the robot file does not have.

A delay needs memory of commands, an input a place among the controls, friction that grows with the
load another order of computation: they are a matter of the model's structure. What is free and what
a log has say that they are meant.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.identify.problem.domains import Domain
from graftsim.model.model import Model
from graftsim.model.numbers import LOAD_DEPENDENT
from graftsim.recordings.channels import split_name
from graftsim.selectors import Selector


def with_parts(simulator: Simulator, channels: Iterable[str], free: Mapping[str, Any]) -> Simulator:
    """A simulator with the delays and loads that are free and the inputs that are recorded.

    Raises ProblemError: a delay that is free without an upper bound.
    """
    model = with_load(with_delays(with_inputs(simulator.model, channels), free), free)
    if model is simulator.model:
        return simulator
    with warnings.catch_warnings():
        # What there is to say about the simulator has been said when it was made.
        warnings.simplefilter("ignore", GraftsimWarning)
        return replace(simulator, model=model)


def with_inputs(model: Model, channels: Iterable[str]) -> Model:
    """A model whose actuators take what channels `control[NAME.input]` hold."""
    a = model.actuator
    inputs = [list(own) for own in a.inputs]
    for channel in channels:
        name = split_name(channel)
        if name is None or name.quantity != "control" or name.label in a.controls:
            continue
        owner, _, what = name.label.rpartition(".")
        if owner in a.names and what in a.drives[a.names.index(owner)].inputs:
            inputs[a.names.index(owner)].append(what)
    new = tuple(tuple(own) for own in inputs)
    return model if new == a.inputs else replace(model, actuator=replace(a, inputs=new))


def with_delays(model: Model, free: Mapping[str, Any]) -> Model:
    """A model whose actuators remember commands as far back as their free delays may reach."""
    a, longest = model.actuator, list(model.actuator.longest_delay)
    for text, domain in free.items():
        if not isinstance(domain, Domain) or not text.strip().startswith("actuator.delay"):
            continue
        if not np.isfinite(domain.upper):
            raise ProblemError(
                f"{text}: a delay needs an upper bound, which says how many commands are "
                "remembered: Bounds(0, 0.03), or --free '...=0:0.03'."
            )
        for i in Selector.parse(text.strip()).rows(a.names):
            longest[i] = max(longest[i], domain.upper)
    new = tuple(longest)
    return (
        model if new == a.longest_delay else replace(model, actuator=replace(a, longest_delay=new))
    )


def with_load(model: Model, free: Iterable[str]) -> Model:
    """A model whose friction is computed from the load, if a number that says how is free."""
    names = tuple(f"joint.{k}" for k in LOAD_DEPENDENT)
    if model.joint.load_dependent or not any(text.strip().startswith(names) for text in free):
        return model
    return replace(model, joint=replace(model.joint, load_dependent=True))
