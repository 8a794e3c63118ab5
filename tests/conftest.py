"""Tests run in float64 unless they say otherwise."""

import gc
import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import time
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


# Half of what Linux allows: a file of tests adds a few thousand at most.
MOST_MAPS = 30_000

# Tests, or whole files, that take more than about a second of a core, as measured.
LONG = (Path(__file__).parent / "long_tests.txt").read_text(encoding="utf-8").split("\n")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the tests of the list `long`, before they are chosen by their marks."""
    listed = set(filter(None, LONG))
    odd = [x for x in listed if not x.startswith("tests/") or ("[" in x and x[-1] != "]")]
    if odd:
        raise pytest.UsageError(f"tests/long_tests.txt has a test or file a line, not {odd[0]!r}")
    for item in items:
        if {item.nodeid, item.nodeid.split("::")[0]} & listed:
            item.add_marker(pytest.mark.long)


def pytest_runtest_setup():
    """Skips what begins after the Unix time GRAFTSIM_TESTS_UNTIL, by which a run must end."""
    if time.time() > float(os.environ.get("GRAFTSIM_TESTS_UNTIL", "inf")):
        pytest.skip("no time left: GRAFTSIM_TESTS_UNTIL is over")


@pytest.fixture(scope="module", autouse=True)
def room_for_programs():
    """Lets compiled programs go before the process has no room for more.

    Each takes several of the 65,530 memory maps that Linux allows a process, and the one for which
    none is left ends in a segmentation fault.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


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
