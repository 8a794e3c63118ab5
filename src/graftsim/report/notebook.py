"""What notebooks show of an object: small tables, and of a fit its curves.

All styles are within the class `graftsim`, inks are shares of the notebook's own, and there is no
script: light or dark, trusted or not, the same can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

import jax
from jax.core import Tracer

from graftsim.engine.simulator import Simulator
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.model.describe import describe_dict
from graftsim.model.model import Model
from graftsim.recordings.recording import CELLS, Recording, cells, seconds
from graftsim.report import curves, errors, parameters, series
from graftsim.report.numbers import duration, unit
from graftsim.report.section import HERE
from graftsim.report.words import headline

MOST_ROWS = 30
"""Longer tables are cut to so many rows."""
MOST_CURVES = 2


def html(shown: Any) -> str | None:
    """The object as HTML; None where there are no plain numbers to show (under jit or vmap)."""
    if isinstance(shown, Model | Simulator) and _many(shown):
        return None
    style = (HERE / "notebook.css").read_text(encoding="utf-8")
    return f'<div class="graftsim"><style>{style}</style>{_body(shown)}</div>'


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of text, escaped; headings that start with '>' are of numbers. `Drawing`s stay."""
    rows = list(rows)
    if not rows:
        return ""
    kinds = [' class="n"' if x.startswith(">") else "" for x in head]
    top = "".join(f"<th{k}>{escape(x.lstrip('>'))}</th>" for k, x in zip(kinds, head, strict=True))
    body = "".join(f"<tr>{_cells(kinds, row)}</tr>" for row in rows[:MOST_ROWS])
    left = f"<p>and {len(rows) - MOST_ROWS} more rows</p>" if len(rows) > MOST_ROWS else ""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{left}"


class Drawing(str):
    """Text that is HTML already."""


def _cells(kinds: Sequence[str], row: Sequence[Any]) -> str:
    shown = (x if isinstance(x, Drawing) else escape(_text(x)) for x in row)
    return "".join(f"<td{k}>{x}</td>" for k, x in zip(kinds, shown, strict=True))


def _text(x: Any) -> str:
    return f"{x:.4g}" if isinstance(x, float) else "" if x is None else str(x)


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _many(shown: Model | Simulator) -> bool:
    """Whether its numbers are traced, or those of several side by side."""
    mass = (shown if isinstance(shown, Model) else shown.model).link.mass
    traced = any(isinstance(x, Tracer) for x in jax.tree.leaves(shown))
    return traced or mass.ndim != 1


@singledispatch
def _body(shown: Any) -> str:
    raise TypeError(f"notebooks have no picture of a {type(shown).__name__}")


@_body.register
def _model(model: Model) -> str:
    d = describe_dict(model)
    link = ("name", "parent", "joint", "type", "mass")
    passive = ("damping", "friction", "armature", "lower", "upper")
    return (
        _paragraph(f"{model!r}; {d['total_mass']:.4g} kg")
        + table("Links", (*link[:-1], ">mass (kg)"), [[x[k] for k in link] for x in d["links"]])
        + table(
            "Degrees of freedom (N m and rad, or N and m)",
            ("name", *(f">{x}" for x in passive)),
            [[x[k] for k in ("dof", *passive)] for x in d["joints"]],
        )
        + table(
            "Actuators",
            ("name", "drive"),
            zip(model.actuator.names, model.actuator.kinds, strict=True),
        )
    )


@_body.register
def _simulator(simulator: Simulator) -> str:
    law, grafts = simulator.contact, simulator.grafts
    facts = [
        ("step", f"{float(simulator.dt):.6g} s"),
        ("substeps", simulator.substeps),
        ("integrator", type(simulator.integrator).__name__),
        ("contact", "none" if law is None else type(law).__name__),
        ("grafts", "none" if grafts is None else ", ".join(grafts.labels)),
    ]
    return table("Simulator", ("", ""), facts) + _body(simulator.model)


@_body.register
def _recording(recording: Recording) -> str:
    title = (
        f"Recording '{recording.name}': {seconds(recording.start)} s to {seconds(recording.end)} s"
    )
    rows = [cells(c) for c in recording.channels.values()]
    return table(title, CELLS, rows) + "".join(_paragraph(f"note: {x}") for x in recording.notes)


@_body.register
def _problem(problem: Problem) -> str:
    p = problem.parameters
    free = [
        (p.names[i], float(p.start[i]), float(p.lower[i]), float(p.upper[i]), unit(p.units[i]))
        for i in range(len(p.names))
        if p.physical[i]
    ]
    weights = int((~p.physical).sum())
    runs = [(r.name, f"{r.duration:.4g} s", "fitted") for r in problem.train]
    runs += [(r.name, f"{r.duration:.4g} s", "held out") for r in problem.heldout]
    horizons = ", ".join(f"{h:.4g}" for h in problem.horizons)
    return (
        _paragraph(f"Problem: windows of {horizons} s, initial states {problem.initial}")
        + table("Free", ("name", ">start", ">least", ">greatest", "unit"), free)
        + (_paragraph(f"and {weights} weights of grafts") if weights else "")
        + table("Recordings", ("name", ">length", "for"), runs)
        + _body(problem.simulator)
    )


@_body.register
def _result(result: Result) -> str:
    head = headline(result)
    found = [
        (
            x["name"], x["start"], x["value"], x["interval"], x["unit"],
            str(x["status"]), Drawing(x["bar"]),
        )
        for x in parameters.rows(result.parameters)
    ]  # fmt: skip
    columns = ("name", ">start", ">value", ">95 % interval", "unit", "status", "")
    return (
        f"<p><b>{escape(head.title)}</b></p>"
        + table("Parameters", columns, found)
        + _errors(result)
        + _curves(result)
        + "".join(_paragraph(f"note: {x}") for x in result.warnings)
        + _paragraph(f"{result.outcome}, {duration(result.seconds)}")
    )


def _errors(result: Result) -> str:
    """Root-mean-square errors before and after."""
    which = ("heldout", "train") if errors.held_out(result.errors) else ("train",)
    names = {"heldout": "held out", "train": "fitted"}
    head = [f">{names[w]}: {x}" for w in which for x in ("before", "after")]
    rows = [
        (x["channel"], *(v for w in which for v in x[w][:2]), x["unit"])
        for x in errors.rows(result.errors)
    ]
    return table("Error (RMS)", ("channel", *head, "unit"), rows)


def _curves(result: Result) -> str:
    """The channels that the fit explains least, as the report draws them."""
    shown = curves.most_telling(curves.plots(result.traces), MOST_CURVES)
    legend = (
        '<p>measured (grey), <span class="before-ink">before the fit</span>, '
        '<span class="after-ink">after it</span>; what was held out is shaded</p>'
    )
    drawn = [
        _paragraph(" ".join(filter(None, (p.recording, p.channel, p.component)))) + series.svg(p, 0)
        for p in shown
    ]
    return legend + "".join(drawn) if drawn else ""
