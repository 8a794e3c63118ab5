"""From selectors to indices: where a graft's inputs come from, and where its output goes.

A graft is evaluated for R rows at once (R = 1 without a bracket on the target). Every input and
target is a fixed table of places in a flattened variable, one line for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation import control_owners
from graftsim.errors import VariableError, suggest
from graftsim.model.catalogue import dofs_by_row, labels
from graftsim.model.model import Model
from graftsim.selectors import Selector, row_name, split_components
from graftsim.spatial.components import FORCE, MOTION, VECTOR
from graftsim.spatial.rotation import cross, transpose
from graftsim.spatial.transform import rotate
from graftsim.taps import CATALOGUE

Table = tuple[tuple[int, ...], ...]
Lookup = Callable[[str], Any]


class Shapes(NamedTuple):
    """What there is to wire: names in the order of computation, their shapes, and the model."""

    order: tuple[str, ...]
    shape: Mapping[str, tuple[int, ...]]
    model: Model

    def labels(self, name: str) -> tuple[str, ...]:
        """Labels of the rows of a variable."""
        return labels(self.model, CATALOGUE[name].rows)

    def width(self, name: str) -> int:
        """Numbers in a row."""
        return int(np.prod(self.shape[name][1:], dtype=int))


@dataclass(frozen=True)
class Source:
    """One variable that a graft reads: `places` [R, k] in it, flattened. `text`: as written."""

    text: str
    name: str
    previous: bool
    places: Table
    columns: tuple[str, ...]
    units: tuple[str, ...]

    def read(self, lookup: Lookup) -> Float[Array, "R k"]:
        """Its values, a line for each row of the graft."""
        return _take(lookup(self.key), self.places)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Itself: the variables that an input reads."""
        return (self,)

    @property
    def key(self) -> str:
        """Name to look up."""
        return f"{self.name}@prev" if self.previous else self.name


@dataclass(frozen=True)
class Computed:
    """A user's function of sources, applied row by row."""

    function: Callable[..., Any]
    sources: tuple[Source, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]

    def read(self, lookup: Lookup) -> Float[Array, "R k"]:
        """Its values, a line for each row of the graft."""

        def row(*xs: Array) -> Array:
            return jnp.reshape(jnp.asarray(self.function(*xs)), -1)

        return jax.vmap(row)(*(s.read(lookup) for s in self.sources))


Input = Source | Computed


@dataclass(frozen=True)
class Target:
    """One variable that a graft changes: `places` [R, k] in it, flattened."""

    name: str
    places: Table
    shape: tuple[int, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]

    def select(self, value: Any) -> Any:
        """The numbers that are changed [R, k] of a variable [..]."""
        return _take(value, self.places)

    def change(self, value: Array, y: Float[Array, "R k"], mode: str, lookup: Lookup) -> Array:
        """The variable with the graft's output added, as a factor 1 + y, or put in."""
        flat = jnp.reshape(value, -1)
        places = np.array(self.places)
        whole = np.array_equal(places.reshape(-1), np.arange(flat.shape[0]))
        old = flat if whole else flat[places.reshape(-1)]
        y = jnp.reshape(y, -1)
        new = {"add": old + y, "scale": old * (1 + y), "replace": y}[mode]
        return jnp.reshape(new if whole else flat.at[places.reshape(-1)].set(new), self.shape)


@dataclass(frozen=True)
class PairTarget(Target):
    """Wrenches between pairs of links: `places` are the two links of each row."""

    def select(self, value: Any) -> Any:
        """Forces on the first link of each pair [R, 6]."""
        return jnp.asarray(value)[np.array(self.places)[:, 0]]

    def change(self, value: Array, y: Float[Array, "R 6"], mode: str, lookup: Lookup) -> Array:
        """External forces with action and reaction added, each at its link's origin, in its axes.

        One wrench about one point, felt by both with opposite sign, changes neither the linear nor
        the angular momentum of the two.
        """
        p, R = lookup("link.position"), lookup("link.rotation")
        for row, (a, b) in enumerate(self.places):
            n, f = rotate(R[a], y[row, :3]), rotate(R[a], y[row, 3:])
            middle = (p[a] + p[b]) / 2
            for link, sign in ((a, 1.0), (b, -1.0)):
                moment = n + cross(middle - p[link], f)
                wrench = jnp.concatenate([rotate(transpose(R[link]), v) for v in (moment, f)])
                value = value.at[link].add(sign * wrench)
        return value


def _take(value: Array, places: Table) -> Float[Array, "R k"]:
    index = np.array(places)
    flat = jnp.reshape(value, -1)
    if np.array_equal(index.reshape(-1), np.arange(flat.shape[0])):
        return jnp.reshape(flat, index.shape)
    return flat[index]


