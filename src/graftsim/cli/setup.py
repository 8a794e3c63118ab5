"""From options to a simulator and a problem: shared by the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from rich.console import Console

from graftsim.cli.options import assignments, number
from graftsim.contact import ContactLaw
from graftsim.errors import ProblemError
from graftsim.identify.problem.domains import Bounds, Domain, Prior
from graftsim.identify.problem.parameters import Parameters, SimulatorAndSensors, default_domain
from graftsim.model.model import Model
from graftsim.recordings.recording import Recording
from graftsim.selectors import outside, row_name, unquoted
from graftsim.sensors.sensors import make_sensors
from graftsim.strategies import CONTACT_LAWS, INTEGRATORS, find

MAX_DT = 0.005
FIRST_ORDER_STEP = 0.001
# Of a motion at once: a log of some gigabytes.
MOST_STEPS = 10_000_000
# Without torques data tell only ratios of masses: priors at the file's values, this share wide.
MASS_PRIOR = 0.5
NOTHING = ("none",)
# A word of a domain: one number for all rows of a selection.
SHARED = "shared"


def contact_law(name: str, model: Model, integrator: str, console: Console) -> ContactLaw | None:
    """The law of contact that was asked for, if anything may touch.

    Says so when nothing may touch, or when something may but contact is off. Raises ProblemError:
    impulses with an integrator that cannot have them.
    """
    count = len(model.pair.names)
    if name == "none":
        if count:
            pairs = f"{count} pairs of shapes" if count > 1 else f"The shapes {model.pair.names[0]}"
            console.print(
                f"note: {pairs} may touch, but contact is off: --contact complementarity turns it "
                "on.",
                soft_wrap=True,
            )
        return None
    if not count:
        console.print(
            f"note: --contact {name} has nothing to do, since no two shapes may touch. --ground 0 "
            "puts a floor under a robot that has shapes.",
            soft_wrap=True,
        )
        return None
    law = find(CONTACT_LAWS[name])()
    if law.impulsive and not find(INTEGRATORS[integrator]).impulses:
        raise ProblemError(
            f"--contact {name} acts by impulses, which {integrator} cannot integrate: "
            "--integrator implicit_damping or semi_implicit_euler can; --contact spring-damper "
            f"goes with {integrator}."
        )
    return law


def set_values(model: Model, values: Mapping[str, Any]) -> Model:
    """A model with parameters set by selector."""
    from graftsim.engine import Simulator

    for name, value in values.items():
        setup = SimulatorAndSensors(Simulator(model), make_sensors(model, ()))
        number_ = number(value, f"value of {name}")
        chosen = Parameters(setup, {name: Domain()})
        theta = jnp.full(len(chosen), number_, setup.simulator.dt.dtype)
        model = chosen.apply(setup, theta).simulator.model
    return model


def columns_from(items: Sequence[str], table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Column mapping of flags and run file; None when there is none."""
    mapping: dict[str, Any] = dict(table or {})
    for channel, column in assignments(items, "--columns").items():
        *title, last = outside(column, ":")
        unit = {"unit": last} if title else {}
        mapping[channel] = {"columns": unquoted(":".join(title) if title else last)} | unit
        if channel == "time" and (interval := _interval(column)) is not None:
            mapping[channel] = interval
    return mapping or None


def _interval(text: str) -> float | None:
    """The s between samples that stand in the place of a clock's column."""
    try:
        return float(text)
    except ValueError:
        return None


