"""Pictures of planar scenes, with derivatives in where things are."""

from graftsim.vision.raster import discs, draw, polygons

__all__ = ["discs", "draw", "polygons"]
