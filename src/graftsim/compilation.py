"""Keeping compiled programs between processes, so that the second start is quick."""

from __future__ import annotations

import os
from pathlib import Path

import jax


def cache_compilations(folder: str | Path | None = None) -> Path:
    """Let JAX keep compiled programs on disk; returns the folder.

    The default is `graftsim/xla` in the user's cache folder (XDG_CACHE_HOME, or ~/.cache). Call it
    before the first compilation. It changes JAX's settings for the whole process, so the library
    never does it by itself; the command line does.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = base / "graftsim" / "xla" if folder is None else Path(folder)
    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return place
