"""Merging links that hang on fixed joints into what carries them: fewer links, same motion.

A merged link lives on as a frame of its name, so tools and sensors stay addressable. The merge is
traced arithmetic on the model's leaves: gradients reach the masses of merged links too.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.model.model import Frames, Geoms, Joints, Links, Model
from graftsim.model.tree import Tree
from graftsim.spatial import inertia, rotation
from graftsim.spatial.transform import Transform, rotate

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
    moving = [i for i, t in enumerate(tree.types) if t != "fixed"]
    if len(moving) == tree.nl or not moving:
        return model
    new_index = {old: new for new, old in enumerate(moving)}
    dtype = model.link.mass.dtype
    unit = jnp.array([1.0, 0.0, 0.0, 0.0], dtype)
    zero = jnp.zeros(3, dtype)

    # Where each old link sits: in itself when it moves, else in its parent's carrier.
    place: dict[int, _Place] = {-1: _Place(-1, zero, unit)}
    joint_place: dict[int, _Place] = {}
    for i, parent in enumerate(tree.parent):
        q_i = model.joint.rotation[i]
        q_i = q_i / jnp.sqrt(jnp.sum(q_i * q_i))
        # A moving parent is its own carrier at the identity: nothing to compose.
        plain = place[parent].p is zero
        joint_place[i] = (
            _Place(place[parent].link, model.joint.origin[i], q_i)
            if plain
            else place[parent].then(model.joint.origin[i], q_i)
        )
        place[i] = _Place(new_index[i], zero, unit) if i in new_index else joint_place[i]

    fused_tree = Tree(
        links=tuple(tree.links[i] for i in moving),
        joints=tuple(tree.joints[i] for i in moving),
        parent=tuple(joint_place[i].link for i in moving),
        types=tuple(tree.types[i] for i in moving),
    )
    joint = Joints(
        origin=jnp.stack([joint_place[i].p for i in moving]),
        rotation=jnp.stack([joint_place[i].quat for i in moving]),
        axis=model.joint.axis[np.array(moving)],
        **{k: getattr(model.joint, k) for k in _DOF_FIELDS},
    )
    return Model(
        name=model.name,
        tree=fused_tree,
        notes=model.notes,
        link=_links(model, moving, place),
        joint=joint,
        actuator=model.actuator,
        geom=_geoms(model, place),
        frame=_frames(model, place),
        world=model.world,
    )


def _links(model: Model, moving: list[int], place: dict[int, _Place]) -> Links:
    """Inertias summed in the carriers; those that carry nothing keep their numbers untouched."""
    link = model.link
    merged: dict[int, list[int]] = {}
    for i in range(model.tree.nl):
        if i not in moving and place[i].link >= 0:
            merged.setdefault(place[i].link, []).append(i)
    mass, com, six = [], [], []
    for new, old in enumerate(moving):
        m, c, s = link.mass[old], link.com[old], link.inertia[old]
        if new in merged:
            I = inertia.spatial(m, c, s)
            for i in merged[new]:
                X = Transform(rotation.transpose(rotation.matrix(place[i].quat)), place[i].p)
                own = inertia.spatial(link.mass[i], link.com[i], link.inertia[i])
                I = I + X.inertia_inverse(own)
            m, c, s = inertia.from_spatial(I)
        mass.append(m)
        com.append(c)
        six.append(s)
    return Links(mass=jnp.stack(mass), com=jnp.stack(com), inertia=jnp.stack(six))


def _frames(model: Model, place: dict[int, _Place]) -> Frames:
    frame, tree = model.frame, model.tree
    places = [place[k].then(frame.position[i], frame.rotation[i]) for i, k in enumerate(frame.link)]
    fixed = [i for i, t in enumerate(tree.types) if t == "fixed"]
    places += [place[i] for i in fixed]
    return Frames(
        names=frame.names + tuple(tree.links[i] for i in fixed),
        link=tuple(p.link for p in places),
        position=jnp.stack([p.p for p in places]),
        rotation=jnp.stack([p.quat for p in places]),
    )


def _geoms(model: Model, place: dict[int, _Place]) -> Geoms:
    geom = model.geom
    places = [place[k].then(geom.position[i], geom.rotation[i]) for i, k in enumerate(geom.link)]
    return Geoms(
        names=geom.names,
        kinds=geom.kinds,
        link=tuple(p.link for p in places),
        size=geom.size,
        position=jnp.stack([p.p for p in places]) if places else geom.position,
        rotation=jnp.stack([p.quat for p in places]) if places else geom.rotation,
        vertices=geom.vertices,
    )
