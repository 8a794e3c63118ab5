"""Precision and the aliases that annotations share. SI units and radians everywhere."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from graftsim.errors import PrecisionError


def default_dtype() -> np.dtype:
    """The float type JAX computes in now: float64 when `jax_enable_x64` is on, else float32."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.float64))


def resolve_dtype(dtype: Any = None) -> np.dtype:
    """Float type for a new model; `None` takes JAX's present one.

    Raises PrecisionError when float64 is asked for while JAX would silently give float32. The
    switch is global to the process, so it is the user's to turn, never this library's.
    """
    if dtype is None:
        return default_dtype()
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise PrecisionError(f"dtype must be a float type, got {wanted}.")
    if wanted == np.float64 and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise PrecisionError(
            "float64 was asked for, but JAX is set to float32 in this process. Call "
            "jax.config.update('jax_enable_x64', True) before the first array is made, or set "
            "the environment variable JAX_ENABLE_X64=1."
        )
    return wanted
