"""What a builder has collected, frozen into a model: arrays in the order of declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks, pairs as touching
from graftsim.model.joint_type import JointType
from graftsim.model.model import Frames, Geoms, Joints, Links, Medium, Pairs
from graftsim.model.numbers import LOAD_DEPENDENT
from graftsim.model.tree import Tree
from graftsim.selectors import Selector

WORLD = "world"


@dataclass(frozen=True)
class Link:
    """A link and its joint as declared; `numbers` by the names of `LinkNumbers`, checked."""

    parent: str
    joint: JointType
    joint_name: str
    numbers: dict[str, Any]


@dataclass
class Declared:
    """Parts by name, surfaces of pairs, links kept apart."""

    links: dict[str, Link] = field(default_factory=dict)
    joint_names: set[str] = field(default_factory=set)
    frames: dict[str, dict] = field(default_factory=dict)
    geoms: dict[str, dict] = field(default_factory=dict)
    tendons: dict[str, dict] = field(default_factory=dict)
    actuators: dict[str, dict] = field(default_factory=dict)
    pairs: dict[tuple[str, str], dict] = field(default_factory=dict)
    excluded: list[tuple[str, str]] = field(default_factory=list)
    loops: dict[str, dict] = field(default_factory=dict)
    couplings: dict[str, dict] = field(default_factory=dict)
    medium: list[dict] = field(default_factory=list)

    @property
    def index(self) -> dict[str, int]:
        """Number of each link; -1 for the world."""
        return {name: i for i, name in enumerate(self.links)} | {WORLD: -1}

    def set_armature(self, given: Mapping[str, float]) -> None:
        """Armature by degree of freedom or pattern; ModelError: one that selects nothing."""
        places = [(x, k) for x in self.links.values() for k in range(x.joint.nv)]
        dofs = [d for x in self.links.values() for d in x.joint.dof_labels(x.joint_name)]
        for pattern, value in given.items():
            selector = Selector("joint.armature", pattern)
            rows = selector.rows(dofs)
            if not rows:
                raise ModelError(f"'{selector}' selects nothing. {selector.nearest(dofs)}")
            if not 0 <= value < np.inf:
                raise ModelError(f"{selector}={value}: it must be zero or positive, and finite.")
            for link, k in (places[row] for row in rows):
                link.numbers["armature"] = np.array(link.numbers["armature"], float)
                link.numbers["armature"][k] = value


class Frozen:
    """The parts of a model, in arrays of one float type.

    Raises ModelError: an end link that moves without mass or inertia, an actuator, frame, shape,
    pair or exclusion on something unknown.
    """

    def __init__(self, declared: Declared, dtype: Any) -> None:
        self.declared, self.dtype = declared, dtype
        links, index = declared.links.values(), declared.index
        self.tree = Tree(
            links=tuple(declared.links),
            joints=tuple(x.joint_name for x in links),
            parent=tuple(index[x.parent] for x in links),
            joint_types=tuple(x.joint for x in links),
        )
        self.mass = np.array([x.numbers["mass"] for x in links])
        armature = np.concatenate([x.numbers["armature"] for x in links])
        checks.massless_ends(self.tree, self.mass, armature)
        checks.inertialess_ends(self.tree, [x.numbers for x in links])

    def links(self) -> Links:
        """Inertial parameters."""
        return Links(**{k: self._of_links(k, *tail) for k, tail in _LINK.items()})

    def joints(self) -> Joints:
        """Geometry of joints; passive properties of degrees of freedom, `rest` of coordinates."""
        fields = Joints.__dataclass_fields__.items()
        flat = [k for k, f in fields if k not in _JOINT and not f.metadata.get("static")]
        numbers = [x.numbers for x in self.declared.links.values()]
        return Joints(
            **{k: self._of_links(k, n) for k, n in _JOINT.items()},
            **{k: self._column(np.concatenate([x[k] for x in numbers]).tolist(), -1) for k in flat},
            load_dependent=any(np.any(x[k]) for x in numbers for k in LOAD_DEPENDENT),
        )

    def geoms(self) -> Geoms:
        """Shapes."""
        geoms = self.declared.geoms
        return Geoms(
            types=tuple(g["kind"] for g in geoms.values()),
            size=self._column([g["size"] for g in geoms.values()], len(geoms), 3),
            vertices=tuple(jnp.asarray(g["vertices"], self.dtype) for g in geoms.values()),
            **self._placed(geoms, "Shape"),
        )

    def frames(self) -> Frames:
        """Frames."""
        return Frames(**self._placed(self.declared.frames, "Frame"))

    def medium(self) -> Medium:
        """What a medium acts on."""
        items, index = self.declared.medium, self.declared.index
        return Medium(
            link=tuple(index[x["link"]] for x in items),
            drags=any(np.any(x["box"]) for x in items),
            lifts=any(x["lift"] for x in items),
            position=self._column([x["position"] for x in items], len(items), 3),
            rotation=self._column([x["rotation"] for x in items], len(items), 4),
            box=self._column([x["box"] for x in items], len(items), 3),
            lift=self._column([x["lift"] for x in items], len(items)),
        )

    def pairs(self, gravity: float, self_collision: bool) -> tuple[Pairs, list[str]]:
        """The pairs, and sentences on those that no function computes contact of."""
        index, names = self.declared.index, list(self.declared.geoms)
        geoms: list[dict[str, Any]] = [
            g | {"link": index[g["link"]]} for g in self.declared.geoms.values()
        ]
        for what, known in ((self.declared.excluded, index), (self.declared.pairs, names)):
            for name in {n for pair in what for n in pair}:
                if name not in known:
                    kind = "Exclusion of links" if known is index else "Pair of shapes"
                    raise ModelError(f"{kind}: no '{name}'. {suggest(name, known)}")
        excluded = {frozenset((index[a], index[b])) for a, b in self.declared.excluded}
        stated = self._stated_pairs(geoms, names)
        apart = touching.candidates(self.tree, geoms, excluded, self_collision)
        found = [pair for pair in apart if touching.count(geoms, *pair)]
        skipped = [pair for pair in apart if not touching.count(geoms, *pair)]
        found += [pair for pair in stated if pair not in found]
        weight = self.mass.sum() * (gravity or 9.81)
        surfaces = [
            touching.surface(geoms[i], geoms[j], stated.get((i, j), {}), weight) for i, j in found
        ]
        pairs = Pairs(
            names=tuple(f"{names[i]}/{names[j]}" for i, j in found),
            geoms=tuple(found),
            **{k: self._column([s[k] for s in surfaces], len(found)) for k in touching.SURFACE},
        )
        return pairs, touching.cannot_touch(
            (geoms[i]["kind"].name, geoms[j]["kind"].name, f"{names[i]}/{names[j]}")
            for i, j in skipped
        )

    def _stated_pairs(
        self, geoms: list[dict[str, Any]], names: list[str]
    ) -> dict[tuple[int, int], dict]:
        stated = {}
        for (a, b), numbers in self.declared.pairs.items():
            i, j = names.index(a), names.index(b)
            if not touching.count(geoms, i, j):
                kinds = f"{geoms[i]['kind'].name} and {geoms[j]['kind'].name}"
                raise ModelError(f"Pair '{a}', '{b}': no contact between {kinds}.")
            stated[touching.ordered(geoms, i, j)] = numbers
        return stated

    def _column(self, rows: list[Any], *shape: int) -> Any:
        return jnp.asarray(np.array(rows, float).reshape(shape), self.dtype)

    def _of_links(self, key: str, *tail: int) -> Any:
        links = self.declared.links.values()
        return self._column([x.numbers[key] for x in links], len(links), *tail)

    def _placed(self, items: dict[str, dict], kind: str) -> dict[str, Any]:
        """Names, links and poses of frames or shapes."""
        index = self.declared.index
        for name, item in items.items():
            if item["link"] not in index:
                known = suggest(item["link"], index)
                raise ModelError(f"{kind} '{name}': no link '{item['link']}'. {known}")
        values = list(items.values())
        return {
            "names": tuple(items),
            "link": tuple(index[x["link"]] for x in values),
            "position": self._column([x["position"] for x in values], len(values), 3),
            "rotation": self._column([x["rotation"] for x in values], len(values), 4),
        }


# Numbers of each link and joint: the shape of one.
_LINK: dict[str, tuple[int, ...]] = {"mass": (), "com": (3,), "inertia": (6,)}
_JOINT = {"origin": 3, "rotation": 4, "axis": 3}
