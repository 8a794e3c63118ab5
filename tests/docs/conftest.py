"""The pages' files, made once: simulated logs take their time to compile."""

import shutil

import pytest
from machine import write

import quick_compilation  # noqa: F401


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
