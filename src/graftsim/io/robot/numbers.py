"""Numbers in files: shortest decimal forms that read back as the same doubles."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(values: Any) -> np.ndarray:
    """A model's array as NumPy doubles (exact, whatever the model's precision)."""
    return np.asarray(values, np.float64)


def text(values: Any) -> str:
    """Numbers separated by spaces, each the shortest decimal that is read back exactly."""
    return " ".join(repr(float(v)).removesuffix(".0") for v in np.ravel(floats(values)))
