"""Named strategies that are slow to import: where each is found, by the name that files and flags
use. A new one is one more line here; `find` imports it when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

INTEGRATORS = {
    "semi_implicit_euler": "graftsim.engine.integrators:SemiImplicitEuler",
    "implicit_damping": "graftsim.engine.integrators:ImplicitDamping",
    "rk4": "graftsim.engine.integrators:RungeKutta4",
}
CONTACT_LAWS = {
    "complementarity": "graftsim.contact.rigid:Complementarity",
    "lcp": "graftsim.contact.rigid:LinearComplementarity",
    "spring-damper": "graftsim.contact.compliant:SpringDamper",
}
LOSSES = {
    "squared": "graftsim.optim.loss:Squared",
    "huber": "graftsim.optim.loss:Huber",
    "tukey": "graftsim.optim.loss:Tukey",
}


def find(place: str) -> Any:
    """The class at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
