"""Contact: where shapes touch, and three laws of what happens there."""

from graftsim.contact.compliant import SpringDamper
from graftsim.contact.detect import overlaps
from graftsim.contact.law import ContactLaw
from graftsim.contact.rigid import Complementarity, LinearComplementarity

__all__ = ["Complementarity", "ContactLaw", "LinearComplementarity", "SpringDamper", "overlaps"]
