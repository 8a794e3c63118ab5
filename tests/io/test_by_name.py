"""Robots by the names of `robot_descriptions`, from what it has fetched, without a download."""

import sys

import pytest

import graftsim as gs

REPOSITORIES = """from dataclasses import dataclass
REPOSITORIES = {"zoo": Repository(url="https://nowhere/zoo.git", cache_path="the_zoo")}
"""
MODULE = """from os import getenv as _getenv
from os import path as _path
from ._cache import clone_to_cache as _clone_to_cache
REPOSITORY_PATH: str = _clone_to_cache("zoo", commit=_getenv("ROBOT_DESCRIPTION_COMMIT", None))
PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "robots", "cat")
URDF_PATH: str = _path.join(PACKAGE_PATH, "cat.urdf")
raise SystemExit("it must not be imported")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of that form with one robot, fetched into a cache."""
    package = tmp_path / "site" / "robot_descriptions"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('it must not be imported')")
    (package / "_repositories.py").write_text(REPOSITORIES)
    (package / "cat_description.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "robot_descriptions", raising=False)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "the_zoo" / "robots" / "cat"
    folder.mkdir(parents=True)
    (folder / "cat.urdf").write_text('<robot name="cat"><link name="base"/></robot>')
    return folder


def test_fetched(package):
    """The file of the cache."""
    assert gs.load("robot_descriptions:cat_description").name == "cat"


def test_not_fetched(package):
    """The path, and how to fetch it."""
    (package / "cat.urdf").unlink()
    with pytest.raises(gs.FileError, match=r"has not fetched it: .*cat\.urdf.*import robot_desc"):
        gs.load("robot_descriptions:cat_description")


def test_another_name(package):
    """The nearest."""
    with pytest.raises(gs.FileError, match="Nearest: cat_description"):
        gs.load("robot_descriptions:cat_descripton")


def test_not_installed(monkeypatch):
    """What to install."""
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(gs.FileError, match="pip install robot_descriptions"):
        gs.load("robot_descriptions:cat_description")


ODD = """import os
COUNT = 3
print("nothing is said by this")
LATER: str
HERE = os.path.join(UNKNOWN, "dog")
URDF_PATH: str = _download("dog")
MJCF_PATH = os.sep
"""


def test_a_module_that_does_not_say_where(package, tmp_path):
    """What cannot be read without running the module is not guessed."""
    (tmp_path / "site" / "robot_descriptions" / "dog_description.py").write_text(ODD)
    with pytest.raises(gs.FileError, match="does not say where its file is"):
        gs.load("robot_descriptions:dog_description")
