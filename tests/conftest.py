"""Tests run in float64 unless they say otherwise."""

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import pytest
from hypothesis import HealthCheck, settings

# Plug-ins may have loaded JAX already, too late for the variable above.
jax.config.update("jax_enable_x64", True)

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def data_dir():
    """Folder of recordings, from GRAFTSIM_DATA; tests that need it are skipped without."""
    from pathlib import Path

    folder = os.environ.get("GRAFTSIM_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GRAFTSIM_DATA names no folder of recordings")
    return Path(folder)


@pytest.fixture(scope="session")
def assets_dir(data_dir):
    """Folder of robot files beside the recordings."""
    folder = data_dir.parent / "assets"
    if not folder.is_dir():
        pytest.skip("no assets folder beside GRAFTSIM_DATA")
    return folder
