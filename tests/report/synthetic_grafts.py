"""A result with networks, and a discovery of friction, made without a fit."""

from __future__ import annotations

import dataclasses
from functools import cache

import equinox as eqx
import numpy as np
from synthetic_result import DT, pendulum, result

import graftsim as gs
from graftsim.identify.discover.findings import Discovery, Finding
from graftsim.identify.discover.formula import Term
from graftsim.identify.discover.score_test import Step
from graftsim.identify.problem.parameters import Group
from graftsim.identify.results.result import Curve, GraftSummary

ELBOW = 'elbow <"left"> & co'
ROWS = ("shoulder", ELBOW)
FRICTION = 0.3


def summary(label="friction", rows=ROWS, inputs=2, mode="add", **changes):
    """What a network would give: friction over the rate, next to nothing over the angle."""
    columns = ("joint.qd[*]", "joint.q[*]")[:inputs]
    R, n = len(rows), inputs
    x = np.linspace(-5.0, 5.0, 101)
    y = -FRICTION * np.tanh(x / 0.2)
    curves = []
    for k, column in enumerate(columns):
        shape = y if k == 0 else 0.01 * x
        curves.append(
            Curve("", column, "joint.tau_passive[*]", "rad/s" if k == 0 else "rad", "N m", x,
                  shape, shape - 0.02, shape + 0.02, (0.0,) * n)
        )  # fmt: skip
    reach = (
        np.broadcast_to([[[0.28, 0.004][:n]]], (R, 1, n)) * np.linspace(1, 0.5, R)[:, None, None]
    )
    fields = {
        "label": label, "mode": mode, "targets": ("joint.tau_passive",),
        "outputs": ("joint.tau_passive[*]",), "output_units": ("N m",), "columns": columns,
        "units": ("rad/s", "rad")[:n], "rows": rows, "weights": 57,
        "output_rms": np.full((R, 1), 0.29), "value_rms": np.full((R, 1), 0.58),
        "sensitivity": np.full((R, 1, n), 0.1), "reach": reach, "curves": tuple(curves),
    }  # fmt: skip
    return GraftSummary(**(fields | changes))


@cache
def grafted():
    """The pendulum with a network on its passive torque, never trained."""
    graft = gs.Graft(
        "joint.tau_passive[*]", ("joint.qd[*]", "joint.q[*]"), network=gs.MLP(4), name="friction",
        input_scale={"joint.qd[*]": 2.0, "joint.q[*]": 1.0}, output_scale=0.5,
    )  # fmt: skip
    return gs.Simulator(pendulum(0.05, 1.0), DT).graft(gs.Blueprint(graft))


def grafted_result(**changes):
    """The synthetic result with that network: physics takes half of the error, it the rest."""
    whole = result()
    alone = tuple(
        dataclasses.replace(e, train_after=e.train_before / 2, heldout_after=e.heldout_before / 2)
        for e in whole.errors
    )
    fields = {"simulator": grafted(), "grafts": (summary(),), "physics": alone}
    return result(**(fields | changes))


@cache
def library():
    """The pendulum with a formula: friction of the shoulder, and a spring over both angles."""
    scale = {"input_scale": {"joint.qd": 2.0}, "output_scale": 1.0}
    blueprint = gs.Blueprint(
        gs.Graft("joint.tau_passive[*]", "joint.qd", network=gs.Library("linear", "coulomb"),
                 shared=False, name="library 1", **scale),
        gs.Graft("joint.tau_passive[*]", "joint.q", network=gs.Library("linear"), shared=False,
                 name="library 2", output_scale=1.0),
    )  # fmt: skip
    simulator = gs.Simulator(pendulum(0.05, 1.0), DT).graft(blueprint)
    # Rows, outputs, inputs, terms.
    friction = np.zeros((2, 1, 2, 2))
    friction[0, 0, 0] = (0.02, -FRICTION)
    return eqx.tree_at(
        lambda s: s.grafts.grafts[0].weights.weight, simulator,
        simulator.grafts.grafts[0].weights.weight + friction,
    )  # fmt: skip


def discovery(**changes):
    """Friction of the shoulder was found, as it should be."""
    groups = [
        Group(f"library {1 + (name == 'joint.q')}", row, f"{name}[{of}]")
        for name in ("joint.qd", "joint.q") for row in ROWS for of in ROWS
    ]  # fmt: skip
    kept = groups[0]
    x = "joint.qd[shoulder]"
    one = summary(
        "joint.tau_passive[shoulder]", ("shoulder",), 1, columns=(x,),
        outputs=("joint.tau_passive[shoulder]",),
        curves=tuple(
            dataclasses.replace(c, column=x, output="joint.tau_passive[shoulder]")
            for c in summary(inputs=1).curves
        ),
    )  # fmt: skip
    terms = (
        Term(kept, "coulomb", -FRICTION, 0.002, "N m", f"sign({x})"),
        Term(kept, "linear", 0.01, 0.001, "N m/(rad/s)", x),
    )
    finding = Finding("joint.tau_passive[shoulder]", (x,), one.label, one, terms, 9e4, 110.0)
    nan = float("nan")
    steps = (
        Step(kept, 9e5, 0.0, 9e4, 120.0, 0.2, True, 0.5, 100.0, 1e6),
        Step(groups[3], 40.0, 1e-7, 120.0, 119.0, 0.02, False, 0.5, 100.0, 1e5),
        Step(groups[5], 30.0, 1e-5, 120.0, 131.0, 0.02, False, 0.5, 100.0, 1e5),
        Step(groups[6], 9.0, 0.02, 120.0, nan, nan, False, 0.5, 100.0, 1e5),
    )
    fields = {
        "findings": (finding,),
        "result": dataclasses.replace(grafted_result(), physics=(), grafts=(one,), parameters=()),
        "costs": {"start": 9e4, "physics": 9e4, "network": 130.0, "formula": 110.0},
        "noise": 100.0, "steps": steps,
        "scores": {g: 9e5 * 10.0**-i for i, g in enumerate(groups)}, "remaining": 1e6,
        "targets": dict.fromkeys(("library 1", "library 2"), "joint.tau_passive[*]"),
        "formula": library(),
    }  # fmt: skip
    return Discovery(**(fields | changes))


def nothing(cost=105.0):
    """A discovery without a finding, that leaves so much."""
    empty = discovery()
    return discovery(
        findings=(), formula=None, result=result(), steps=empty.steps[-1:],
        costs={"start": 9e4, "physics": cost},
    )  # fmt: skip
