"""Machine code of these tests goes to a folder of their own, not to the user's cache."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory):
    """For the whole session."""
    before = os.environ.get("GRAFTSIM_KERNEL_CACHE")
    os.environ["GRAFTSIM_KERNEL_CACHE"] = str(tmp_path_factory.mktemp("kernels"))
    yield
    if before is None:
        del os.environ["GRAFTSIM_KERNEL_CACHE"]
    else:
        os.environ["GRAFTSIM_KERNEL_CACHE"] = before
