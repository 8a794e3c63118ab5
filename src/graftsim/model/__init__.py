"""What a mechanism is: topology, joints, links, actuators, shapes, state, and how to build one."""

from graftsim.model.build import Builder
from graftsim.model.model import Model
from graftsim.model.state import State

__all__ = ["Builder", "Model", "State"]
