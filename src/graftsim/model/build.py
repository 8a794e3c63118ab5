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
from graftsim.model import checks
from graftsim.model.joints import JOINT_TYPES
from graftsim.model.model import Actuators, Frames, Geoms, Joints, Links, Model, World
from graftsim.model.tree import Tree
from graftsim.units import resolve_dtype

WORLD = "world"
GEOM_KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "plane", "mesh")
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
        if joint_name in {x.joint_name for x in self._links.values()}:
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
    ) -> Builder:
        """Attach a shape to a link. Sizes (m) after MuJoCo, unused numbers left out:

        sphere (radius), capsule and cylinder (radius, half length along z), box (half sides),
        ellipsoid (semi-axes), plane (none; normal along z), mesh (none; `vertices` [n, 3] of a
        convex body).
        """
        name = name or f"{link}/{kind}{len(self._geoms)}"
        self._new(name, self._geoms, "Shape")
        needs = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
        if kind not in GEOM_KINDS:
            raise ModelError(f"Shape '{name}': kind '{kind}'. {suggest(kind, GEOM_KINDS)}")
        given = np.atleast_1d(np.asarray(size, float))[: needs.get(kind, 0)]
        if len(given) < needs.get(kind, 0) or np.any(given <= 0):
            raise ModelError(f"Shape '{name}': a {kind} needs {needs[kind]} positive sizes: {size}")
        if (kind == "mesh") != (vertices is not None):
            raise ModelError(f"Shape '{name}': vertices belong to a mesh, and only to it.")
        self._geoms[name] = {
            "kind": kind,
            "link": link,
            "size": np.concatenate([given, np.zeros(3 - len(given))]),
            "position": checks.vector(position, 3, f"shape '{name}': position"),
            "rotation": checks.unit(rotation, 4, f"shape '{name}': rotation"),
            "vertices": np.zeros((0, 3)) if vertices is None else np.asarray(vertices, float),
        }
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
        if time_constant is not None and not time_constant > 0:
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

    def build(self, dtype: Any = None) -> Model:
        """Freeze into a `Model` of the given float type (default: JAX's present one).

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

        geoms = list(self._geoms.values())
        return Model(
            name=self.name,
            tree=tree,
            notes=tuple(self.notes),
            link=Links(mass=rows("mass"), com=rows("com", 3), inertia=rows("inertia", 6)),
            joint=joint,
            actuator=self._build_actuators(tree, column),
            geom=Geoms(
                kinds=tuple(g["kind"] for g in geoms),
                size=column([g["size"] for g in geoms], (len(geoms), 3)),
                vertices=tuple(jnp.asarray(g["vertices"], dtype) for g in geoms),
                **placed(self._geoms, "Shape"),
            ),
            frame=Frames(**placed(self._frames, "Frame")),
            world=World(gravity=jnp.asarray(checks.vector(self.gravity, 3, "gravity"), dtype)),
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
