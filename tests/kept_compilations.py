"""Compiled programs are kept in a folder of the test run's own while the tests of a package run."""

from contextlib import contextmanager

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


@contextmanager
def kept_compilations(folder):
    """Commands keep what they compile in `folder`; afterwards JAX keeps nothing.

    JAX goes on with the folder of its first compilation until it is told to forget it: every later
    program of the process would be written there, tests' own ones among them.
    """
    compilation_cache.reset_cache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
