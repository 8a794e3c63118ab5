"""Legged locomotion: gait, footholds, forces of the standing feet, and the walk in a simulator."""

from graftsim.control.locomotion.forces import OSQP, Forces, ForceSolver
from graftsim.control.locomotion.gait import Gait
from graftsim.control.locomotion.interior_point import InteriorPoint
from graftsim.control.locomotion.legs import Legs, find_legs
from graftsim.control.locomotion.stance import Prediction, SingleBody
from graftsim.control.locomotion.swing import Swing
from graftsim.control.locomotion.trot import Aim, Memory, Trot, trot
from graftsim.control.locomotion.walk import Walk, walker

__all__ = [
    "OSQP", "Aim", "ForceSolver", "Forces", "Gait", "InteriorPoint", "Legs", "Memory", "Prediction",
    "SingleBody", "Swing", "Trot", "Walk", "find_legs", "trot", "walker",
]  # fmt: skip
