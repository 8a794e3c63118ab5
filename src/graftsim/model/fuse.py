"""Merging links that hang on fixed joints into what carries them: fewer links, same motion.

A merged link lives on as a frame of its name, so tools and sensors stay addressable. The merge is
traced arithmetic on the model's leaves: gradients reach the masses of merged links too.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.model.loops import Loops
from graftsim.model.model import Frames, Geoms, Joints, Links, Medium, Model
from graftsim.model.tree import Tree
from graftsim.spatial import inertia, rotation
from graftsim.spatial.transform import Transform, rotate

_MEDIUM = ("position", "rotation", "box", "lift")
_DOF_FIELDS = set(Joints.__dataclass_fields__) - {"origin", "rotation", "axis"}


class _Place:
    """Pose of a frame in the moving link (or world, -1) that carries it."""

    def __init__(self, link: int, p: Float[Array, " 3"], quat: Float[Array, " 4"]) -> None:
        self.link, self.p, self.quat = link, p, quat

    def then(self, p: Float[Array, " 3"], quat: Float[Array, " 4"]) -> _Place:
        R = rotation.matrix(self.quat)
        return _Place(self.link, self.p + rotate(R, p), rotation.multiply(self.quat, quat))


def fuse(model: Model) -> Model:
    """The same mechanism without fixed joints; a model that has none is returned as it is."""
    tree = model.tree
    moving = [i for i, moves in enumerate(tree.moving) if moves]
    if len(moving) == tree.nl or not moving:
        return model
    new_index = {old: new for new, old in enumerate(moving)}
    dtype = model.link.mass.dtype
    unit = jnp.array([1.0, 0.0, 0.0, 0.0], dtype)
    zero = jnp.zeros(3, dtype)

    # Where each old link sits: in itself when it moves, else in its parent's carrier.
    place: dict[int, _Place] = {-1: _Place(-1, zero, unit)}
    joint_place: dict[int, _Place] = {}
    quat = model.joint.rotation
    quat = quat / jnp.sqrt(jnp.sum(quat * quat, -1, keepdims=True))
    for i, parent in enumerate(tree.parent):
        # If the parent moves, the link hangs on it directly: no transforms to multiply.
        plain = place[parent].p is zero
        joint_place[i] = (
            _Place(place[parent].link, model.joint.origin[i], quat[i])
            if plain
            else place[parent].then(model.joint.origin[i], quat[i])
        )
        place[i] = _Place(new_index[i], zero, unit) if i in new_index else joint_place[i]

    fused_tree = Tree(
        links=tuple(tree.links[i] for i in moving),
        joints=tuple(tree.joints[i] for i in moving),
        parent=tuple(joint_place[i].link for i in moving),
        joint_types=tuple(tree.joint_types[i] for i in moving),
    )
    origin, orientation = _poses([joint_place[i] for i in moving])
    joint = Joints(
        origin=origin,
        rotation=orientation,
        axis=model.joint.axis[np.array(moving)],
        **{k: getattr(model.joint, k) for k in _DOF_FIELDS},
    )
    return Model(
        name=model.name,
        tree=fused_tree,
        notes=model.notes,
        link=_links(model, moving, place),
        joint=joint,
        tendon=model.tendon,
        loop=_loops(model, place),
        coupling=model.coupling,
        actuator=model.actuator,
        geom=_geoms(model, place),
        pair=model.pair,
        frame=_frames(model, place),
        medium=_medium(model, place),
        world=model.world,
        caveats=model.caveats,
        faults=model.faults,
        absent=model.absent,
        starts=model.starts,
    )


def _poses(places: list[_Place]) -> tuple[Float[Array, "k 3"], Float[Array, "k 4"]]:
    return jnp.stack([x.p for x in places]), jnp.stack([x.quat for x in places])


def _links(model: Model, moving: list[int], place: dict[int, _Place]) -> Links:
    """Inertias summed in the carriers; those that carry nothing keep their numbers untouched."""
    link = model.link
    merged = [i for i in range(model.tree.nl) if i not in moving and place[i].link >= 0]
    sources, columns = np.array(moving), (link.mass, link.com, link.inertia)
    if merged:
        into = np.array([place[i].link for i in merged])
        carriers = np.unique(into)
        incidence = jnp.asarray(carriers[:, None] == into[None, :], link.mass.dtype)
        own, gained = (
            inertia.spatial(*(x[i] for x in columns)) for i in (sources[carriers], np.array(merged))
        )
        p, quat = _poses([place[i] for i in merged])
        X = Transform(rotation.transpose(rotation.matrix(quat)), p)
        sums = inertia.from_spatial(own + jnp.tensordot(incidence, X.inertia_inverse(gained), 1))
        # The carriers' sums stand below the old rows, and are taken instead of them.
        columns = tuple(jnp.concatenate(pair) for pair in zip(columns, sums, strict=True))
        sources[carriers] = model.tree.nl + np.arange(len(carriers))
    mass, com, six = (x[sources] for x in columns)
    return Links(mass=mass, com=com, inertia=six)


def _carry(
    place: dict[int, _Place], x: Frames | Geoms
) -> tuple[tuple[int, ...], Float[Array, "k 3"], Float[Array, "k 4"]]:
    """Link, position and orientation, in the carriers, of what is fixed to the old links."""
    if not x.names:
        return x.link, x.position, x.rotation
    at = [place[k] for k in x.link]
    p, quat = _poses(at)
    position = p + rotate(rotation.matrix(quat), x.position)
    return tuple(k.link for k in at), position, rotation.multiply(quat, x.rotation)


def _frames(model: Model, place: dict[int, _Place]) -> Frames:
    fixed = [i for i, moves in enumerate(model.tree.moving) if not moves]
    link, position, quat = _carry(place, model.frame)
    p_fixed, quat_fixed = _poses([place[i] for i in fixed])
    return Frames(
        names=model.frame.names + tuple(model.tree.links[i] for i in fixed),
        link=link + tuple(place[i].link for i in fixed),
        position=jnp.concatenate([position, p_fixed]),
        rotation=jnp.concatenate([quat, quat_fixed]),
    )


def _medium(model: Model, place: dict[int, _Place]) -> Medium:
    """On carriers; what is fixed to the world feels nothing that moves it."""
    x = model.medium
    own = np.array([k for k, link in enumerate(x.link) if place[link].link >= 0], int)
    if not len(own):
        return replace(
            x, link=(), drags=False, lifts=False, **{k: getattr(x, k)[:0] for k in _MEDIUM}
        )
    at = [place[x.link[k]] for k in own]
    p, quat = _poses(at)
    return Medium(
        link=tuple(k.link for k in at),
        drags=x.drags,
        lifts=x.lifts,
        position=p + rotate(rotation.matrix(quat), x.position[own]),
        rotation=rotation.multiply(quat, x.rotation[own]),
        box=x.box[own],
        lift=x.lift[own],
    )


def _geoms(model: Model, place: dict[int, _Place]) -> Geoms:
    geom = model.geom
    link, position, quat = _carry(place, geom)
    return Geoms(
        names=geom.names,
        types=geom.types,
        link=link,
        size=geom.size,
        position=position,
        rotation=quat,
        vertices=geom.vertices,
    )


def _loops(model: Model, place: dict[int, _Place]) -> Loops:
    """Points and orientations in the carriers."""
    loop = model.loop
    if not loop.names:
        return loop
    first, second = ([place[ends[k]] for ends in loop.links] for k in (0, 1))
    (p_a, quat_a), (p_b, quat_b) = _poses(first), _poses(second)
    turned = rotation.multiply(rotation.multiply(quat_a, loop.rotation), rotation.conjugate(quat_b))
    return Loops(
        names=loop.names,
        types=loop.types,
        links=tuple((a.link, b.link) for a, b in zip(first, second, strict=True)),
        anchor=p_a + rotate(rotation.matrix(quat_a), loop.anchor),
        opposite=p_b + rotate(rotation.matrix(quat_b), loop.opposite),
        rotation=turned,
    )
