"""What each JAX primitive becomes: one function a primitive, registered by `@rule`.

Importing this package registers them all.
"""

from graftsim.kernels.rules import (
    control,
    elementwise,
    indexing,
    linalg,
    reductions,
    shaping,
    sorting,
)

__all__ = ["control", "elementwise", "indexing", "linalg", "reductions", "shaping", "sorting"]
