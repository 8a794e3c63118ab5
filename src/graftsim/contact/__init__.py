"""Contact: where shapes touch, and three laws of what happens there."""

from graftsim.contact.compliant import SpringDamper
from graftsim.contact.impulses import Complementarity, LinearComplementarity
from graftsim.contact.law import ContactLaw

__all__ = ["Complementarity", "ContactLaw", "LinearComplementarity", "SpringDamper"]
