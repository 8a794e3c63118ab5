"""Building mechanisms from code: file readers, tests and papers' examples all go through here.

builder = Builder("pendulum")
builder.link("arm", joint="revolute", axis=(1, 0, 0), mass=1.0, com=(0, 0.5, 0), inertia=0.01)
model = builder.build()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Unpack

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks, pairs as touching
from graftsim.model.drive_type import DriveType
from graftsim.model.drives import DRIVES
from graftsim.model.freeze import WORLD, Declared, Frozen, Link
from graftsim.model.freeze_actuation import freeze_actuators, freeze_tendons
from graftsim.model.freeze_loops import coupling_numbers, freeze_couplings, freeze_loops
from graftsim.model.joint_type import JointType
from graftsim.model.joints import JOINT_TYPES
from graftsim.model.loop_type import LOOP_TYPES, LoopType
from graftsim.model.loops import CouplingNumbers
from graftsim.model.model import Model, World
from graftsim.model.numbers import (
    TENDON,
    ActuatorNumbers,
    LinkNumbers,
    TendonNumbers,
    Vector,
    actuator_numbers,
    link_numbers,
    tendon_numbers,
)
from graftsim.model.path_type import Item, stretches
from graftsim.model.shape_type import ShapeType
from graftsim.model.shapes import SHAPE_TYPES, shape_type
from graftsim.model.starts import Starts
from graftsim.precision import resolve_dtype


@dataclass
class Builder:
    """Collects what a mechanism has, by name; `build` checks and freezes it."""

    name: str = "mechanism"
    gravity: Vector = (0.0, 0.0, -9.81)
    density: float = 0.0
    viscosity: float = 0.0
    notes: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    starts: Starts = field(default_factory=Starts)
    _declared: Declared = field(default_factory=Declared)

    def link(
        self,
        name: str,
        parent: str = WORLD,
        joint: str | JointType = "revolute",
        *,
        joint_name: str | None = None,
        origin: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
        axis: Vector = (0.0, 0.0, 1.0),
        **numbers: Unpack[LinkNumbers],
    ) -> Builder:
        """Add a link and the joint that moves it relative to `parent` (a link, or "world").

        joint: the name of a type of the package, or a `JointType`; its own name is `joint_name`,
        by default the link's. `origin` (m) and `rotation` (w x y z) place the joint in the parent;
        the link's frame coincides with it at the joint's zero position. `numbers` are
        `LinkNumbers`: mass, com, inertia, and what resists the joint's motion.

        Raises ModelError: repeated name, unknown parent, joint type or number, impossible inertia.
        """
        links = self._declared.links
        if name in links or name == WORLD:
            raise ModelError(f"Link '{name}' is declared twice or has the reserved name 'world'.")
        if parent != WORLD and parent not in links:
            raise ModelError(
                f"Link '{name}': its parent '{parent}' is not declared before it. "
                f"{suggest(parent, [WORLD, *links])}"
            )
        kind = _joint_type(joint, name)
        joint_name = joint_name or name
        if joint_name in self._declared.joint_names:
            raise ModelError(f"Joint '{joint_name}' is declared twice.")
        where = f"link '{name}'"
        place = {
            "origin": checks.vector(origin, 3, f"{where}: origin"),
            "rotation": checks.unit(rotation, 4, f"{where}: rotation"),
            "axis": checks.unit(axis, 3, f"{where}: axis"),
        }
        self._declared.joint_names.add(joint_name)
        links[name] = Link(parent, kind, joint_name, place | link_numbers(kind, where, numbers))
        return self

    def frame(
        self,
        name: str,
        link: str,
        position: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
    ) -> Builder:
        """Name a frame fixed to a link: a tool, a sensor, a marker."""
        self._new(name, self._declared.frames, "Frame")
        if name in self._declared.links:
            raise ModelError(f"Frame '{name}' has the name of a link; give it another.")
        self._declared.frames[name] = {
            "link": link,
            "position": checks.vector(position, 3, f"frame '{name}': position"),
            "rotation": checks.unit(rotation, 4, f"frame '{name}': rotation"),
        }
        return self

    def surround(
        self,
        link: str,
        position: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
        *,
        box: Vector = (0.0, 0.0, 0.0),
        lift: float = 0.0,
    ) -> Builder:
        """Let a medium act on a link: on a box of these sides (m), by a lift (kg), or both.

        The box feels `density` (kg/m^3) and `viscosity` (Pa s) of the builder; lift counters
        gravity.
        """
        where = f"medium on link '{link}'"
        if link not in self._declared.links:
            raise ModelError(f"{where}: no such link. {suggest(link, self._declared.links)}")
        self._declared.medium.append(
            {
                "link": link,
                "position": checks.vector(position, 3, f"{where}: position"),
                "rotation": checks.unit(rotation, 4, f"{where}: rotation"),
                "box": checks.vector(box, 3, f"{where}: box"),
                "lift": checks.vector([lift], 1, f"{where}: lift")[0],
            }
        )
        return self

    def geom(
        self,
        kind: str | ShapeType,
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
        if isinstance(kind, str) and kind not in SHAPE_TYPES:
            what = f"Shape '{name or link}': kind '{kind}'."
            raise ModelError(f"{what} {suggest(kind, SHAPE_TYPES)}")
        kind = shape_type(kind)
        name = name or f"{link}/{kind.name}{len(self._declared.geoms)}"
        self._new(name, self._declared.geoms, "Shape")
        needs = len(kind.sizes)
        given = np.atleast_1d(np.asarray(size, float))[:needs]
        if len(given) < needs or not np.all((given > 0) & (given < np.inf)):
            raise ModelError(f"Shape '{name}': a {kind.name} needs {needs} positive sizes: {size}")
        if bool(kind.corners) != (vertices is not None):
            raise ModelError(f"Shape '{name}': vertices belong to meshes and polygons only.")
        self._declared.geoms[name] = {
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
        if frozenset((a, b)) in {frozenset(p) for p in self._declared.pairs}:
            raise ModelError(f"Pair '{a}', '{b}' is declared twice.")
        self._declared.pairs[a, b] = touching.check_surface(surface, f"pair '{a}', '{b}'")
        return self

    def exclude(self, a: str, b: str) -> Builder:
        """Let no shape of link `a` touch a shape of link `b`."""
        self._declared.excluded.append((a, b))
        return self

    def tendon(
        self,
        name: str,
        joints: Mapping[str, float] = MappingProxyType({}),
        *,
        path: Sequence[Item] = (),
        **numbers: Unpack[TendonNumbers],
    ) -> Builder:
        """A length: a sum of coefficients times displacements, of a path through space, or both.

        joints: coefficients (1, m/rad) by label of degrees of freedom. path: frames that straight
        lines join; a number among them is a pulley, and what follows counts divided by it;
        (kind, frame, ...) is a stretch of a `PathType`. `numbers` are `TendonNumbers`: what resists
        it. Without any it resists nothing, and an actuator can act on it: a coupled transmission.

        Raises ModelError: no length, a path that is none; from `build` something unknown on it.
        """
        self._new(name, self._declared.tendons, "Tendon")
        if not joints and not path:
            raise ModelError(f"Tendon '{name}' goes over no joint, and along no path.")
        for joint, c in joints.items():
            checks.vector((c,), 1, f"Tendon '{name}': the coefficient of {joint}")
        try:
            along = stretches(path) if path else []
        except ValueError as e:
            raise ModelError(f"Tendon '{name}': {e}.") from e
        own = {"joints": dict(joints), "path": along}
        self._declared.tendons[name] = own | tendon_numbers(name, numbers)
        return self

    def loop(
        self,
        name: str,
        first: str,
        second: str,
        kind: str | LoopType = "connect",
        *,
        anchor: Vector = (0.0, 0.0, 0.0),
        opposite: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (1.0, 0.0, 0.0, 0.0),
    ) -> Builder:
        """Fasten two links, or frames, that do not carry each other: a closed loop.

        The point `opposite` (m) of the second is held to the point `anchor` of the first. kind:
        "connect" (the points coincide), "weld" (the second's orientation in the first is
        `rotation`, w x y z, as well), or a `LoopType`. Either end may be "world".

        Raises ModelError: repeated name, unknown kind; from `build` an unknown link.
        """
        self._new(name, self._declared.loops | self._declared.couplings, "Loop")
        if isinstance(kind, str) and kind not in LOOP_TYPES:
            raise ModelError(f"Loop '{name}': kind '{kind}'. {suggest(kind, LOOP_TYPES)}")
        self._declared.loops[name] = {
            "kind": LOOP_TYPES[kind] if isinstance(kind, str) else kind,
            "first": first,
            "second": second,
            "anchor": checks.vector(anchor, 3, f"loop '{name}': anchor"),
            "opposite": checks.vector(opposite, 3, f"loop '{name}': opposite"),
            "rotation": checks.unit(rotation, 4, f"loop '{name}': rotation"),
        }
        return self

    def couple(
        self,
        name: str,
        first: str,
        second: str | None = None,
        *,
        tendons: bool = False,
        **numbers: Unpack[CouplingNumbers],
    ) -> Builder:
        """Let one displacement follow another: a mimic joint, a differential, a coupled tendon.

        first = offset + ratio x + quadratic x^2 + cubic x^3 + quartic x^4, x = second - reference,
        by default first = second; without a second, first = offset. Both are degrees of freedom, or
        both `tendons`. `numbers` are `CouplingNumbers`.

        Raises ModelError: repeated name, unknown number; from `build` an unknown displacement.
        """
        self._new(name, self._declared.loops | self._declared.couplings, "Coupling")
        ends = {"first": first, "second": second, "tendons": tendons}
        self._declared.couplings[name] = ends | coupling_numbers(name, numbers)
        return self

    def elastic(
        self,
        link: str,
        *,
        armature: float,
        stiffness: float,
        damping: float = 0.0,
        backlash: float = 0.0,
        rounding: float = TENDON["rounding"],
    ) -> Builder:
        """Put a rotor with a gear of some elasticity before the joint of a link.

        The rotor is a degree of freedom of its own, `JOINT/rotor`, on which an actuator then acts;
        its position, speed and armature (kg m^2, kg) are as seen behind the gear. The joint feels
        `stiffness` (N m/rad, N/m) times the difference of both, less `backlash` (rad, m: from stop
        to stop), and `damping` of it: `JOINT/gear`, a tendon. A rotor turns about the joint's axis
        without a mass of its own (Spong 1987).

        Raises ModelError: no such link, or its joint has more than one degree of freedom.
        """
        declared = self._declared.links.get(link)
        if declared is None or declared.joint.nv != 1:
            what = "no such link" if declared is None else "its joint is no hinge or slide"
            raise ModelError(f"Elastic joint of link '{link}': {what}.")
        joint, n = declared.joint_name, declared.numbers
        place = {k: n[k] for k in ("origin", "rotation", "axis")}
        rotor = f"{joint}/rotor"
        self.link(rotor, declared.parent, declared.joint, armature=armature, **place)
        return self.tendon(
            f"{joint}/gear",
            {rotor: 1.0, joint: -1.0},
            stiffness=stiffness,
            damping=damping,
            slack=(-backlash / 2, backlash / 2),
            rounding=rounding,
        )

    def actuator(
        self,
        name: str,
        joint: str | None = None,
        kind: str | DriveType = "torque",
        *,
        tendon: str | None = None,
        site: str | None = None,
        reference: str | None = None,
        inputs: Sequence[str] = (),
        **numbers: Unpack[ActuatorNumbers],
    ) -> Builder:
        """Drive a degree of freedom (its label: the joint's name, `root.x` for joints with many).

        A command is delayed, limited to control_range and lagged; the drive makes a force of it:
        kind, by name, or a `DriveType`. With length = gear q and rate = gear qd,

        torque: f = gain u. position: f = kp (u + zero - length) - kd rate. velocity:
        f = kd (u - rate). pid: as position, and ki times the integral of the error. voltage:
        f = k/R (u - k rate). voltage_servo: see `drives.VoltageServo`. path: no force; the joint is
        where the command says, see `drives.Path`.

        The force is limited to `force_range` and by the speed-torque line, and the joint feels
        gear f. `tendon`, instead of a joint: length, rate and force are those of the tendon.
        `site`, a frame: it feels gear f times site_force and site_torque, in its axes: a thruster,
        whose length is 0. With another frame as `reference` the axes are that one's, which feels
        the opposite, and the length is the displacement along them.
        `inputs`: what the drive takes as further controls, `NAME.velocity`, `NAME.torque`,
        `NAME.kp`. `numbers` are `ActuatorNumbers`.
        """
        self._new(name, self._declared.actuators, "Actuator")
        if isinstance(kind, str) and kind not in DRIVES:
            raise ModelError(f"Actuator '{name}': kind '{kind}'. {suggest(kind, DRIVES)}")
        if sum(x is not None for x in (joint, tendon, site)) != 1:
            raise ModelError(f"Actuator '{name}' acts on either a joint, a tendon or a site.")
        if site is None and (reference is not None or {"site_force", "site_torque"} & set(numbers)):
            raise ModelError(
                f"Actuator '{name}': reference, site_force and site_torque belong to a site."
            )
        drive = DRIVES[kind] if isinstance(kind, str) else kind
        for x in inputs:
            if x not in drive.inputs:
                known = suggest(x, drive.inputs)
                raise ModelError(f"Actuator '{name}': a {drive.name} drive takes no '{x}'. {known}")
        target = {"joint": joint, "tendon": tendon, "site": site, "reference": reference}
        own = target | {"drive": drive, "inputs": tuple(inputs)}
        self._declared.actuators[name] = own | actuator_numbers(name, drive, numbers)
        return self

    def build(
        self,
        dtype: Any = None,
        *,
        self_collision: bool = False,
        armature: Mapping[str, float] | None = None,
    ) -> Model:
        """Freeze into a `Model` of the given float type (default: JAX's present one).

        `self_collision`: shapes of one mechanism may touch each other, but for parent and child.
        `armature` (kg m^2, kg): by degree of freedom or pattern, instead of what was declared.
        Raises ModelError: no link, an end link that moves without mass or inertia, an actuator or
        frame on something unknown; PrecisionError: float64 asked for while JAX has it switched off.
        """
        if not self._declared.links:
            raise ModelError(f"Mechanism '{self.name}' has no link.")
        dtype = resolve_dtype(dtype)
        self._declared.set_armature(armature or {})
        frozen = Frozen(self._declared, dtype)
        # Shapes before pairs: a link that a shape names wrongly is found there.
        geoms, gravity = frozen.geoms(), checks.vector(self.gravity, 3, "gravity")
        pairs, skipped = frozen.pairs(float(np.linalg.norm(gravity)), self_collision)
        return Model(
            name=self.name,
            tree=frozen.tree,
            notes=(*self.notes, *skipped),
            caveats=tuple(self.caveats),
            faults=tuple(self.faults),
            absent=tuple(self.absent),
            starts=self.starts,
            link=frozen.links(),
            joint=frozen.joints(),
            tendon=freeze_tendons(self._declared, frozen.tree, dtype),
            loop=freeze_loops(self._declared, dtype),
            coupling=freeze_couplings(self._declared, frozen.tree, dtype),
            actuator=freeze_actuators(self._declared, frozen.tree, dtype),
            geom=geoms,
            pair=pairs,
            frame=frozen.frames(),
            medium=frozen.medium(),
            world=World(
                gravity=jnp.asarray(gravity, dtype),
                density=jnp.asarray(np.full(1, self.density), dtype),
                viscosity=jnp.asarray(np.full(1, self.viscosity), dtype),
            ),
        )

    def _new(self, name: str, known: dict[str, Any], kind: str) -> None:
        if name in known:
            raise ModelError(f"{kind} '{name}' is declared twice.")


def _joint_type(joint: str | JointType, link: str) -> JointType:
    if isinstance(joint, JointType):
        return joint
    if joint not in JOINT_TYPES:
        raise ModelError(f"Link '{link}': joint type '{joint}'. {suggest(joint, JOINT_TYPES)}")
    return JOINT_TYPES[joint]


def _corners(vertices: Any, kind: ShapeType, name: str) -> np.ndarray:
    """[n, 3]; those of a polygon lie at z = 0."""
    out, width = np.asarray(vertices, float), kind.corners
    if out.ndim != 2 or out.shape[1] != width or len(out) < width + 1:
        raise ModelError(
            f"Shape '{name}': vertices of a {kind.name} have shape [n, {width}], n > {width}; "
            f"got {out.shape}."
        )
    if not np.all(np.isfinite(out)):
        raise ModelError(f"Shape '{name}': vertices must be finite numbers.")
    if width == 3:
        return out
    edge, following = np.roll(out, -1, 0) - out, np.roll(out, -2, 0) - np.roll(out, -1, 0)
    if np.any(edge[:, 0] * following[:, 1] - edge[:, 1] * following[:, 0] <= 0):
        raise ModelError(f"Shape '{name}': a polygon is convex, its corners counter-clockwise.")
    return np.pad(out, ((0, 0), (0, 1)))
