"""Imported by a conftest before JAX computes: what compiles once and runs briefly compiles quickly.

The library compiles its own programs, so the options of `zoo.jit` cannot reach them; XLA reads this
variable at its first compilation, and where that came earlier, tests are slower and else the same.
"""

import os

from graftsim.compilation import BRIEF_FLAGS

if "xla_backend_optimization_level" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {BRIEF_FLAGS}".strip()
