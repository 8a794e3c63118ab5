"""Networks wired to the variables of a simulator: what a step evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from graftsim.errors import VariableError
from graftsim.graft.network import Recurrent, Specification
from graftsim.graft.structure import Frame, Structure
from graftsim.graft.wiring import Input, Source, Target
from graftsim.taps import Augmentation, Scope


@dataclass(frozen=True)
class Wiring:
    """All of a bound graft that is not a number.

    `selectors`: the targets as they were written; `scaled`: which scales are settled.
    """

    label: str
    mode: str
    shared: bool
    rows: int
    row_labels: tuple[str, ...]
    inputs: tuple[Input, ...]
    texts: tuple[str, ...]
    targets: tuple[Target, ...]
    structure: tuple[Structure, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    scaled: tuple[tuple[bool, ...], bool]
    prior: float
    specification: Specification | None
    selectors: tuple[str, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Variables that are read."""
        return tuple(s for i in self.inputs for s in i.sources)

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of each input."""
        out, at = {}, 0
        for text, i in zip(self.texts, self.inputs, strict=True):
            out[text] = slice(at, at + len(i.columns))
            at += len(i.columns)
        return out

    def settle(self) -> Wiring:
        """The same with all scales settled."""
        return replace(self, scaled=((True,) * len(self.columns), True))


class BoundGraft(eqx.Module):
    """A network on its place. `weights` are its arrays, with a leading row axis if not shared."""

    wiring: Wiring = eqx.field(static=True)
    form: Any = eqx.field(static=True)
    weights: Any
    input_scale: Float[Array, " n"]
    output_scale: Float[Array, " m"]

    @property
    def label(self) -> str:
        """Its name."""
        return self.wiring.label

    @property
    def network(self) -> Any:
        """The network as a module."""
        return eqx.combine(self.weights, self.form)

    @property
    def recurrent(self) -> bool:
        """Does it remember?"""
        return isinstance(self.form, Recurrent)

    def memory(self) -> Any:
        """What its network remembers before the first step: a line for each row, or ()."""
        if not self.recurrent:
            return ()
        if self.wiring.shared:
            rows = self.wiring.rows
            first = self.network.initial()
            return jax.tree.map(lambda h: jnp.broadcast_to(h, (rows, *jnp.shape(h))), first)
        return eqx.filter_vmap(lambda n: n.initial())(self.network)

    def __call__(self, x: Float[Array, "R n"], memory: Any = ()) -> tuple[Array, Any]:
        """Output [R, m] in physical units of raw inputs, and new memory."""
        w = self.wiring
        x = x / self.input_scale
        frame = Frame(w.slices, self.input_scale, self.output_scale, self.output_scale.shape[0])

        def one(weights: Any, x: Array, memory: Any) -> tuple[Array, Any]:
            network = eqx.combine(weights, self.form)
            if self.recurrent:
                return network(x, memory)
            f = network
            for s in w.structure:
                f = s.wrap(f, frame)
            return f(x), memory

        if w.rows == 1 and w.shared:
            squeezed = jax.tree.map(lambda h: h[0], memory)
            y, memory = one(self.weights, x[0], squeezed)
            y, memory = y[None], jax.tree.map(lambda h: h[None], memory)
        else:
            axes = (None if w.shared else 0, 0, 0)
            y, memory = jax.vmap(one, in_axes=axes)(self.weights, x, memory)
        return y * self.output_scale, memory

    # -- weights as a vector -------------------------------------------------------------------

    @property
    def trainable(self) -> Float[Array, " p"]:
        """Its weights in a row."""
        return ravel_pytree(eqx.filter(self.weights, eqx.is_inexact_array))[0]

    def with_trainable(self, vector: Float[Array, " p"]) -> BoundGraft:
        """The same graft with other weights."""
        real, rest = eqx.partition(self.weights, eqx.is_inexact_array)
        weights = eqx.combine(ravel_pytree(real)[1](vector), rest)
        return eqx.tree_at(lambda g: g.weights, self, weights)

    def groups(self) -> np.ndarray:
        """For each weight the group of its input, row * inputs + column; -1 for upper layers.

        All -1 for a network that does not tell which weights multiply which input.
        """
        count = self.trainable.shape[0]
        if not hasattr(self.form, "input_weights"):
            return np.full(count, -1)
        rows = 1 if self.wiring.shared else self.wiring.rows
        real = eqx.filter(self.network, eqx.is_inexact_array)
        one = real if self.wiring.shared else jax.tree.map(lambda w: w[0], real)
        marks = [np.asarray(m) for m in jax.tree.leaves(one.input_weights())]
        pieces = []
        for mark in marks:
            each = [
                np.where(mark < 0, -1, mark + r * len(self.wiring.columns)) for r in range(rows)
            ]
            pieces.append(np.stack(each).reshape(-1))
        return np.concatenate(pieces)

    def group_keys(self) -> tuple[tuple[str, str], ...]:
        """(row, input column) of each group; the row is "" where one network serves all."""
        rows = ("",) if self.wiring.shared else self.wiring.row_labels
        return tuple((r, c) for r in rows for c in self.wiring.columns)


class BoundGrafts(eqx.Module):
    """The grafts of a simulator. `previous`: variables whose last values are remembered."""

    grafts: tuple[BoundGraft, ...]
    previous: tuple[tuple[str, tuple[int, ...]], ...] = eqx.field(static=True)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the grafts."""
        return tuple(g.label for g in self.grafts)

    def __getitem__(self, label: str) -> BoundGraft:
        """A graft by its name; KeyError lists the names."""
        for g in self.grafts:
            if g.label == label:
                return g
        raise KeyError(f"{label!r}; grafts: {', '.join(self.labels)}")

    def replace(self, label: str, graft: BoundGraft) -> BoundGrafts:
        """The same grafts with another in place of one; KeyError as for `[label]`."""
        self[label]
        found = tuple(graft if g.label == label else g for g in self.grafts)
        return BoundGrafts(found, self.previous)

    def memory(self) -> Any:
        """Memory before the first step: values of the last step (zero), states of networks."""
        states = tuple(g.memory() for g in self.grafts)
        dtype = self.grafts[0].output_scale.dtype
        last = {name: jnp.zeros(shape, dtype) for name, shape in self.previous}
        return (last, states) if jax.tree.leaves((last, states)) else ()

    def augmentations(self, memory: Any) -> Mapping[str, Augmentation]:
        """Functions on the variables that grafts change, in a step that begins with this memory."""
        last, states = memory or ({}, ((),) * len(self.grafts))
        found: dict[str, list[Any]] = {}
        for graft, state in zip(self.grafts, states, strict=True):
            for place, target in enumerate(graft.wiring.targets):
                found.setdefault(target.name, []).append((graft, place, state))

        def augmentation(name: str) -> Augmentation:
            def apply(value: Any, scope: Scope) -> Any:
                for graft, place, state in found[name]:
                    if not _its_turn(graft, place, name, scope):
                        continue
                    value = _apply(graft, place, name, value, scope, last, state)
                return value

            return apply

        return {name: augmentation(name) for name in found}

    def remember(self, scope: Scope, memory: Any) -> Any:
        """Memory after a step."""
        if not memory:
            return memory
        last = {name: scope[name] for name, _ in self.previous}
        states = tuple(scope.notes[f"memory.{g.label}"] for g in self.grafts)
        return last, states


