"""Keeping compiled programs between processes, so that the second start is quick."""

from __future__ import annotations

from pathlib import Path

import jax

from graftsim import private

# For `jax.jit(compiler_options=)` of what runs once: compiled five times sooner, slower to run.
BRIEF = {"xla_backend_optimization_level": 0}
if jax.__version_info__ < (0, 12):  # later ones have no choice there
    BRIEF |= {"xla_cpu_use_fusion_emitters": False}
BRIEF_FLAGS = " ".join(f"--{k}={int(x)}" for k, x in BRIEF.items())  # the same as XLA_FLAGS


def cache_compilations(folder: str | Path | None = None) -> Path:
    """Let JAX keep compiled programs on disk; returns the folder.

    The default is `graftsim/xla` in the user's cache folder (XDG_CACHE_HOME, or ~/.cache). Call it
    before the first compilation. It changes JAX's settings for the whole process, so the library
    never does it by itself; the command line does. A folder that others may write to is not used:
    what lies there is run as code.
    """
    place = private.cache_folder() / "xla" if folder is None else Path(folder)
    if private.private(place):
        jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return place
