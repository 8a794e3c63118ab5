"""Grafts: networks on named variables of a simulator."""

from graftsim.graft.blueprint import Blueprint, Feature, Graft
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.networks import GRU, MLP, Library, Recurrent, Specification
from graftsim.graft.structure import (
    ActionReaction,
    Conservative,
    Dissipative,
    Odd,
    Structure,
    ZeroAtRest,
)

__all__ = [
    "GRU", "MLP", "ActionReaction", "Blueprint", "BoundGraft", "BoundGrafts", "Conservative",
    "Dissipative", "Feature", "Graft", "Library", "Odd", "Recurrent", "Specification", "Structure",
    "ZeroAtRest",
]  # fmt: skip
