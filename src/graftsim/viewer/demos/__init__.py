"""Robots in motion that come with the package: `graftsim demo NAME`."""

from graftsim.viewer.demos.demo import Demo, Scene
from graftsim.viewer.demos.trotting import LaikagoDemo, TrotDemo

DEMOS: tuple[Demo, ...] = (TrotDemo(), LaikagoDemo())

__all__ = ["DEMOS", "Demo", "LaikagoDemo", "Scene", "TrotDemo"]