def domain_from(name: str, value: Any) -> Domain:
    """A domain of a flag or run file: "positive", "free", "LOW:HIGH", each with "shared" beside it,
    [low, high], or a table with prior and shared.
    """
    default = default_domain(name)
    if isinstance(value, str):
        words = [word.strip() for word in value.split(",")]
        if SHARED in words:
            words.remove(SHARED)
            return replace(domain_from(name, ",".join(words)), shared=True)
        if value in ("", "default"):
            return default
        if value == "positive":
            return Domain(lower=0.0)
        if value == "free":
            return Domain()
        low, sep, high = value.partition(":")
        if not sep:
            raise ProblemError(
                f"free {name}: '{value}' must be LOW:HIGH, 'positive', 'free' or 'default'; with "
                "',shared' all that it selects share one number."
            )
        return Bounds(
            number(low, f"free {name}") if low else -np.inf,
            number(high, f"free {name}") if high else np.inf,
        )
    if isinstance(value, list | tuple) and len(value) == 2:
        return Bounds(*(number(x, f"free {name}") for x in value))
    if isinstance(value, Mapping):
        unknown = set(value) - {"lower", "upper", "prior", "shared"}
        if unknown:
            raise ProblemError(
                f"free {name}: unknown keys {sorted(unknown)}; lower, upper, prior, shared."
            )
        prior, shared = value.get("prior"), value.get("shared", False)
        if prior is not None and not (isinstance(prior, list | tuple) and len(prior) == 2):
            raise ProblemError(f"free {name}: prior = {prior!r} must be [mean, std].")
        if not isinstance(shared, bool):
            raise ProblemError(f"free {name}: shared = {shared!r} must be true or false.")
        return Domain(
            number(value.get("lower", default.lower), f"free {name}: lower"),
            number(value.get("upper", default.upper), f"free {name}: upper"),
            None if prior is None else Prior(*(number(x, f"free {name}: prior") for x in prior)),
            shared,
        )
    raise ProblemError(f"free {name}: {value!r} must be [low, high], a table or a word.")


def named_free(items: Sequence[str], table: Mapping[str, Any] | None) -> dict[str, Domain]:
    """What flags and run file name as free; the word 'none' names nothing."""
    if tuple(items) == NOTHING:
        return {}
    free = {name: domain_from(name, value) for name, value in (table or {}).items()}
    for item in items:
        name, *bounds = outside(item, "=")
        free[name.strip()] = domain_from(name.strip(), "=".join(bounds) if bounds else "default")
    return free


def free_from(
    items: Sequence[str], table: Mapping[str, Any] | None, model: Model
) -> dict[str, Domain]:
    """What is free, from flags and run file; the default when neither names anything."""
    free = named_free(items, table)
    if free or tuple(items) == NOTHING:
        return free
    tree = model.tree
    for i, mass in enumerate(np.asarray(model.link.mass)):
        if tree.moving[i] and mass > 0:
            name = row_name("link.mass", tree.links[i])
            prior = Prior(float(mass), MASS_PRIOR * float(mass))
            free[name] = Domain(lower=1e-6 * float(mass), prior=prior)
    passive = [
        d
        for d, i in zip(tree.dofs, tree.link_of_dof, strict=True)
        if not tree.joint_types[i].is_pose
    ]
    for dof in passive:
        for quantity in ("damping", "friction"):
            free[row_name(f"joint.{quantity}", dof)] = Domain(lower=0.0)
    return free


def not_named(more: Mapping[str, Domain], free: Mapping[str, Domain]) -> dict[str, Domain]:
    """Of domains by selector, those of quantities that the user has not named."""
    families = {name.split("[")[0] for name in free}
    return {name: domain for name, domain in more.items() if name.split("[")[0] not in families}


def steps_of(seconds: float, dt: float) -> int:
    """Steps of a simulated time. ProblemError: none, or more than a log can hold."""
    steps = round(seconds / dt)
    if not 1 <= steps <= MOST_STEPS:
        what = "shorter than one step" if steps < 1 else f"{steps:.3g} steps"
        raise ProblemError(
            f"--seconds {seconds:g} is {what} of {dt:g} s (--dt); 1 to {MOST_STEPS:,} steps can be "
            "had at once."
        )
    return steps


def default_dt(recordings: Sequence[Recording]) -> float:
    """The finest sample interval of the recordings, divided to at most 5 ms."""
    interval = min(c.interval for r in recordings for c in r.channels.values())
    return float(interval / np.ceil(interval / MAX_DT - 1e-6))


def default_substeps(dt: float, integrator: str) -> int:
    """First-order integrators bias a fit by their step: keep it at a millisecond."""
    return 1 if integrator == "rk4" else max(int(np.ceil(dt / FIRST_ORDER_STEP - 1e-6)), 1)
