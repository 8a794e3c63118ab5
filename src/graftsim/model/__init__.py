"""What a mechanism is: topology, joints, links, actuators, shapes, state, and how to build one."""

from graftsim.model.build import Builder
from graftsim.model.catalogue import PARAMETERS, leaf, with_leaf
from graftsim.model.fuse import fuse
from graftsim.model.joint_type import AdditiveJoint, Coordinate, Freedom, JointType
from graftsim.model.loop_type import LoopType
from graftsim.model.model import Model
from graftsim.model.pairs import keep_pairs
from graftsim.model.path_type import PathType
from graftsim.model.shape_type import Convex, ShapeType, Smooth
from graftsim.model.state import State

__all__ = [
    "PARAMETERS",
    "AdditiveJoint",
    "Builder",
    "Convex",
    "Coordinate",
    "Freedom",
    "JointType",
    "LoopType",
    "Model",
    "PathType",
    "ShapeType",
    "Smooth",
    "State",
    "fuse",
    "keep_pairs",
    "leaf",
    "with_leaf",
]
