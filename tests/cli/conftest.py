"""Fits are compiled quickly; see `quick_compilation`."""

import quick_compilation  # noqa: F401
