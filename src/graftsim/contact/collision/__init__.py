"""Where two shapes touch: candidate contacts of every supported pair of kinds.

A pair has a fixed number of candidates (`graftsim.model.contact_counts`). Each has a signed depth
that is right before the shapes meet too, so that impacts can be foreseen; a candidate that does not
exist in the present configuration is a kilometre away. All functions are plain arithmetic on fixed
shapes without branches, and have finite first derivatives everywhere.
"""

from graftsim.contact.collision.shapes import Points, Shape
from graftsim.contact.collision.table import collide

__all__ = ["Points", "Shape", "collide"]
