"""Free parameters: from selectors to one flat vector of physical numbers, and back into a model.

The vector holds values in their own units, so bounds, priors and intervals need no translation;
only the coordinates of a consistent inertia and of a rotation are not physical numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError, suggest
from graftsim.graft.bound import BoundGrafts
from graftsim.identify.problem import inertial_parameters
from graftsim.identify.problem.domains import Domain, Prior, Unbounded
from graftsim.model.catalogue import PARAMETERS, labels, leaf, parameter, row_unit, with_leaf
from graftsim.selectors import Selector, row_name, split_components, with_row
from graftsim.sensors.sensors import Sensors
from graftsim.spatial.components import INERTIA, ROTATION, VECTOR

COMPONENTS = {len(parts): parts for parts in (VECTOR, ROTATION, INERTIA)}
SENSOR_NUMBERS = ("scale", "offset", "delay")
# Without bounds a parameter is sought from a fifth of its starting value to five times it.
_FACTOR = 5.0


class SimulatorAndSensors(eqx.Module):
    """All that parameters live in: the simulator with its model, and the sensors."""

    simulator: Simulator
    sensors: Sensors


@dataclass(frozen=True)
class Custom:
    """A reparametrisation of the user's: `apply(model, values)` returns the changed model.

    names: one label a number; initial: their starting values. Geometric changes that move several
    leaves at once (a link's length with its centre of mass and the next joint) go through here.
    """

    names: tuple[str, ...]
    initial: tuple[float, ...]
    apply: Callable[[Any, Float[Array, " n"]], Any]
    unit: str = ""
    domain: Domain = field(default_factory=Domain)


class Group(NamedTuple):
    """The weights of one input of a graft: its label, the row it serves ("" for all), the input."""

    graft: str
    row: str
    column: str

    @property
    def input(self) -> str:
        """The input as a selector with its row named."""
        return with_row(self.column, self.row)

    def __str__(self) -> str:
        return (
            f"{self.graft} {self.row}: {self.column}"
            if self.row
            else f"{self.graft}: {self.column}"
        )


@dataclass(frozen=True)
class Block:
    """Some rows of the flat vector: labels, start, limits, prior, and how to write them.

    `groups`: of weights of a network, the index of the input that each multiplies in
    `group_keys`, -1 for other weights; None for physical numbers.
    """

    names: tuple[str, ...]
    start: np.ndarray
    domain: Domain
    units: tuple[str, ...]
    write: Callable[[SimulatorAndSensors, Float[Array, " n"]], SimulatorAndSensors]
    groups: np.ndarray | None = None
    group_keys: tuple[Group, ...] = ()


class Parameters:
    """The flat vector theta of a problem and what each entry means.

    `physical` [p] tells model parameters from weights of grafts, `group` [p] numbers the weights of
    one input, described in `groups`, -1 elsewhere.

    Raises ProblemError: a selection that is empty, given twice, or starts outside its bounds.
    """

    def __init__(
        self,
        setup: SimulatorAndSensors,
        free: Mapping[str, Domain | Custom],
        grafts: Sequence[str] = (),
        offsets: Sequence[str] = (),
    ) -> None:
        """offsets: numbers that are not set but added to, last in the vector, from zero on."""
        self._recipe = (setup, dict(free), tuple(grafts), tuple(offsets))
        self.blocks = _blocks(*self._recipe)
        self.names = tuple(n for b in self.blocks for n in b.names)
        twice = sorted({n for n in self.names if self.names.count(n) > 1})
        if twice:
            raise ProblemError(f"Selected twice as free: {', '.join(twice)}.")
        self.units = tuple(u for b in self.blocks for u in b.units)
        self.start = _joined([b.start for b in self.blocks]).astype(float)
        self.lower = _joined([np.full(len(b.names), b.domain.lower) for b in self.blocks])
        self.upper = _joined([np.full(len(b.names), b.domain.upper) for b in self.blocks])
        outside = (self.start < self.lower) | (self.start > self.upper)
        for i in np.flatnonzero(outside):
            raise ProblemError(
                f"{self.names[i]} starts at {self.start[i]:g} {self.units[i]}, outside its bounds "
                f"[{self.lower[i]:g}, {self.upper[i]:g}]. Widen them, or start from another value."
            )
        self.physical = _joined(
            [np.full(len(b.names), b.groups is None) for b in self.blocks]
        ).astype(bool)
        self.group, self.groups = _number_groups(self.blocks)
        priors = [b.domain.prior for b in self.blocks for _ in b.names]
        self.prior_mean = np.array([p.mean if p else 0.0 for p in priors])
        self.prior_std = np.array([p.std if p else np.inf for p in priors])

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        # Blocks hold local functions, which cannot be pickled: they are made anew.
        return {k: v for k, v in vars(self).items() if k != "blocks"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.blocks = _blocks(*self._recipe)

    def apply(self, setup: SimulatorAndSensors, theta: Float[Array, " p"]) -> SimulatorAndSensors:
        """The setup with the numbers of theta written into it (traceable)."""
        at = 0
        for block in self.blocks:
            n = len(block.names)
            setup = block.write(setup, theta[at : at + n])
            at += n
        return setup


def _blocks(
    setup: SimulatorAndSensors,
    free: Mapping[str, Domain | Custom],
    grafts: Sequence[str],
    offsets: Sequence[str],
) -> list[Block]:
    found = [_block(setup, text, domain) for text, domain in free.items()]
    found += [_weights(setup, label) for label in grafts]
    return found + _offsets(setup, offsets)


def _offsets(setup: SimulatorAndSensors, texts: Sequence[str]) -> list[Block]:
    """Numbers that are added to, those of a leaf of the model in one block: one write for all."""
    model = setup.simulator.model
    entries: dict[str, tuple[list[tuple[int, ...]], list[str]]] = {}
    for text in texts:
        _, selector, component = parsed(text)
        array, rows = np.asarray(leaf(model, selector.name)), PARAMETERS[selector.name].rows
        index, names = _entries(selector, component, array, labels(model, rows))
        own = entries.setdefault(selector.name, ([], []))
        own[0].extend(index)
        own[1].extend(names)
    return [_added(model, name, *own) for name, own in entries.items()]


def _added(model: Any, name: str, index: list[tuple[int, ...]], names: list[str]) -> Block:
    """Offsets of some entries of a leaf, zero at the start."""
    at = tuple(np.array(axis) for axis in zip(*index, strict=True))

    def write(s: SimulatorAndSensors, x: Array) -> SimulatorAndSensors:
        old = leaf(s.simulator.model, name)
        new = old.at[at].add(x.astype(old.dtype))
        return _with_model(s, with_leaf(s.simulator.model, name, new))

    units = tuple(row_unit(model, name, i[0]) for i in index)
    return Block(tuple(names), np.zeros(len(index)), Domain(), units, write)


def _number_groups(blocks: Sequence[Block]) -> tuple[np.ndarray, tuple[Group, ...]]:
    numbers: list[np.ndarray] = []
    keys: list[Group] = []
    for b in blocks:
        own = np.full(len(b.names), -1) if b.groups is None else b.groups
        numbers.append(np.where(own < 0, -1, own + len(keys)))
        keys += b.group_keys
    return _joined(numbers).astype(int), tuple(keys)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *parts])


def _weights(setup: SimulatorAndSensors, label: str) -> Block:
    """The weights of a graft, with its prior."""
    grafts = setup.simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    graft = grafts[label]
    start = np.asarray(graft.trainable, float)
    names = tuple(f"graft.{label}.{i}" for i in range(len(start)))

    def write(s: SimulatorAndSensors, x: Array) -> SimulatorAndSensors:
        old = s.simulator.grafts
        assert isinstance(old, BoundGrafts)
        new = old.replace(label, old[label].with_trainable(x.astype(s.simulator.dt.dtype)))
        return eqx.tree_at(lambda t: t.simulator.grafts, s, new)

    domain = Domain(prior=Prior(0.0, graft.wiring.prior))
    groups = tuple(Group(label, *key) for key in graft.group_keys())
    return Block(names, start, domain, ("1",) * len(names), write, graft.groups(), groups)


def _block(setup: SimulatorAndSensors, text: str, domain: Domain | Custom) -> Block:
    if isinstance(domain, Custom):
        custom = domain

        def write(s: SimulatorAndSensors, x: Array) -> SimulatorAndSensors:
            return _with_model(s, custom.apply(s.simulator.model, x))

        names = tuple(f"{text}[{n}]" for n in custom.names)
        units = (custom.unit,) * len(names)
        return Block(names, np.array(custom.initial, float), custom.domain, units, write)
    _, selector, component = parsed(text)
    whole = selector.name in inertial_parameters.COMPOUND or selector.name.split(".")[0] in (
        "sensor",
        "simulator",
    )
    if whole and component is not None:
        raise ProblemError(f"{selector} has no components to choose; leave out '.{component}'.")
    if domain.shared and (
        selector.name in inertial_parameters.COMPOUND or text.strip() == "simulator.dt"
    ):
        raise ProblemError(f"{selector} cannot be shared; free its rows one by one.")
    if text.strip() == "simulator.dt":
        return _dt(setup, domain)
    if selector.name.startswith("sensor."):
        return _sensor(setup, selector, domain)
    if selector.name in inertial_parameters.COMPOUND:
        names, start, one, change = inertial_parameters.COMPOUND[selector.name](
            setup.simulator.model, selector
        )
        units = (one,) * len(names)
        return Block(
            names, start, domain, units, lambda s, x: _with_model(s, change(s.simulator.model, x))
        )
    return _leaf(setup, text, selector, component, domain)


@lru_cache(maxsize=4096)
def parsed(text: str) -> tuple[str, Selector, str | None]:
    """The text, its selector and the component after it."""
    selector, components = split_components(text)
    return text, Selector.parse(selector), ",".join(components) if components else None


def _with_model(setup: SimulatorAndSensors, model: Any) -> SimulatorAndSensors:
    return eqx.tree_at(lambda s: s.simulator.model, setup, model)


def _leaf(
    setup: SimulatorAndSensors,
    text: str,
    selector: Selector,
    component: str | None,
    domain: Domain,
) -> Block:
    """Numbers of a leaf of the model."""
    model = setup.simulator.model
    known = [
        *PARAMETERS,
        *inertial_parameters.COMPOUND,
        "simulator.dt",
        *(f"sensor.{k}" for k in SENSOR_NUMBERS),
    ]
    info = parameter(selector.name)
    if info is None:
        raise ProblemError(
            f"There is no parameter '{selector.name}'. {suggest(selector.name, known)}"
        )
    array = np.asarray(leaf(model, selector.name))
    names = labels(model, info.rows)
    index, name_of = _entries(selector, component, array, names)
    at = tuple(np.array(axis) for axis in zip(*index, strict=True))
    start = array[at].astype(float)
    if not np.all(np.isfinite(start)):
        raise ProblemError(f"{selector}: its starting value is not finite, so it cannot be fitted.")

    def write(s: SimulatorAndSensors, x: Array) -> SimulatorAndSensors:
        old = leaf(s.simulator.model, selector.name)
        values = jnp.broadcast_to(x, (len(index),)).astype(old.dtype)
        new = old.at[at].set(values)
        return _with_model(s, with_leaf(s.simulator.model, selector.name, new))

    units = tuple(row_unit(model, selector.name, i[0]) for i in index)
    domain = _above_zero(selector.name, domain, start)
    if domain.shared:
        mixed = component is None and len({i[1:] for i in index}) > 1
        if len(set(units)) > 1 or mixed:
            raise ProblemError(
                f"{text} cannot share one number: its entries are of different kinds "
                f"({', '.join(name_of)})."
            )
        return Block((text.strip(),), start[:1], domain, units[:1], write)
    return Block(tuple(name_of), start, domain, units, write)


def _entries(
    selector: Selector, component: str | None, array: np.ndarray, names: Sequence[str]
) -> tuple[list[tuple[int, ...]], list[str]]:
    """Which entries of a leaf, whose rows have these names, are selected, and their names."""
    rows = selector.rows(names)
    if not rows:
        raise ProblemError(f"'{selector}' selects nothing. {selector.nearest(names)}")
    if array.ndim == 1:
        index, name_of = [(r,) for r in rows], [row_name(selector.name, names[r]) for r in rows]
        if component is not None:
            raise ProblemError(f"{selector.name} has one number a row; leave out '.{component}'.")
    else:
        parts = COMPONENTS[array.shape[1]]
        wanted = parts if component is None else tuple(component.split(","))
        if not set(wanted) <= set(parts):
            raise ProblemError(f"'{selector}.{component}': the components are {', '.join(parts)}.")
        chosen = [i for i, c in enumerate(parts) if c in wanted]
        index = [(r, i) for r in rows for i in chosen]
        name_of = [f"{row_name(selector.name, names[r])}.{parts[i]}" for r, i in index]
    return index, name_of


def _above_zero(name: str, domain: Domain, start: np.ndarray) -> Domain:
    """A domain from zero on, without the zero that the model cannot have; a start stays inside."""
    least = DEFAULT_DOMAINS.get(name, domain).lower
    if domain.lower != 0 or not least > 0:
        return domain
    lower = min(least, *start.tolist()) if len(start) else least
    return replace(domain, lower=lower) if 0 < lower < domain.upper else domain


def _dt(setup: SimulatorAndSensors, domain: Domain) -> Block:
    start = np.array([float(setup.simulator.dt)])
    return Block(
        ("simulator.dt",),
        start,
        domain,
        ("s",),
        lambda s, x: eqx.tree_at(lambda t: t.simulator.dt, s, x[0]),
    )


def _sensor(setup: SimulatorAndSensors, selector: Selector, domain: Domain) -> Block:
    quantity = selector.name.split(".", 1)[1]
    if quantity not in SENSOR_NUMBERS:
        known = suggest(quantity, SENSOR_NUMBERS)
        raise ProblemError(f"There is no sensor parameter '{quantity}'. {known}")
    names = setup.sensors.labels
    rows = selector.rows(names)
    if not rows:
        raise ProblemError(f"'{selector}' selects no sensor. {selector.nearest(names)}")
    at = np.array(rows)
    start = np.asarray(getattr(setup.sensors, quantity))[at].astype(float)

    def write(s: SimulatorAndSensors, x: Array) -> SimulatorAndSensors:
        old = getattr(s.sensors, quantity)
        new = old.at[at].set(jnp.broadcast_to(x, at.shape).astype(old.dtype))
        return eqx.tree_at(lambda t: getattr(t.sensors, quantity), s, new)

    model, specs = setup.simulator.model, setup.sensors.specs
    units = tuple(
        {"scale": "1", "offset": specs[r].unit(model), "delay": "s"}[quantity] for r in rows
    )
    if domain.shared:
        return Block((str(selector),), start[:1], domain, units[:1], write)
    return Block(
        tuple(row_name(selector.name, names[r]) for r in rows),
        start,
        domain,
        units,
        write,
    )


DEFAULT_DOMAINS: dict[str, Domain] = {
    name: Domain(lower=0.0)
    for name in (
        "joint.armature",
        "joint.damping",
        "joint.stiffness",
        "joint.friction",
        "joint.stribeck",
        "joint.limit_stiffness",
        "joint.limit_damping",
        "joint.load_friction",
        "joint.load_stribeck",
        "joint.load_quadratic",
        "tendon.stiffness",
        "tendon.damping",
        "tendon.friction",
        "tendon.limit_stiffness",
        "tendon.limit_damping",
        "actuator.kp",
        "actuator.kd",
        "actuator.ki",
        "actuator.motor_constant",
        "actuator.supply",
        "pair.friction",
        "pair.stribeck",
        "pair.dissipation",
        "pair.cfm",
        "sensor.scale",
        "sensor.delay",
    )
} | {
    # The model divides by these: zero is out of bounds.
    name: Domain(lower=1e-6)
    for name in (
        "link.mass",
        "link.length",
        "joint.stribeck_velocity",
        "pair.stiffness",
        "tendon.rounding",
        "actuator.resistance",
        "actuator.duty_limit",
        "actuator.integral_limit",
        "actuator.stall_force",
        "actuator.no_load_speed",
        "actuator.time_constant",
        "simulator.dt",
    )
}
# Friction that changes its sign over less is a jump: no fit can follow its slope, and none of these
# speeds is told from another.
DEFAULT_DOMAINS["joint.friction_velocity"] = Domain(lower=5e-3)
DEFAULT_DOMAINS["tendon.friction_velocity"] = Domain(lower=5e-3)
DEFAULT_DOMAINS["pair.friction_velocity"] = Domain(lower=1e-3)
# At most 1: a bounce is no higher than the fall.
# Beyond, the motor's load or the other would count with the wrong sign.
DEFAULT_DOMAINS["joint.load_asymmetry"] = Domain(lower=-1.0, upper=1.0)
DEFAULT_DOMAINS["pair.restitution"] = Domain(lower=0.0, upper=1.0)
# The upper bound says how many commands a state remembers.
DEFAULT_DOMAINS["actuator.delay"] = Domain(lower=0.0, upper=0.03)


def default_domain(text: str) -> Domain:
    """Where a parameter may lie when the user did not say: what its physics allows."""
    name = text.split("[", 1)[0].split(".", 2)
    return DEFAULT_DOMAINS.get(".".join(name[:2]), Unbounded())


def search_box(parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Where starts are drawn from: bounds, and where there are none, around the starting value.

    A parameter without bounds that starts at zero has no scale: it begins there, and only local
    solves move it. Raises ProblemError: all of them are so.
    """
    p = parameters
    start, chosen = p.start, p.physical
    near, far = np.sort([start / _FACTOR, start * _FACTOR], 0)
    lower = np.where(
        np.isfinite(p.lower) & np.isfinite(p.upper), p.lower, np.maximum(near, p.lower)
    )
    upper = np.where(np.isfinite(p.lower) & np.isfinite(p.upper), p.upper, np.minimum(far, p.upper))
    empty = chosen & ~(lower < upper)
    if empty.sum() == chosen.sum():
        names = ", ".join(np.array(p.names)[empty])
        raise ProblemError(f"A search needs bounds for {names}: free={{...: Bounds(low, high)}}.")
    chosen = chosen & ~empty
    # Weights stay where they are.
    return np.where(chosen, lower, start), np.where(chosen, upper, start)
