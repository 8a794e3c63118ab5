"""Grafts and blueprints: what is wanted. Binding to a simulator checks it and makes networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.errors import LogError, VariableError, suggest
from graftsim.graft import wiring
from graftsim.graft.bound import BoundGraft, BoundGrafts, Wiring
from graftsim.graft.network import Recurrent, Specification
from graftsim.graft.perceptron import MLP
from graftsim.graft.structure import Frame, Setting, Structure, check
from graftsim.model.fuse import fuse
from graftsim.recordings.units import unit

if TYPE_CHECKING:
    from graftsim.engine import Simulator

MODES = ("add", "scale", "replace")


@dataclass(frozen=True)
class Feature:
    """An input that is a function of variables, row by row: `Feature(jnp.sin, "joint.q[*]")`.

    function: of one array [k] for each variable in `of`, returns a scalar or [m]. name: its name
    in reports. unit: of its result.
    """

    function: Callable[..., Any]
    of: str | tuple[str, ...]
    name: str = ""
    unit: str = "1"

    @property
    def text(self) -> str:
        """How reports call it."""
        of = (self.of,) if isinstance(self.of, str) else self.of
        name = self.name or getattr(self.function, "__name__", "function")
        return f"{name}({', '.join(of)})"


@dataclass(frozen=True)
class Graft:
    """A network on a named variable.

    target: variables that the network gives, `joint.tau_passive[*]` (row by row), `joint.tau`
    (the whole array), `link.force[hand]`; several share the network's outputs. inputs: variables
    computed before the target, or `Feature`s; `[*]` takes the row of the target, another pattern
    the same rows for all, no bracket the whole array, `@prev` the value of the last step.

    network: a specification (`MLP`, `GRU`, `Library`) or an Equinox module. mode: what happens to
    the analytic value a: "add" a + y, "scale" a (1 + y), "replace" y. shared: one network for all
    rows, or one for each. structure: properties that hold for any weights, the first innermost.

    input_scale: by the text of an input, output_scale: of the target: numbers in SI units, or with
    a unit, "40 km/h". Without, they are set from the data of a fit, and are 1 until then.
    prior: standard deviation of a weight before the fit. Physical parameters have no prior unless
    they are given one, so where both explain the same data, the fit moves the parameter.
    """

    target: str | tuple[str, ...]
    inputs: tuple[str | Feature, ...] | str | Feature
    network: Specification | eqx.Module = field(default_factory=lambda: MLP(16, 16))
    mode: str = "add"
    shared: bool = True
    structure: tuple[Structure, ...] | Structure = ()
    input_scale: Mapping[str, float | str] = field(default_factory=dict)
    output_scale: float | str | None = None
    prior: float = 1.0
    name: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """Targets as a tuple."""
        return (self.target,) if isinstance(self.target, str) else tuple(self.target)

    @property
    def sources(self) -> tuple[str | Feature, ...]:
        """Inputs as a tuple."""
        return (self.inputs,) if isinstance(self.inputs, str | Feature) else tuple(self.inputs)

    @property
    def structures(self) -> tuple[Structure, ...]:
        """Structures as a tuple."""
        one = isinstance(self.structure, Structure)
        return (self.structure,) if one else tuple(self.structure)  # type: ignore[return-value]

    @property
    def label(self) -> str:
        """Its name, by default its targets."""
        return self.name or "+".join(self.targets)


@dataclass(frozen=True, init=False)
class Blueprint:
    """Grafts to make together, applied in this order where they meet."""

    grafts: tuple[Graft, ...]

    def __init__(self, *grafts: Graft) -> None:
        object.__setattr__(self, "grafts", tuple(grafts))

    def __iter__(self) -> Iterator[Graft]:
        return iter(self.grafts)

    def bind(self, simulator: Simulator, *, key: Any = None) -> BoundGrafts:
        """Networks wired to a simulator's variables, after those that it has already.

        key: a `jax.random.key`; default key 0. Raises VariableError: an unknown name, rows that do
        not exist, an input computed after its target, a structure that would not hold.
        """
        if not self.grafts:
            raise VariableError("A blueprint needs at least one graft.")
        key = jax.random.key(0) if key is None else key
        table = simulator.variables()
        shapes = wiring.Shapes(
            tuple(table), {n: shape for n, (shape, _, _) in table.items()}, fuse(simulator.model)
        )
        old = simulator.grafts.grafts if isinstance(simulator.grafts, BoundGrafts) else ()
        bound = list(old)
        for graft, k in zip(self.grafts, jax.random.split(key, len(self.grafts)), strict=True):
            made = _bind(graft, shapes, k, simulator.dt.dtype)
            if made.label in [b.label for b in bound]:
                raise VariableError(f"Two grafts are named '{made.label}'. Give one a name=.")
            bound.append(made)
        return BoundGrafts(tuple(bound), _previous(bound, shapes))


def _bind(graft: Graft, shapes: wiring.Shapes, key: Any, dtype: Any) -> BoundGraft:
    if graft.mode not in MODES:
        raise VariableError(f"mode '{graft.mode}'. {suggest(graft.mode, MODES)}")
    if not graft.prior > 0:
        raise VariableError(f"The prior of a weight must be positive, got {graft.prior}.")
    targets, rows = _targets(graft, shapes)
    inputs = _inputs(graft, shapes, rows)
    _check_order(graft, shapes, targets, inputs)
    columns = tuple(c for i in inputs.values() for c in i.columns)
    units = tuple(u for i in inputs.values() for u in i.units)
    slices, at = {}, 0
    for text, i in inputs.items():
        slices[text] = slice(at, at + len(i.columns))
        at += len(i.columns)
    n_out = sum(len(t.columns) for t in targets)
    angles = isinstance(graft.network, Specification) and graft.network.plain_angles
    scale_in, known_in = _input_scales(graft, slices, units, angles)
    scale_out, known_out = _output_scale(graft, targets)
    frame = Frame(slices, jnp.asarray(scale_in, dtype), jnp.asarray(scale_out, dtype), n_out)
    check(graft.structures, Setting(frame, targets, inputs, graft.mode, shapes.model.tree))
    width = n_out
    for s in reversed(graft.structures):
        width = s.outputs(width)
    network = _build(graft, len(rows), len(columns), width, columns, key, dtype)
    arrays, form = eqx.partition(network, eqx.is_array)
    if graft.structures and _recurrent(network):
        raise VariableError(f"Graft '{graft.label}': a structure needs a network without memory.")
    return BoundGraft(
        Wiring(
            label=graft.label,
            mode=graft.mode,
            shared=graft.shared,
            rows=len(rows),
            row_labels=_row_labels(shapes, rows),
            inputs=tuple(inputs.values()),
            texts=tuple(inputs),
            targets=targets,
            structure=graft.structures,
            columns=columns,
            units=units,
            scaled=(tuple(known_in), known_out),
            prior=float(graft.prior),
            specification=graft.network if isinstance(graft.network, Specification) else None,
            selectors=graft.targets,
        ),
        form,
        arrays,
        frame.input_scale,
        frame.output_scale,
    )


def _targets(graft: Graft, shapes: wiring.Shapes) -> tuple[tuple[wiring.Target, ...], wiring.Rows]:
    for s in graft.structures:
        if (own := s.target(shapes, graft.targets)) is not None:
            return (own[0],), own[1]
    if not graft.targets:
        raise VariableError("A graft needs at least one target.")
    found = [wiring.target(shapes, text) for text in graft.targets]
    targets, rows = tuple(t for t, _ in found), [r for _, r in found]
    changed = [(t.name, i) for t in targets for row in t.places for i in row]
    if len(set(changed)) < len(changed):
        raise VariableError(f"The targets {', '.join(graft.targets)} have rows in common.")
    if all(r == rows[0] for r in rows):
        return targets, rows[0]
    if any(len(r) > 1 for r in rows):
        labels = (", ".join(_row_labels(shapes, r)) or "the whole" for r in rows)
        each = (f"{text} has {which}" for text, which in zip(graft.targets, labels, strict=True))
        raise VariableError(
            f"The targets of one network must have the same rows: {'; '.join(each)}."
        )
    # One row each, of different things: there is no row that an input could follow.
    return targets, wiring.Rows("", ())


def _inputs(graft: Graft, shapes: wiring.Shapes, rows: wiring.Rows) -> dict[str, wiring.Input]:
    found: dict[str, wiring.Input] = {}
    for entry in graft.sources:
        text = entry if isinstance(entry, str) else entry.text
        if text in found:
            raise VariableError(
                f"Graft '{graft.label}' has two inputs '{text}'. Give a Feature a name=, or take "
                "one out."
            )
        found[text] = _input(entry, shapes, rows)
    if not found:
        raise VariableError(f"Graft '{graft.label}' has no input.")
    return found


def _input(entry: str | Feature, shapes: wiring.Shapes, rows: wiring.Rows) -> wiring.Input:
    if isinstance(entry, str):
        return wiring.source(shapes, entry, rows)
    of = (entry.of,) if isinstance(entry.of, str) else entry.of
    sources = tuple(wiring.source(shapes, text, rows) for text in of)
    examples = [jax.ShapeDtypeStruct((len(s.columns),), jnp.zeros(()).dtype) for s in sources]
    try:
        result = jax.eval_shape(lambda *xs: jnp.reshape(entry.function(*xs), -1), *examples)
    except (TypeError, ValueError, IndexError) as error:
        shown = ", ".join(f"[{len(s.columns)}]" for s in sources)
        raise VariableError(f"Input {entry.text} fails on arrays {shown}: {error}") from error
    n = result.shape[0]
    columns = (entry.text,) if n == 1 else tuple(f"{entry.text}.{k}" for k in range(n))
    return wiring.Computed(entry.function, sources, columns, (entry.unit,) * n)


def _check_order(
    graft: Graft,
    shapes: wiring.Shapes,
    targets: tuple[wiring.Target, ...],
    inputs: Mapping[str, wiring.Input],
) -> None:
    first = min((t.name for t in targets), key=shapes.order.index)
    limit = shapes.order.index(first)
    for text, i in inputs.items():
        for s in i.sources:
            if not s.previous and shapes.order.index(s.name) > limit:
                raise VariableError(
                    f"Graft '{graft.label}': its input '{text}' is computed after its target "
                    f"'{first}'. Computed before it, in order: "
                    f"{', '.join(shapes.order[:limit])}. Or take the last step's value, "
                    f"'{s.text}@prev'."
                )


def _input_scales(
    graft: Graft, slices: Mapping[str, slice], units: tuple[str, ...], angles: bool
) -> tuple[list[float], list[bool]]:
    scale, known = [1.0] * len(units), [False] * len(units)
    if angles:
        known = [u == "rad" for u in units]
    for text, value in graft.input_scale.items():
        if text not in slices:
            raise VariableError(
                f"input_scale for '{text}', which is no input. {suggest(text, slices)}"
            )
        for k in range(slices[text].start, slices[text].stop):
            scale[k], known[k] = _number(value, units[k], text), True
    return scale, known


def _output_scale(graft: Graft, targets: tuple[wiring.Target, ...]) -> tuple[list[float], bool]:
    factor = graft.mode == "scale"
    units = ["1" if factor else u for t in targets for u in t.units]
    if graft.output_scale is None:
        return [1.0] * len(units), factor
    return [_number(graft.output_scale, u, graft.label) for u in units], True


def _number(value: float | str, wanted: str, what: str) -> float:
    """A scale in SI units; a text must have a unit of the right kind."""
    size = value
    if isinstance(value, str):
        digits, _, symbol = value.strip().partition(" ")
        try:
            size = float(digits)
        except ValueError as error:
            raise VariableError(
                f"Scale of {what}: '{value}' is not a number with a unit."
            ) from error
        if symbol:
            try:
                given = unit(symbol)
            except LogError as error:
                raise VariableError(f"Scale of {what}: {error}") from error
            if given.si not in [w.strip() for w in wanted.split("|")]:
                raise VariableError(f"Scale of {what}: '{value}' is not in {wanted}.")
            size = size * given.factor
    if not 0 < float(size) < math.inf:
        raise VariableError(f"Scale of {what} must be positive, got {value}.")
    return float(size)


def _build(
    graft: Graft, rows: int, n_in: int, n_out: int, columns: tuple[str, ...], key: Any, dtype: Any
) -> Any:
    if isinstance(graft.network, Specification):
        spec = graft.network
        if graft.shared:
            return spec.build(n_in, n_out, key, dtype)
        keys = jax.random.split(key, rows)
        return eqx.filter_vmap(lambda k: spec.build(n_in, n_out, k, dtype))(keys)
    network = graft.network
    if isinstance(network, type) or not callable(network):
        raise VariableError(
            f"Graft '{graft.label}': network must be MLP(...), GRU(...), Library(...) or an "
            f"Equinox module that maps [{n_in}] to [{n_out}], got {network}."
        )
    # What is an array becomes a leaf of the simulator, in its precision; the rest is its form.
    network = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, network)
    network = jax.tree.map(lambda x: x.astype(dtype) if eqx.is_inexact_array(x) else x, network)
    x = jax.ShapeDtypeStruct((n_in,), dtype)
    args = (x, network.initial()) if isinstance(network, Recurrent) else (x,)
    try:
        out = eqx.filter_eval_shape(network, *args)
    except Exception as error:
        raise VariableError(
            f"Graft '{graft.label}': the network does not take its {n_in} inputs "
            f"({', '.join(columns)}): {error}"
        ) from error
    out = out[0] if isinstance(network, Recurrent) else out
    if getattr(out, "shape", None) != (n_out,):
        raise VariableError(
            f"Graft '{graft.label}': the network must give shape ({n_out},), it gives "
            f"{getattr(out, 'shape', out)}."
        )
    if graft.shared:
        return network
    return eqx.filter_vmap(lambda _: network, axis_size=rows)(jnp.arange(rows))


def _recurrent(network: Any) -> bool:
    return isinstance(network, Recurrent)


def _row_labels(shapes: wiring.Shapes, rows: wiring.Rows) -> tuple[str, ...]:
    if not rows.kind:
        return ("",)
    every = wiring.labels(shapes.model, rows.kind)
    return tuple("/".join(every[i] for i in m) for m in rows.members)


def _previous(bound: list[BoundGraft], shapes: wiring.Shapes) -> tuple[Any, ...]:
    """Names whose last values are remembered, and their shapes."""
    names = [s.name for b in bound for s in b.wiring.sources if s.previous]
    return tuple((n, shapes.shape[n]) for n in dict.fromkeys(names))
