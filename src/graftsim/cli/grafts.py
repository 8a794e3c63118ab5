"""Grafts and candidates from flags and run files: a variable, and after '=' its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graftsim.errors import ProblemError, suggest
from graftsim.graft import MLP, Blueprint, Graft
from graftsim.graft.blueprint import MODES
from graftsim.selectors import Selector, outside
from graftsim.taps import CATALOGUE

KEYS = ("inputs", "hidden", "signs", "mode", "shared", "prior")


def blueprint_from(
    items: Sequence[str], table: Mapping[str, Any] | None, hidden: Sequence[int]
) -> Blueprint | None:
    """The grafts that flags and run file ask for; None when there are none.

    Raises ProblemError: a form that is not understood, inputs that must be named;
    VariableError: not a selector.
    """
    wanted: dict[str, dict[str, Any]] = {}
    for target, value in (table or {}).items():
        wanted[target.strip()] = _entry(target, value)
    for item in items:
        target, inputs = split(item)
        wanted[target] = {"inputs": inputs}
    grafts = [
        Graft(
            target,
            tuple(entry.get("inputs") or default_inputs(target)),
            network=MLP(*_widths(entry.get("hidden", hidden)), signs=entry.get("signs", False)),
            mode=entry.get("mode", "add"),
            shared=entry.get("shared", True),
            prior=float(entry.get("prior", 1.0)),
        )
        for target, entry in wanted.items()
    ]
    return Blueprint(*grafts) if grafts else None


def candidates_from(
    items: Sequence[str], table: Mapping[str, Any] | None
) -> dict[str, tuple[str, ...]] | None:
    """Variables and the inputs to try for each; None when none is named."""
    found: dict[str, tuple[str, ...]] = {}
    for target, inputs in (table or {}).items():
        found[target.strip()] = _texts(target, inputs)
    for item in items:
        target, texts = split(item)
        if not texts:
            raise ProblemError(f"--candidates: '{item}' is not of the form VARIABLE=INPUT,...")
        found[target] = texts
    return found or None


def split(item: str) -> tuple[str, tuple[str, ...]]:
    """A variable and the inputs after its '='; commas inside brackets belong to a selector.

    A name on neither side of '=' raises ProblemError.
    """
    target, *rest = outside(item, "=")
    inputs = tuple(x.strip() for x in outside("=".join(rest), ",")) if rest else ()
    if not target.strip() or not all(inputs):
        raise ProblemError(f"'{item}' is not of the form VARIABLE or VARIABLE=INPUT,INPUT,...")
    return target.strip(), inputs


def default_inputs(target: str) -> tuple[str, ...]:
    """Velocity and position of the same joint. ProblemError: the variable is not of joints."""
    chosen = Selector.parse(target)
    known = CATALOGUE.get(chosen.name)
    if known is not None and known.rows != "dof":
        raise ProblemError(
            f"--graft {target}: which inputs? Only variables of joints have a default. Such as "
            f"--graft '{target}=joint.qd,joint.q'."
        )
    row = "" if chosen.pattern is None else "[*]"
    return (f"joint.qd{row}", f"joint.q{row}")


def _entry(target: str, value: Any) -> dict[str, Any]:
    """A graft of a run file: inputs, "default", or a table."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in KEYS:
                raise ProblemError(f"graft {target}: unknown key '{key}'. {suggest(key, KEYS)}")
        entry = dict(value)
        if entry.get("mode", "add") not in MODES:
            raise ProblemError(f"graft {target}: mode {entry['mode']!r}; {', '.join(MODES)}.")
        for key in ("shared", "signs"):
            if not isinstance(entry.get(key, True), bool):
                raise ProblemError(f"graft {target}: {key} must be true or false.")
        prior = entry.get("prior", 1.0)
        if isinstance(prior, bool) or not isinstance(prior, int | float) or not prior > 0:
            raise ProblemError(f"graft {target}: prior must be a positive number.")
        return entry | ({"inputs": _texts(target, entry["inputs"])} if "inputs" in entry else {})
    return {"inputs": () if value in ("", "default") else _texts(target, value)}


def _texts(target: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and value and all(isinstance(x, str) for x in value):
        return tuple(value)
    raise ProblemError(f"{target}: {value!r} must be a list of inputs, such as ['joint.qd[*]'].")


def _widths(value: Any) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and all(type(x) is int and x > 0 for x in value):
        return tuple(value)
    raise ProblemError(f"hidden: {value!r} must be positive whole numbers, such as 16 16.")
