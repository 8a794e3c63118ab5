"""The mechanism as an immutable pytree: static topology, and every physical number a leaf.

A leaf is addressed by the project's one vocabulary, `family.quantity[selector]`: `link.mass[arm]`,
`joint.damping[*]`. `graftsim.model.catalogue` lists them with rows, units and meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from graftsim.displayed import displayed
from graftsim.model.drive_type import DriveType
from graftsim.model.loops import Couplings, Loops
from graftsim.model.path_type import Stretch
from graftsim.model.shape_type import ShapeType
from graftsim.model.starts import Key, Starts
from graftsim.model.tree import Tree
from graftsim.precision import resolve_dtype


class Links(eqx.Module):
    """Inertial parameters, in link coordinates."""

    mass: Float[Array, " nl"]
    com: Float[Array, "nl 3"]
    inertia: Float[Array, "nl 6"]


class Joints(eqx.Module):
    """Geometry of each joint (one a link) and passive properties of each degree of freedom.

    load_dependent: whether friction grows with the load, which costs a pass through the tree.
    """

    origin: Float[Array, "nl 3"]
    rotation: Float[Array, "nl 4"]
    axis: Float[Array, "nl 3"]
    armature: Float[Array, " nv"]
    damping: Float[Array, " nv"]
    stiffness: Float[Array, " nv"]
    rest: Float[Array, " nq"]
    friction: Float[Array, " nv"]
    stribeck: Float[Array, " nv"]
    stribeck_velocity: Float[Array, " nv"]
    friction_velocity: Float[Array, " nv"]
    lower: Float[Array, " nv"]
    upper: Float[Array, " nv"]
    limit_stiffness: Float[Array, " nv"]
    limit_damping: Float[Array, " nv"]
    load_friction: Float[Array, " nv"]
    load_stribeck: Float[Array, " nv"]
    load_asymmetry: Float[Array, " nv"]
    load_quadratic: Float[Array, " nv"]
    load_dependent: bool = eqx.field(static=True, default=False)


class Actuators(eqx.Module):
    """Motors on degrees of freedom, tendons or sites: what makes a force of a command
    (`DriveType`).

    Static, of each: its drive; `inputs`, what it takes beside its command; `dof` or `tendon`, on
    which it acts (-1: on neither means on a site); `lagged`; `longest_delay` (s, 0: without delay);
    `speed_limited`, whether its force falls with speed. `sites`, of those on sites, in their order:
    the frame that is pushed, and the one against which and in whose axes it is (-1: none, in its
    own).
    """

    names: tuple[str, ...] = eqx.field(static=True)
    drives: tuple[DriveType, ...] = eqx.field(static=True)
    inputs: tuple[tuple[str, ...], ...] = eqx.field(static=True)
    dof: tuple[int, ...] = eqx.field(static=True)
    tendon: tuple[int, ...] = eqx.field(static=True)
    sites: tuple[tuple[int, int], ...] = eqx.field(static=True)
    lagged: tuple[bool, ...] = eqx.field(static=True)
    longest_delay: tuple[float, ...] = eqx.field(static=True)
    speed_limited: tuple[bool, ...] = eqx.field(static=True)
    gear: Float[Array, " n"]
    gain: Float[Array, " n"]
    kp: Float[Array, " n"]
    kd: Float[Array, " n"]
    ki: Float[Array, " n"]
    integral_limit: Float[Array, " n"]
    zero: Float[Array, " n"]
    motor_constant: Float[Array, " n"]
    resistance: Float[Array, " n"]
    supply: Float[Array, " n"]
    duty_limit: Float[Array, " n"]
    delay: Float[Array, " n"]
    time_constant: Float[Array, " n"]
    control_lower: Float[Array, " n"]
    control_upper: Float[Array, " n"]
    force_lower: Float[Array, " n"]
    force_upper: Float[Array, " n"]
    stall_force: Float[Array, " n"]
    no_load_speed: Float[Array, " n"]
    site_force: Float[Array, "ns 3"]
    site_torque: Float[Array, "ns 3"]
    own: dict[str, Float[Array, " n"]] = eqx.field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        """A number of a drive from outside the package, by its name."""
        if name != "own" and name in self.own:
            return self.own[name]
        raise AttributeError(f"actuators have no '{name}'")

    @property
    def on_sites(self) -> tuple[str, ...]:
        """Names of those on sites."""
        both = zip(self.names, self.dof, self.tendon, strict=True)
        return tuple(name for name, d, t in both if d < 0 and t < 0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Name of the drive of each."""
        return tuple(d.name for d in self.drives)

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the controls: each actuator's own, then `name.input` of further inputs."""
        further = zip(self.names, self.inputs, strict=True)
        return self.names + tuple(f"{name}.{x}" for name, own in further for x in own)

    @property
    def nu(self) -> int:
        """Number of controls."""
        return len(self.names) + sum(map(len, self.inputs))

    @property
    def na(self) -> int:
        """Numbers that lags and drives remember, the length of `State.act`: lags come first."""
        return sum(self.lagged) + self.memories

    @property
    def memories(self) -> int:
        """Number of drives that have a state of their own."""
        return sum(d.memory for d in self.drives)


