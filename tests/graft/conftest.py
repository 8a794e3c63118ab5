"""Compiled quickly, see `quick_compilation`; machine code goes to a folder of the test run's."""

import pytest

import quick_compilation  # noqa: F401


@pytest.fixture(scope="package", autouse=True)
def kernel_cache(tmp_path_factory):
    """While these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path_factory.mktemp("kernels")))
        yield
