"""Building mechanisms from code: file readers, tests and papers' examples all go through here.

builder = Builder("pendulum")
builder.link("arm", joint="revolute", axis=(1, 0, 0), mass=1.0, com=(0, 0.5, 0), inertia=0.01)
model = builder.build()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks, pairs as touching
from graftsim.model.contact_counts import SIZES
from graftsim.model.joints import JOINT_TYPES
from graftsim.model.model import Actuators, Frames, Geoms, Joints, Links, Model, Pairs, World
from graftsim.model.tree import Tree
from graftsim.precision import resolve_dtype

WORLD = "world"
ACTUATOR_KINDS = ("torque", "position", "velocity")
Vector = Sequence[float] | np.ndarray

# Dimensionless defaults of regularised friction; both speeds are rad/s or m/s.
FRICTION_VELOCITY = 0.01
STRIBECK_VELOCITY = 0.1


@dataclass
class _Link:
    name: str
    parent: str
    joint: str
    joint_name: str
    numbers: dict[str, Any]


@dataclass
class Builder:
    """Collects links, frames, shapes and actuators by name; `build` checks and freezes them."""

    name: str = "mechanism"
    gravity: Vector = (0.0, 0.0, -9.81)
    notes: list[str] = field(default_factory=list)
    _links: dict[str, _Link] = field(default_factory=dict)
    _frames: dict[str, dict] = field(default_factory=dict)
    _geoms: dict[str, dict] = field(default_factory=dict)
    _actuators: dict[str, dict] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], dict] = field(default_factory=dict)
    _excluded: list[tuple[str, str]] = field(default_factory=list)
    _joints: set[str] = field(default_factory=set)

    def link(
        self,
        name: str,
        parent: str = WORLD,
        joint: str = "revolute",
        *,
        joint_name: str | None = None,
        origin: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
        axis: Vector = (0.0, 0.0, 1.0),
        mass: float = 0.0,
        com: Vector = (0.0, 0.0, 0.0),
        inertia: float | Vector = 0.0,
        armature: float | Vector = 0.0,
        damping: float | Vector = 0.0,
        stiffness: float | Vector = 0.0,
        rest: Vector | float | None = None,
        friction: float | Vector = 0.0,
        stribeck: float | Vector = 0.0,
        stribeck_velocity: float | Vector = STRIBECK_VELOCITY,
        friction_velocity: float | Vector = FRICTION_VELOCITY,
        lower: float | Vector = -np.inf,
        upper: float | Vector = np.inf,
        limit_stiffness: float | Vector = 0.0,
        limit_damping: float | Vector = 0.0,
    ) -> Builder:
        """Add a link and the joint that moves it relative to `parent` (a link, or "world").

        `origin` (m) and `rotation` (w x y z) place the joint in the parent; the link's frame
        coincides with it at the joint's zero position. `inertia` about the centre of mass in the
        link's axes: one number (isotropic), three (principal) or six (xx yy zz xy xz yz). `rest`
        has the joint's position coordinates; its default is the joint's zero. Passive properties
        are one number for every degree of freedom of the joint, or one each.

        Raises ModelError: repeated name, unknown parent or joint type, impossible inertia.
        """
        if name in self._links or name == WORLD:
            raise ModelError(f"Link '{name}' is declared twice or has the reserved name 'world'.")
        if parent != WORLD and parent not in self._links:
            raise ModelError(
                f"Link '{name}': its parent '{parent}' is not declared before it. "
                f"{suggest(parent, [WORLD, *self._links])}"
            )
        if joint not in JOINT_TYPES:
            raise ModelError(f"Link '{name}': joint type '{joint}'. {suggest(joint, JOINT_TYPES)}")
        kind = JOINT_TYPES[joint]
        joint_name = joint_name or name
        if joint_name in self._joints:
            raise ModelError(f"Joint '{joint_name}' is declared twice.")
        where = f"link '{name}'"
        per_dof = {
            "armature": armature,
            "damping": damping,
            "stiffness": stiffness,
            "friction": friction,
            "stribeck": stribeck,
            "stribeck_velocity": stribeck_velocity,
            "friction_velocity": friction_velocity,
            "lower": lower,
            "upper": upper,
            "limit_stiffness": limit_stiffness,
            "limit_damping": limit_damping,
        }
        numbers: dict[str, Any] = {
            "origin": checks.vector(origin, 3, f"{where}: origin"),
            "rotation": checks.unit(rotation, 4, f"{where}: rotation"),
            "axis": checks.unit(axis, 3, f"{where}: axis"),
            "mass": float(mass),
            "com": checks.vector(com, 3, f"{where}: com"),
            "inertia": checks.inertia(inertia, f"{where}: inertia"),
            "rest": np.array(kind.neutral)
            if rest is None
            else checks.vector(np.atleast_1d(rest), kind.nq, f"{where}: rest"),
        } | {k: checks.per_dof(v, kind.nv, f"{where}: {k}") for k, v in per_dof.items()}
        checks.body(numbers["mass"], numbers["inertia"], where)
        self._links[name] = _Link(name, parent, joint, joint_name, numbers)
        self._joints.add(joint_name)
        return self

    def frame(
        self,
        name: str,
        link: str,
        position: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
    ) -> Builder:
        """Name a frame fixed to a link: a tool, a sensor, a marker."""
        self._new(name, self._frames, "Frame")
        if name in self._links:
            raise ModelError(f"Frame '{name}' has the name of a link; give it another.")
        self._frames[name] = {
            "link": link,
            "position": checks.vector(position, 3, f"frame '{name}': position"),
            "rotation": checks.unit(rotation, 4, f"frame '{name}': rotation"),
        }
        return self

    def geom(
        self,
        kind: str,
        size: Vector | float,
        link: str = WORLD,
        position: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
        *,
        name: str | None = None,
        vertices: np.ndarray | None = None,
        mask: tuple[int, int] = (1, 1),
        **surface: float | None,
    ) -> Builder:
        """Attach a shape to a link. Sizes (m) after MuJoCo, unused numbers left out:

        sphere (radius), capsule and cylinder (radius, half length along z), box (half sides),
        ellipsoid (semi-axes), plane (none; normal along z), mesh (none; `vertices` [n, 3] of a
        convex body), polygon (none; `vertices` [n, 2] of a convex outline in the shape's xy plane,
        counter-clockwise, for mechanisms that move in the world's xy plane).

        `mask` (type, what it is open to): bits as MuJoCo's contype and conaffinity; two shapes may
        touch when either's type meets what the other is open to. `surface`: friction, stribeck,
        friction_velocity (m/s), restitution, stiffness (N/m^n), dissipation (s/m), cfm (1/kg) of
        the pairs that it will belong to.
        """
        name = name or f"{link}/{kind}{len(self._geoms)}"
        self._new(name, self._geoms, "Shape")
        if kind not in SIZES:
            raise ModelError(f"Shape '{name}': kind '{kind}'. {suggest(kind, SIZES)}")
        needs = SIZES[kind]
        given = np.atleast_1d(np.asarray(size, float))[:needs]
        if len(given) < needs or not np.all((given > 0) & (given < np.inf)):
            raise ModelError(f"Shape '{name}': a {kind} needs {needs} positive sizes: {size}")
        if (kind in ("mesh", "polygon")) != (vertices is not None):
            raise ModelError(f"Shape '{name}': vertices belong to meshes and polygons only.")
        self._geoms[name] = {
            "kind": kind,
            "link": link,
            "size": np.concatenate([given, np.zeros(3 - len(given))]),
            "position": checks.vector(position, 3, f"shape '{name}': position"),
            "rotation": checks.unit(rotation, 4, f"shape '{name}': rotation"),
            "vertices": np.zeros((0, 3)) if vertices is None else _corners(vertices, kind, name),
            "mask": mask,
            "surface": touching.check_surface(surface, f"shape '{name}'"),
        }
        return self

    def pair(self, a: str, b: str, **surface: float | None) -> Builder:
        """Let two shapes touch whatever masks and links say, or state what holds between them.

        `surface`: as for `geom`. Raises ModelError for a number that no surface can have.
        """
        if frozenset((a, b)) in {frozenset(p) for p in self._pairs}:
            raise ModelError(f"Pair '{a}', '{b}' is declared twice.")
        self._pairs[a, b] = touching.check_surface(surface, f"pair '{a}', '{b}'")
        return self

    def exclude(self, a: str, b: str) -> Builder:
        """Let no shape of link `a` touch a shape of link `b`."""
        self._excluded.append((a, b))
        return self

    def actuator(
        self,
        name: str,
        joint: str,
        kind: str = "torque",
        *,
        gear: float = 1.0,
        gain: float = 1.0,
        kp: float = 0.0,
        kd: float = 0.0,
        control_range: tuple[float, float] = (-np.inf, np.inf),
        force_range: tuple[float, float] = (-np.inf, np.inf),
        time_constant: float | None = None,
    ) -> Builder:
        """Drive a degree of freedom (its label: the joint's name, `root.x` for joints with many).

        torque: f = gain u. position: f = kp (u - gear q) - kd gear qd.
        velocity: f = kd (u - gear qd).
        The force is limited to `force_range`, and the joint feels gear f. With a `time_constant`
        (s) the command passes a first-order lag, whose state is in `State.act`.
        """
        self._new(name, self._actuators, "Actuator")
        if kind not in ACTUATOR_KINDS:
            raise ModelError(f"Actuator '{name}': kind '{kind}'. {suggest(kind, ACTUATOR_KINDS)}")
        for what, (low, high) in {"control": control_range, "force": force_range}.items():
            if not low < high:
                raise ModelError(f"Actuator '{name}': {what}_range {low, high} is empty.")
        checks.vector((gear, gain, kp, kd), 4, f"Actuator '{name}': gear, gain, kp, kd")
        if time_constant is not None and not 0 < time_constant < np.inf:
            raise ModelError(f"Actuator '{name}': time_constant must be positive: {time_constant}")
        self._actuators[name] = {
            "joint": joint,
            "kind": kind,
            "gear": gear,
            "gain": gain,
            "kp": kp,
            "kd": kd,
            "control_lower": control_range[0],
            "control_upper": control_range[1],
            "force_lower": force_range[0],
            "force_upper": force_range[1],
            "lagged": time_constant is not None,
            "time_constant": 0.0 if time_constant is None else time_constant,
        }
        return self

    def build(self, dtype: Any = None, *, self_collision: bool = False) -> Model:
        """Freeze into a `Model` of the given float type (default: JAX's present one).

        `self_collision`: shapes of one mechanism may touch each other, but for parent and child.
        Raises ModelError: no link, an end link that moves without mass or inertia, an actuator or
        frame on something unknown; PrecisionError: float64 asked for while JAX has it switched off.
        """
        if not self._links:
            raise ModelError(f"Mechanism '{self.name}' has no link.")
        dtype = resolve_dtype(dtype)
        links = list(self._links.values())
        index = {x.name: i for i, x in enumerate(links)} | {WORLD: -1}
        tree = Tree(
            links=tuple(x.name for x in links),
            joints=tuple(x.joint_name for x in links),
            parent=tuple(index[x.parent] for x in links),
            types=tuple(x.joint for x in links),
        )
        masses = np.array([x.numbers["mass"] for x in links])
        checks.massless_ends(tree, masses, np.concatenate([x.numbers["armature"] for x in links]))
        checks.inertialess_ends(tree, [x.numbers for x in links])

        def column(rows: list[Any], shape: tuple[int, ...]) -> Any:
            return jnp.asarray(np.array(rows, float).reshape(shape), dtype)

        def rows(key: str, *tail: int) -> Any:
            return column([x.numbers[key] for x in links], (len(links), *tail))

        def dofs(key: str) -> Any:
            return column(np.concatenate([x.numbers[key] for x in links]).tolist(), (-1,))

        joint = Joints(
            **{k: rows(k, n) for k, n in {"origin": 3, "rotation": 4, "axis": 3}.items()},
            **{
                k: dofs(k)
                for k in Joints.__dataclass_fields__
                if k not in ("origin", "rotation", "axis")
            },
        )

        def placed(items: dict[str, dict], kind: str) -> dict[str, Any]:
            for name, item in items.items():
                if item["link"] not in index:
                    known = suggest(item["link"], index)
                    raise ModelError(f"{kind} '{name}': no link '{item['link']}'. {known}")
            values = list(items.values())
            return {
                "names": tuple(items),
                "link": tuple(index[x["link"]] for x in values),
                "position": column([x["position"] for x in values], (len(values), 3)),
                "rotation": column([x["rotation"] for x in values], (len(values), 4)),
            }

        geoms, shapes = list(self._geoms.values()), placed(self._geoms, "Shape")
        pair, skipped = self._build_pairs(tree, index, masses.sum(), self_collision, column)
        return Model(
            name=self.name,
            tree=tree,
            notes=(*self.notes, *skipped),
            link=Links(mass=rows("mass"), com=rows("com", 3), inertia=rows("inertia", 6)),
            joint=joint,
            actuator=self._build_actuators(tree, column),
            geom=Geoms(
                kinds=tuple(g["kind"] for g in geoms),
                size=column([g["size"] for g in geoms], (len(geoms), 3)),
                vertices=tuple(jnp.asarray(g["vertices"], dtype) for g in geoms),
                **shapes,
            ),
            pair=pair,
            frame=Frames(**placed(self._frames, "Frame")),
            world=World(gravity=jnp.asarray(checks.vector(self.gravity, 3, "gravity"), dtype)),
        )

    def _build_pairs(
        self, tree: Tree, index: dict[str, int], mass: float, self_collision: bool, column: Any
    ) -> tuple[Pairs, list[str]]:
        """The pairs, and sentences on those that no function computes contact of."""
        names = list(self._geoms)
        geoms: list[dict[str, Any]] = [g | {"link": index[g["link"]]} for g in self._geoms.values()]
        for what, known in ((self._excluded, index), (self._pairs, names)):
            for name in {n for pair in what for n in pair}:
                if name not in known:
                    kind = "Exclusion of links" if known is index else "Pair of shapes"
                    raise ModelError(f"{kind}: no '{name}'. {suggest(name, known)}")
        excluded = {frozenset((index[a], index[b])) for a, b in self._excluded}
        stated = {}
        for (a, b), numbers in self._pairs.items():
            i, j = names.index(a), names.index(b)
            if not touching.count(geoms, i, j):
                kinds = f"{geoms[i]['kind']} and {geoms[j]['kind']}"
                raise ModelError(f"Pair '{a}', '{b}': no contact between {kinds}.")
            stated[touching.ordered(geoms, i, j)] = numbers
        apart = touching.candidates(tree, geoms, excluded, self_collision)
        found = [pair for pair in apart if touching.count(geoms, *pair)]
        skipped = [pair for pair in apart if not touching.count(geoms, *pair)]
        found += [pair for pair in stated if pair not in found]
        weight = mass * (float(np.linalg.norm(self.gravity)) or 9.81)
        surfaces = [
            touching.surface(geoms[i], geoms[j], stated.get((i, j), {}), weight) for i, j in found
        ]
        pairs = Pairs(
            names=tuple(f"{names[i]}/{names[j]}" for i, j in found),
            geoms=tuple(found),
            **{k: column([s[k] for s in surfaces], (len(found),)) for k in touching.SURFACE},
        )
        return pairs, touching.cannot_touch(
            (geoms[i]["kind"], geoms[j]["kind"], f"{names[i]}/{names[j]}") for i, j in skipped
        )

    def _build_actuators(self, tree: Tree, column: Any) -> Actuators:
        items = list(self._actuators.values())
        for name, item in self._actuators.items():
            if item["joint"] not in tree.dofs:
                known = suggest(item["joint"], tree.dofs)
                raise ModelError(
                    f"Actuator '{name}': no degree of freedom named '{item['joint']}'. {known}"
                )
        leaves = [
            k for k, f in Actuators.__dataclass_fields__.items() if not f.metadata.get("static")
        ]
        return Actuators(
            names=tuple(self._actuators),
            kinds=tuple(x["kind"] for x in items),
            dof=tuple(tree.dofs.index(x["joint"]) for x in items),
            lagged=tuple(x["lagged"] for x in items),
            **{k: column([x[k] for x in items], (len(items),)) for k in leaves},
        )

    def _new(self, name: str, known: dict[str, Any], kind: str) -> None:
        if name in known:
            raise ModelError(f"{kind} '{name}' is declared twice.")


def _corners(vertices: Any, kind: str, name: str) -> np.ndarray:
    """[n, 3]; those of a polygon lie at z = 0."""
    out = np.asarray(vertices, float)
    width = 2 if kind == "polygon" else 3
    if out.ndim != 2 or out.shape[1] != width or len(out) < width + 1:
        raise ModelError(
            f"Shape '{name}': vertices of a {kind} have shape [n, {width}], n > {width}; "
            f"got {out.shape}."
        )
    if not np.all(np.isfinite(out)):
        raise ModelError(f"Shape '{name}': vertices must be finite numbers.")
    if kind == "mesh":
        return out
    edge, following = np.roll(out, -1, 0) - out, np.roll(out, -2, 0) - np.roll(out, -1, 0)
    if np.any(edge[:, 0] * following[:, 1] - edge[:, 1] * following[:, 0] <= 0):
        raise ModelError(f"Shape '{name}': a polygon is convex, its corners counter-clockwise.")
    return np.pad(out, ((0, 0), (0, 1)))
