"""Robots in motion that come with the package: `graftsim demo NAME`."""

from graftsim.viewer.demos.demo import Demo, Scene
from graftsim.viewer.demos.laikago_trot import LaikagoTrot

DEMOS: tuple[Demo, ...] = (LaikagoTrot(),)

__all__ = ["DEMOS", "Demo", "LaikagoTrot", "Scene"]
