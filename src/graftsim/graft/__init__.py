"""Grafts: networks on named variables of a simulator."""

from graftsim.graft.blueprint import Blueprint, Feature, Graft
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.gru import GRU
from graftsim.graft.library import Library
from graftsim.graft.network import Network, Recurrent, Specification
from graftsim.graft.perceptron import MLP
from graftsim.graft.structure import Structure
from graftsim.graft.structures import ActionReaction, Conservative, Dissipative, Odd, ZeroAtRest

__all__ = [
    "GRU", "MLP", "ActionReaction", "Blueprint", "BoundGraft", "BoundGrafts", "Conservative",
    "Dissipative", "Feature", "Graft", "Library", "Network", "Odd", "Recurrent", "Specification",
    "Structure", "ZeroAtRest",
]  # fmt: skip