# -- reading selectors ----------------------------------------------------------------------


def target(shapes: Shapes, text: str) -> tuple[Target, Rows]:
    """A target and its rows. Raises VariableError: unknown, no row, or nothing reads it."""
    selector, components = split_components(text)
    chosen = Selector.parse(selector)
    _exists(shapes, chosen.name)
    if CATALOGUE[chosen.name].observe_only:
        raise VariableError(
            f"'{chosen.name}' is shown, but nothing in the dynamics reads it, so a graft on it "
            "would change nothing."
        )
    rows = _rows(shapes, chosen)
    if chosen.name == "control.u":
        _not_prescribed(shapes, rows)
    width, shape = shapes.width(chosen.name), shapes.shape[chosen.name]
    kept = _kept(shapes, chosen.name, components)
    places = np.array(rows)[:, None] * width + np.array(kept)
    names = [_component_names(shapes, chosen.name)[k] for k in kept]
    units = [tuple(own[k] for k in kept) for own in _units(shapes, chosen.name, rows)]
    if chosen.pattern is None:
        every = shapes.labels(chosen.name)
        columns = tuple(f"{row_name(chosen.name, every[r])}{n}" for r in rows for n in names)
        made = Target(chosen.name, _table(places.reshape(1, -1)), shape, columns, sum(units, ()))
        return made, Rows("", ())
    shown = chosen.pattern if len(rows) == 1 else "*"
    columns = tuple(f"{chosen.name}[{shown}]{n}" for n in names)
    made = Target(chosen.name, _table(places), shape, columns, _common(units, text))
    return made, Rows(CATALOGUE[chosen.name].rows, tuple((r,) for r in rows))


def pair_target(shapes: Shapes, pairs: Sequence[tuple[str, str]]) -> tuple[PairTarget, Rows]:
    """The target of action and reaction, a row for each pair of links."""
    known = shapes.labels("link.force")
    if not pairs:
        raise VariableError("ActionReaction needs at least one pair of links.")
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise VariableError(f"A pair is two different links, (link, link), got {pair!r}.")
        for name in pair:
            if name not in known:
                raise VariableError(f"There is no link named '{name}'. {suggest(name, known)}")
    places = tuple((known.index(a), known.index(b)) for a, b in pairs)
    units = _units(shapes, "link.force", (0,))[0]
    columns = tuple(f"link.force[*].{n}" for n in FORCE)
    made = PairTarget("link.force", places, shapes.shape["link.force"], columns, units)
    return made, Rows("link", places)


@dataclass(frozen=True)
class Rows:
    """Rows of a graft: the kind of their labels ("" for one row), and for each its members."""

    kind: str
    members: Table

    def __len__(self) -> int:
        return max(len(self.members), 1)


def source(shapes: Shapes, text: str, rows: Rows) -> Source:
    """An input of a graft with the given rows. `[*]` follows them; other patterns are repeated."""
    previous = "@prev" in text
    selector, components = split_components(text.replace("@prev", ""))
    chosen = Selector.parse(selector)
    _exists(shapes, chosen.name)
    name, width = chosen.name, shapes.width(chosen.name)
    kept = _kept(shapes, name, components)
    every, names = shapes.labels(name), [_component_names(shapes, name)[k] for k in kept]

    def units_of(rows: Sequence[int]) -> tuple[str, ...]:
        return tuple(own[k] for own in _units(shapes, name, rows) for k in kept)

    suffix = "@prev" if previous else ""
    if rows.kind and chosen.pattern == "*":
        index = [_follow(shapes, rows.kind, members, name, text) for members in rows.members]
        if len({len(i) for i in index}) > 1:
            counts = ", ".join(str(len(i)) for i in index)
            raise VariableError(
                f"'{text}': the rows of the target ({rows.kind}s) have different numbers of rows "
                f"of {name} ({counts}). Name the rows."
            )
        each = [""] if len(index[0]) == 1 else [f" {k + 1}" for k in range(len(index[0]))]
        columns = tuple(f"{name}[*]{e}{n}{suffix}" for e in each for n in names)
        units = _common([units_of(i) for i in index], text)
    else:
        own = _rows(shapes, chosen)
        index = [own] * len(rows)
        columns = tuple(f"{row_name(name, every[r])}{n}{suffix}" for r in own for n in names)
        units = units_of(own)
    places = np.array(index)[..., None] * width + np.array(kept)
    return Source(text, name, previous, _table(places.reshape(len(rows), -1)), columns, units)