class Tendons(eqx.Module):
    """Lengths l = sum of c q over some degrees of freedom and of stretches through space, each with
    a spring, damper, friction and limits.

    entries: (tendon, degree of freedom) of each coefficient; path: the stretches. The spring pulls
    outside the slack.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    entries: tuple[tuple[int, int], ...] = eqx.field(static=True)
    path: tuple[Stretch, ...] = eqx.field(static=True)
    coefficient: Float[Array, " ne"]
    stiffness: Float[Array, " nt"]
    damping: Float[Array, " nt"]
    slack_lower: Float[Array, " nt"]
    slack_upper: Float[Array, " nt"]
    rounding: Float[Array, " nt"]
    friction: Float[Array, " nt"]
    friction_velocity: Float[Array, " nt"]
    lower: Float[Array, " nt"]
    upper: Float[Array, " nt"]
    limit_stiffness: Float[Array, " nt"]
    limit_damping: Float[Array, " nt"]


class Geoms(eqx.Module):
    """Shapes attached to links (link -1: the world). Sizes after MuJoCo: see `Builder.geom`."""

    names: tuple[str, ...] = eqx.field(static=True)
    types: tuple[ShapeType, ...] = eqx.field(static=True)
    link: tuple[int, ...] = eqx.field(static=True)
    size: Float[Array, "ng 3"]
    position: Float[Array, "ng 3"]
    rotation: Float[Array, "ng 4"]
    vertices: tuple[Float[Array, "n 3"], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Name of the type of each shape."""
        return tuple(t.name for t in self.types)


class Pairs(eqx.Module):
    """Which shapes may touch (indices into `Geoms`), and what holds between their surfaces.

    Friction and its like are properties of two surfaces, not of one: they are kept per pair.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    geoms: tuple[tuple[int, int], ...] = eqx.field(static=True)
    friction: Float[Array, " np"]
    stribeck: Float[Array, " np"]
    friction_velocity: Float[Array, " np"]
    restitution: Float[Array, " np"]
    stiffness: Float[Array, " np"]
    dissipation: Float[Array, " np"]
    cfm: Float[Array, " np"]


class Frames(eqx.Module):
    """Named frames fixed to links (link -1: the world): tools, sensors, markers, merged links."""

    names: tuple[str, ...] = eqx.field(static=True)
    link: tuple[int, ...] = eqx.field(static=True)
    position: Float[Array, "nf 3"]
    rotation: Float[Array, "nf 4"]


class Medium(eqx.Module):
    """Boxes and lifts through which a medium acts on links (`dynamics.medium`).

    position (m), rotation (w x y z), of the box in its link; box: its sides (m); lift: mass that is
    carried there (kg). drags, lifts: whether there is any of either.
    """

    link: tuple[int, ...] = eqx.field(static=True)
    drags: bool = eqx.field(static=True)
    lifts: bool = eqx.field(static=True)
    position: Float[Array, "nb 3"]
    rotation: Float[Array, "nb 4"]
    box: Float[Array, "nb 3"]
    lift: Float[Array, " nb"]


class World(eqx.Module):
    """What surrounds the mechanism: gravity (m/s^2), density (kg/m^3) and viscosity (Pa s)."""

    gravity: Float[Array, " 3"]
    density: Float[Array, " 1"]
    viscosity: Float[Array, " 1"]


class Model(eqx.Module):
    """A mechanism. Build one with `graftsim.load` or `Builder`; change it by `eqx.tree_at`.

    caveats: those of `notes` that say what moves otherwise than the file says. faults: level and
    sentence of what the reader found wrong. absent: shapes of the file that could not be read, one
    sentence each: contact is refused with them. starts: the pose that the file draws, and its named
    states.
    """

    name: str = eqx.field(static=True)
    tree: Tree = eqx.field(static=True)
    notes: tuple[str, ...] = eqx.field(static=True)
    link: Links
    joint: Joints
    tendon: Tendons
    loop: Loops
    coupling: Couplings
    actuator: Actuators
    geom: Geoms
    pair: Pairs
    frame: Frames
    medium: Medium
    world: World
    caveats: tuple[str, ...] = eqx.field(static=True, default=())
    faults: tuple[tuple[str, str], ...] = eqx.field(static=True, default=())
    absent: tuple[str, ...] = eqx.field(static=True, default=())
    starts: Starts = eqx.field(static=True, default_factory=Starts)

    @property
    def keys(self) -> Mapping[str, Key]:
        """Named states of the file (key frames)."""
        return self.starts.keys

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.tree.nv

    @property
    def nu(self) -> int:
        """Number of controls."""
        return self.actuator.nu

    def astype(self, dtype: Any) -> Model:
        """The same robot with numbers of another float type. Raises PrecisionError: float64 asked
        for while JAX has it switched off, or no float type.
        """
        wanted = resolve_dtype(dtype)
        floats, rest = eqx.partition(self, eqx.is_inexact_array)
        return eqx.combine(jax.tree.map(lambda x: x.astype(wanted), floats), rest)

    @property
    def through_space(self) -> bool:
        """Whether tendons or actuators need to know where frames are."""
        return bool(self.tendon.path or self.actuator.sites)

    @property
    def guided(self) -> tuple[int, ...]:
        """Links whose joints move as their commands say."""
        a, link = self.actuator, self.tree.link_of_dof
        own = {int(link[d]) for d, x in zip(a.dof, a.drives, strict=True) if x.prescribes}
        return tuple(sorted(own))

    @property
    def closed(self) -> bool:
        """Whether anything but the tree's joints holds links or displacements to each other."""
        return bool(self.loop.names or self.coupling.names)

    def __repr__(self) -> str:
        t = self.tree
        return (
            f"Model '{self.name}': {t.nl} links, {sum(t.moving)} moving joints, {t.nv} degrees of "
            f"freedom, {self.actuator.nu} actuators, {len(self.geom.names)} shapes"
        )

    _repr_html_ = displayed
