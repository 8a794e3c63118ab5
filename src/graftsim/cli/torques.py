"""Torques in place of a robot file's actuators, for logs in which torques were measured."""

from __future__ import annotations

from dataclasses import replace

import equinox as eqx

from graftsim.model.build import Builder
from graftsim.model.model import Model


def torque_actuators(model: Model) -> Model:
    """The model with one torque actuator on each hinge and slide, and no other.

    Each has the name of the file's actuator if that is the only one on its joint, else the
    joint's; no gear, limits or lag.
    """
    tree, file = model.tree, model.actuator
    dofs = [
        int(v)
        for kind, own in zip(tree.joint_types, tree.v_index, strict=True)
        if kind.one_by_one
        for v in own
    ]
    own = {v: [n for n, d in zip(file.names, file.dof, strict=True) if d == v] for v in dofs}
    names = [own[v][0] if len(own[v]) == 1 else tree.dofs[v] for v in dofs]
    if len(set(names)) < len(names):
        names = [tree.dofs[v] for v in dofs]
    # A builder knows all numbers of an actuator; its mechanism serves for that alone.
    bench = Builder("bench")
    for name in names:
        bench.link(name, "world", joint_name=name, axis=(0, 0, 1), mass=1.0, inertia=1.0)
        bench.actuator(name, name)
    actuators = bench.build(model.link.mass.dtype).actuator if names else file
    return eqx.tree_at(lambda m: m.actuator, model, replace(actuators, dof=tuple(dofs)))
