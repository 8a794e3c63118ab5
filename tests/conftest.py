"""Tests run in float64 unless they say otherwise."""

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from pathlib import Path

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


# Tests, or whole files, that take more than two or three seconds of a core, as measured.
LONG = (Path(__file__).parent / "long_tests.txt").read_text(encoding="utf-8").split("\n")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the tests of the list `long`, before they are chosen by their marks."""
    listed = set(LONG)
    for item in items:
        if {item.nodeid, item.nodeid.split("::")[0]} & listed:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def data_dir():
    """Folder of recordings, from GRAFTSIM_DATA; tests that need it are skipped without."""
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
