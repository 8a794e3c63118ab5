"""Contact: where shapes touch, and three laws of what happens there."""

from graftsim.contact.by_pair import ByPair
from graftsim.contact.compliant import SpringDamper
from graftsim.contact.detect import overlaps
from graftsim.contact.law import ContactLaw, ForceLaw, ImpulseLaw
from graftsim.contact.rigid import Complementarity, LinearComplementarity

__all__ = [
    "ByPair",
    "Complementarity",
    "ContactLaw",
    "ForceLaw",
    "ImpulseLaw",
    "LinearComplementarity",
    "SpringDamper",
    "overlaps",
]
