"""The pages' files, made once: simulated logs take their time to compile."""

import shutil

import pytest
from machine import write

import graftsim as gs
import quick_compilation  # noqa: F401
from graftsim.graft.network import NETWORKS
from graftsim.graft.structure import STRUCTURES
from graftsim.kernels.ir.fingerprint import UNNAMED
from graftsim.kernels.ir.trace import RULES
from graftsim.model.drive_type import OWN_NUMBERS
from graftsim.recordings.channels import LAYOUTS
from graftsim.sensors.sensor import KINDS

# Modules fill the tables when they are imported, which names of the package do when first used.
for _name in gs.__all__:
    getattr(gs, _name)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with the robot and the logs that the pages speak of."""
    folder = tmp_path_factory.mktemp("machine")
    write(folder)
    return folder


@pytest.fixture
def place(files, tmp_path, monkeypatch):
    """A working folder with a copy of those files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def tables():
    """Classes of a page that enter a table by their name leave it with the page."""
    filled = (KINDS, LAYOUTS, OWN_NUMBERS, NETWORKS, STRUCTURES, RULES)
    before = [dict(table) for table in filled]
    yield
    for table, entries in zip(filled, before, strict=True):
        table.clear()
        table.update(entries)
    UNNAMED.clear()
