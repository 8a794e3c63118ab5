"""graftsim: a differentiable rigid-body simulator that learns from a real machine's logs.

The public names stand in `__init__.pyi`. They are loaded when first used: the command line answers
--help before JAX is there, and chooses its precision by the environment before JAX reads it.
"""

import lazy_loader

from graftsim._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