def _follow(
    shapes: Shapes, kind: str, members: Sequence[int], name: str, text: str
) -> tuple[int, ...]:
    """Rows of a variable that belong to the members of a row of another kind.

    A degree of freedom belongs to the link that it moves, an actuator to its degree of freedom.
    """
    wanted = CATALOGUE[name].rows
    found = list(members)
    if wanted != kind:
        dofs_of, owners = (dofs_by_row(shapes.model, rows) for rows in (kind, wanted))
        dofs = [dof for i in members for dof in dofs_of[i]]
        found = [row for dof in dofs for row, own in enumerate(owners) if dof in own]
    if not found:
        raise VariableError(
            f"'{text}': rows of {name} ({wanted}s) do not follow those of the target ({kind}s) "
            "one by one. Name the rows, or use a variable of the joints."
        )
    return tuple(dict.fromkeys(found)) if len(members) == 1 else tuple(found)


def _rows(shapes: Shapes, chosen: Selector) -> tuple[int, ...]:
    every = shapes.labels(chosen.name)
    rows = chosen.rows(every)
    if not rows:
        advice, fixed = chosen.nearest(every), shapes.model.frame
        if CATALOGUE[chosen.name].rows == "link" and chosen.label in fixed.names:
            carrier = fixed.link[fixed.names.index(chosen.label)]
            if carrier >= 0:
                link = shapes.model.tree.links[carrier]
                advice = f"'{chosen.label}' is fixed to '{link}' and moves as one with it."
        raise VariableError(f"'{chosen}' selects no row. {advice}")
    return rows


def _not_prescribed(shapes: Shapes, rows: Sequence[int]) -> None:
    """A path is known before its step, so that no network within the step can give it."""
    a = shapes.model.actuator
    owners = control_owners(a)
    for row in rows:
        if a.drives[owners[row]].prescribes:
            raise VariableError(
                f"'control.u[{shapes.labels('control.u')[row]}]' prescribes the motion of its "
                "joint: where that goes is fixed before the step in which a graft would act. "
                "Name the other rows."
            )


def _exists(shapes: Shapes, name: str) -> None:
    if name not in CATALOGUE:
        raise VariableError(f"There is no variable named '{name}'. {suggest(name, CATALOGUE)}")
    if 0 in shapes.shape[name]:
        raise VariableError(f"'{name}' is empty for this robot.")


def _component_names(shapes: Shapes, name: str) -> tuple[str, ...]:
    width = shapes.width(name)
    if width == 1:
        return ("",)
    parts = {3: VECTOR, 6: FORCE if name.endswith("force") else MOTION}.get(width, range(width))
    return tuple(f".{c}" for c in parts)


def _kept(shapes: Shapes, name: str, wanted: Sequence[str] | None) -> list[int]:
    """Which numbers of a row are meant, in the order asked for; None: all."""
    known = [c.removeprefix(".") for c in _component_names(shapes, name)]
    if wanted is None:
        return list(range(len(known)))
    if known == [""]:
        raise VariableError(f"{name} has one number a row; leave out '.{','.join(wanted)}'.")
    unknown = [c for c in wanted if c not in known]
    if unknown:
        raise VariableError(f"{name} has no component '{unknown[0]}'. {suggest(unknown[0], known)}")
    return [known.index(c) for c in wanted]


def _units(shapes: Shapes, name: str, rows: Sequence[int]) -> list[tuple[str, ...]]:
    """Units of the numbers of each row: turning or sliding form, halves of a spatial vector."""
    text, tree = CATALOGUE[name].unit, shapes.model.tree
    width = shapes.width(name)
    if "," in text:
        first, second = (u.strip() for u in text.split(","))
        return [(first,) * 3 + (second,) * 3 for _ in rows]
    forms = [u.strip() for u in text.split("|")]
    if len(forms) == 1:
        return [(text,) * width for _ in rows]
    by_dof = CATALOGUE[name].rows != "coordinate"
    dofs = dofs_by_row(shapes.model, CATALOGUE[name].rows)
    found = [tree.dof_units[dofs[r][0]] if by_dof else tree.coordinate_units[r] for r in rows]
    # A number of a quaternion has the unit 1 in any form.
    return [({"rad": forms[0], "m": forms[1]}.get(unit, unit),) for unit in found]


def _common(units: Sequence[tuple[str, ...]], text: str) -> tuple[str, ...]:
    """Units of columns; where rows differ (turning and sliding joints), all forms."""
    return tuple(" | ".join(dict.fromkeys(column)) for column in zip(*units, strict=True))


def _table(places: np.ndarray) -> Table:
    return tuple(tuple(int(i) for i in row) for row in places)
