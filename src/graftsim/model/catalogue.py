"""Every physical number of a model: its name, what its rows are, its unit and its meaning.

The table is the one place that says so. Selecting what to fit, reporting and writing files read it;
a test checks that it lists exactly the leaves of a model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model.drive_type import OWN_NUMBERS
from graftsim.model.loops import row_labels
from graftsim.model.model import Frames, Model
from graftsim.model.pairs import contact_labels
from graftsim.model.tree import Tree
from graftsim.spatial.components import VECTOR


class Parameter(NamedTuple):
    """One row of the catalogue. `rows` is the kind of label along the first axis."""

    rows: str
    unit: str
    meaning: str


PARAMETERS: dict[str, Parameter] = {
    "link.mass": Parameter("link", "kg", "mass"),
    "link.com": Parameter("link", "m", "centre of mass, in the link"),
    "link.inertia": Parameter("link", "kg m^2", "xx yy zz xy xz yz about the centre of mass"),
    "joint.origin": Parameter("joint", "m", "position of the joint in the parent link"),
    "joint.rotation": Parameter("joint", "1", "orientation of the joint in the parent (w x y z)"),
    "joint.axis": Parameter("joint", "1", "axis of motion, in the link"),
    "joint.armature": Parameter("dof", "kg m^2 | kg", "inertia of the rotor, seen at the joint"),
    "joint.damping": Parameter("dof", "N m s/rad | N s/m", "viscous damping"),
    "joint.stiffness": Parameter("dof", "N m/rad | N/m", "spring towards the rest position"),
    "joint.rest": Parameter("coordinate", "rad | m", "rest position of the spring"),
    "joint.friction": Parameter("dof", "N m | N", "Coulomb friction"),
    "joint.stribeck": Parameter("dof", "N m | N", "breakaway friction above Coulomb's"),
    "joint.stribeck_velocity": Parameter("dof", "rad/s | m/s", "speed at which that has decayed"),
    "joint.friction_velocity": Parameter("dof", "rad/s | m/s", "width of friction's sign change"),
    "joint.lower": Parameter("dof", "rad | m", "lower limit of travel"),
    "joint.upper": Parameter("dof", "rad | m", "upper limit of travel"),
    "joint.limit_stiffness": Parameter("dof", "N m/rad | N/m", "stiffness of the limits"),
    "joint.limit_damping": Parameter("dof", "s/rad | s/m", "dissipation of the limits"),
    "joint.load_friction": Parameter("dof", "1", "friction per load of the gear"),
    "joint.load_stribeck": Parameter("dof", "1", "breakaway friction per load, above it"),
    "joint.load_asymmetry": Parameter("dof", "1", "share by which the motor's load counts more"),
    "joint.load_quadratic": Parameter("dof", "1/(N m) | 1/N", "breakaway friction, load squared"),
    "tendon.coefficient": Parameter("entry", "1", "length of the tendon per joint displacement"),
    "tendon.stiffness": Parameter("tendon", "N m/rad | N/m", "spring outside the slack"),
    "tendon.damping": Parameter("tendon", "N m s/rad | N s/m", "viscous damping"),
    "tendon.slack_lower": Parameter("tendon", "rad | m", "lower end of the slack"),
    "tendon.slack_upper": Parameter("tendon", "rad | m", "upper end of the slack"),
    "tendon.rounding": Parameter("tendon", "rad | m", "over which the spring sets in"),
    "tendon.friction": Parameter("tendon", "N m | N", "Coulomb friction"),
    "tendon.friction_velocity": Parameter("tendon", "rad/s | m/s", "width of its sign change"),
    "tendon.lower": Parameter("tendon", "rad | m", "lower limit of the length"),
    "tendon.upper": Parameter("tendon", "rad | m", "upper limit of the length"),
    "tendon.limit_stiffness": Parameter("tendon", "N m/rad | N/m", "stiffness of the limits"),
    "tendon.limit_damping": Parameter("tendon", "s/rad | s/m", "dissipation of the limits"),
    "loop.anchor": Parameter("loop", "m", "point of the first link"),
    "loop.opposite": Parameter("loop", "m", "point of the second link that is held to it"),
    "loop.rotation": Parameter("loop", "1", "orientation of the second in the first (w x y z)"),
    "coupling.offset": Parameter("coupling", "rad | m", "displacement at the reference"),
    "coupling.ratio": Parameter("coupling", "1", "slope there of the displacement that follows"),
    "coupling.quadratic": Parameter("coupling", "1/rad | 1/m", "factor of the square"),
    "coupling.cubic": Parameter("coupling", "1/rad^2 | 1/m^2", "factor of the third power"),
    "coupling.quartic": Parameter("coupling", "1/rad^3 | 1/m^3", "factor of the fourth power"),
    "coupling.reference": Parameter("coupling", "rad | m", "where powers are taken from"),
    "actuator.gear": Parameter("actuator", "1", "joint force per actuator force"),
    "actuator.gain": Parameter("actuator", "N m | N", "force per unit of control (torque)"),
    "actuator.kp": Parameter("actuator", "N m/rad | N/m", "position gain (servos)"),
    "actuator.kd": Parameter("actuator", "N m s/rad | N s/m", "velocity gain (servos)"),
    "actuator.ki": Parameter("actuator", "N m/(rad s) | N/(m s)", "integral gain (pid)"),
    "actuator.integral_limit": Parameter("actuator", "rad s | m s", "largest integral (pid)"),
    "actuator.zero": Parameter("actuator", "rad | m", "what the servo's encoder reads too much"),
    "actuator.motor_constant": Parameter("actuator", "N m/A | N/A", "motor constant (voltage)"),
    "actuator.resistance": Parameter("actuator", "ohm", "resistance of the winding (voltage)"),
    "actuator.supply": Parameter("actuator", "V", "voltage of the supply (voltage_servo)"),
    "actuator.duty_limit": Parameter("actuator", "1", "largest duty (voltage_servo)"),
    "actuator.delay": Parameter("actuator", "s", "from command to drive"),
    "actuator.control_lower": Parameter("actuator", "control", "lower limit of the control"),
    "actuator.control_upper": Parameter("actuator", "control", "upper limit of the control"),
    "actuator.force_lower": Parameter("actuator", "N m | N", "lower limit of the force"),
    "actuator.force_upper": Parameter("actuator", "N m | N", "upper limit of the force"),
    "actuator.stall_force": Parameter("actuator", "N m | N", "largest force at rest"),
    "actuator.no_load_speed": Parameter("actuator", "rad/s | m/s", "speed that leaves no force"),
    "actuator.time_constant": Parameter("actuator", "s", "first-order lag of the command"),
    "actuator.site_force": Parameter("site", "1", "force on the site per actuator force"),
    "actuator.site_torque": Parameter("site", "m", "torque on the site per actuator force"),
    "geom.size": Parameter("geom", "m", "size of the shape"),
    "geom.position": Parameter("geom", "m", "position of the shape in its link"),
    "geom.rotation": Parameter("geom", "1", "orientation of the shape in its link (w x y z)"),
    "pair.friction": Parameter("pair", "1", "coefficient of sliding friction"),
    "pair.stribeck": Parameter("pair", "1", "static friction above sliding friction"),
    "pair.friction_velocity": Parameter("pair", "m/s", "width of friction's change of sign"),
    "pair.restitution": Parameter("pair", "1", "speed after an impact over the speed before"),
    "pair.stiffness": Parameter("pair", "N/m^n", "Hunt-Crossley stiffness"),
    "pair.dissipation": Parameter("pair", "s/m", "Hunt-Crossley dissipation"),
    "pair.cfm": Parameter("pair", "1/kg", "compliance of the impulse models"),
    "frame.position": Parameter("frame", "m", "position of the frame in its link"),
    "frame.rotation": Parameter("frame", "1", "orientation of the frame in its link (w x y z)"),
    "medium.position": Parameter("medium", "m", "where a medium acts, in the link"),
    "medium.rotation": Parameter("medium", "1", "orientation of the box in its link (w x y z)"),
    "medium.box": Parameter("medium", "m", "sides of the box that stands for the link in a fluid"),
    "medium.lift": Parameter("medium", "kg", "mass that a medium carries"),
    "world.gravity": Parameter("axis", "m/s^2", "gravity"),
    "world.density": Parameter("fluid", "kg/m^3", "density of the fluid around"),
    "world.viscosity": Parameter("fluid", "Pa s", "viscosity of the fluid around"),
}


def labels(model: Model, rows: str) -> tuple[str, ...]:
    """Names along an axis kind: link, joint, dof, coordinate, tendon, entry, loop, coupling,
    closure (rows of both), actuator, site (actuators on one), control, geom, pair, contact, frame,
    medium, fluid or axis."""
    if rows == "contact":
        return contact_labels(model)
    t: Tree = model.tree
    tendon = model.tendon
    return {
        "link": t.links,
        "joint": t.joints,
        "dof": t.dofs,
        "coordinate": t.coordinates,
        "tendon": tendon.names,
        "entry": tuple(f"{tendon.names[i]}/{t.dofs[d]}" for i, d in tendon.entries),
        "loop": model.loop.names,
        "coupling": model.coupling.names,
        "closure": row_labels(model.loop, model.coupling),
        "actuator": model.actuator.names,
        "control": model.actuator.controls,
        "site": model.actuator.on_sites,
        "geom": model.geom.names,
        "frame": model.frame.names,
        "pair": model.pair.names,
        "axis": VECTOR,
        "medium": tuple(t.links[i] for i in model.medium.link),
        "fluid": ("fluid",),
    }[rows]


def dofs_by_row(model: Model, rows: str) -> tuple[tuple[int, ...], ...]:
    """Degrees of freedom that each label of an axis kind belongs to; most kinds have none.

    A link has those that move it, a tendon those that it goes over, an actuator those that it
    drives, a coordinate the one whose displacement it is.
    """
    tree = model.tree
    if rows == "dof":
        return tuple((d,) for d in range(tree.nv))
    if rows == "link":
        return tuple(tuple(int(d) for d in own) for own in tree.v_index)
    own, frame = model.tendon, model.frame
    over = tuple(
        tuple(
            dict.fromkeys(
                [d for t, d in own.entries if t == k]
                + [d for x in own.path if x.tendon == k for d in _between(tree, frame, x.frames)]
            )
        )
        for k in range(len(own.names))
    )
    if rows == "tendon":
        return over
    if rows == "coupling":
        pairs = zip(model.coupling.dofs, model.coupling.tendons, strict=True)
        return tuple(over[t] if t >= 0 else (d,) for (d, _), (t, _) in pairs)
    sites = tuple(_between(tree, frame, both) for both in model.actuator.sites)
    if rows == "site":
        return sites
    if rows in ("actuator", "control"):
        a, rest = model.actuator, iter(sites)
        own = [
            over[t] if t >= 0 else (d,) if d >= 0 else next(rest)
            for d, t in zip(a.dof, a.tendon, strict=True)
        ]
        further = zip(own, a.inputs, strict=True) if rows == "control" else ()
        return (*own, *(dofs for dofs, inputs in further for _ in inputs))
    if rows == "coordinate":
        return tuple(
            (int(own[k]),) if kind.one_by_one else ()
            for own, kind in zip(tree.v_index, tree.joint_types, strict=True)
            for k in range(kind.nq)
        )
    return ((),) * len(labels(model, rows))


def _between(tree: Tree, frame: Frames, frames: tuple[int, ...]) -> tuple[int, ...]:
    """Degrees of freedom that move some of these frames (-1: the world) against the others."""
    links = [frame.link[i] if i >= 0 else -1 for i in frames]
    moved = np.array([tree.moves(link) for link in links])
    return tuple(int(d) for d in np.flatnonzero(moved.any(0) & ~moved.all(0)))


def acts_on(model: Model) -> tuple[str, ...]:
    """Label of the degree of freedom that each actuator acts on; "" for one on none alone."""
    dofs = model.tree.dofs
    return tuple(dofs[d] if d >= 0 else "" for d in model.actuator.dof)


def parameter(name: str) -> Parameter | None:
    """What `family.quantity` stands for, those of drives from outside the package included."""
    number = OWN_NUMBERS.get(name.removeprefix("actuator."))
    own = None if number is None else Parameter("actuator", number.unit, number.meaning)
    return PARAMETERS.get(name, own)


def leaf(model: Model, name: str) -> Any:
    """The array called `family.quantity`; raises ModelError with the nearest names."""
    if parameter(name) is None:
        raise ModelError(f"There is no parameter named '{name}'. {suggest(name, PARAMETERS)}")
    family, quantity = name.split(".")
    return getattr(getattr(model, family), quantity)


def with_leaf(model: Model, name: str, value: Any) -> Model:
    """A copy of the model in which the array called `family.quantity` is `value`.

    The value may have batch axes in front. Raises ModelError: an unknown name, another shape.
    """
    old = leaf(model, name)
    new = jnp.asarray(value, old.dtype)
    if new.shape[new.ndim - old.ndim :] != old.shape or new.ndim < old.ndim:
        raise ModelError(f"{name} has the shape {old.shape}, and what is put there {new.shape}.")
    family, quantity = name.split(".")
    return eqx.tree_at(lambda m: getattr(getattr(m, family), quantity), model, new)


def row_unit(model: Model, name: str, row: int) -> str:
    """Unit of one row: the turning or the sliding form, as its joint has it; 1 for quaternions."""
    info = parameter(name)
    assert info is not None
    forms = info.unit.split(" | ")
    if len(forms) == 1:
        return forms[0]
    tree = model.tree
    if info.rows == "coordinate":
        unit = tree.coordinate_units[row]
    elif info.rows == "tendon" and any(x.tendon == row for x in model.tendon.path):
        unit = "m"
    else:
        moved = dofs_by_row(model, info.rows)[row]
        unit = tree.dof_units[moved[0]] if moved else "rad"
    return {"rad": forms[0], "m": forms[1]}.get(unit, unit)
