"""Joints that a format of robot files has no word for."""

from __future__ import annotations

from collections.abc import Collection

from graftsim.errors import FileError
from graftsim.model.joint_type import JointType
from graftsim.model.model import Model


def check_joints(model: Model, known: Collection[JointType], form: str) -> None:
    """Refuse a model with a joint of a type that is not known: it cannot be left out."""
    for name, kind in zip(model.tree.joints, model.tree.joint_types, strict=True):
        if kind not in known:
            names = ", ".join(t.name for t in known)
            raise FileError(
                f"Joint '{name}' is of type {kind.name}, which {form} cannot express; it has "
                f"{names}. Write another format, or replace the joint."
            )