def _its_turn(graft: BoundGraft, place: int, name: str, scope: Scope) -> bool:
    """Whether the rows of a target are named now, where contact laws by pair name their own rows.

    Raises VariableError: some are and some are not, or an input has rows that are named later.
    """
    now = scope.present.get(name)
    if now is None:
        return True
    target = graft.wiring.targets[place]
    mine = now[_rows_of(target.places, target.shape)]
    if not mine.any():
        return False
    if not mine.all():
        raise VariableError(
            f"Graft '{graft.label}' on {name} has rows of several contact laws, which give their "
            "forces at different times of a step: give each its own graft, with rows in brackets."
        )
    for source in graft.wiring.sources:
        there = scope.present.get(source.name)
        if source.previous or source.name == name or there is None:
            continue
        if not there[_rows_of(source.places, jnp.shape(scope[source.name]))].all():
            raise VariableError(
                f"Graft '{graft.label}': '{source.text}' has rows whose contact law acts later in "
                f"the step than {name}. Take them from the step before: '{source.text}@prev'."
            )
    return True


def _rows_of(places: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of a variable in which places of it lie, flattened."""
    return np.unique(np.array(places) // int(np.prod(shape[1:], dtype=int)))


def _apply(
    graft: BoundGraft, place: int, name: str, value: Any, scope: Scope, last: Any, state: Any
) -> Any:
    def lookup(key: str) -> Any:
        if key.endswith("@prev"):
            return last[key.removesuffix("@prev")]
        # Its own target is an input too: the value before the graft.
        return value if key == name else scope[key]

    note = f"graft.{graft.label}"
    if note not in scope.notes:
        x = jnp.concatenate([i.read(lookup) for i in graft.wiring.inputs], -1)
        y, new = graft(x, state)
        scope.notes[note] = y
        scope.notes[f"inputs.{graft.label}"] = x
        scope.notes[f"memory.{graft.label}"] = new
    widths = [len(t.columns) for t in graft.wiring.targets]
    start = sum(widths[:place])
    y = scope.notes[note][:, start : start + widths[place]]
    return graft.wiring.targets[place].change(value, y, graft.wiring.mode, lookup)
