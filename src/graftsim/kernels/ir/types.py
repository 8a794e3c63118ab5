"""Types of scalars: floats, signed and unsigned whole numbers, bools."""

from __future__ import annotations

import numpy as np

DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "i1": np.dtype(np.bool_),
}
TYPES = {dtype: name for name, dtype in DTYPES.items()}
BITS = {"f32": 32, "f64": 64, "i32": 32, "i64": 64, "u32": 32, "u64": 64, "i1": 1}
