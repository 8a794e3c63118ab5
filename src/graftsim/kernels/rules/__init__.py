"""What each JAX primitive becomes: one function a primitive, registered by `@rule`.

Importing this package registers them all.
"""

from graftsim.kernels.rules import (
    branches,
    calls,
    elementwise,
    indexing,
    linalg,
    loops,
    products,
    reductions,
    shaping,
    sorting,
)

__all__ = [
    "branches",
    "calls",
    "elementwise",
    "indexing",
    "linalg",
    "loops",
    "products",
    "reductions",
    "shaping",
    "sorting",
]
