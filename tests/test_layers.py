"""The order of the layers, and an import that loads nothing heavy."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import graftsim

ROOT = Path(graftsim.__file__).parent
DESIGN = ROOT.parents[1] / "docs" / "architecture.md"


def rows(heading: str) -> list[list[str]]:
    """Names in the second column of the table under a heading of the design, from the top down."""
    section = DESIGN.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.split("|") for line in section.splitlines() if line.startswith("|")]
    return [re.findall(r"`(\w+)`", cells[2]) for cells in lines[2:]]


LEVEL = {name: row for row, names in enumerate(rows("Layers")) for name in names}
HEAVY = (
    "mujoco",
    "torch",
    "matplotlib",
    "optax",
    "optimistix",
    "viser",
    "plotly",
    "trimesh",
    "polars",
    "scipy.optimize",
    "llvmlite",
    "pinocchio",
    "dask",
    "onnx",
    "onnxruntime",
    "rosbags",
    "mcap",
    "h5py",
    "pyulog",
    "pymatreader",
)


def imports(path):
    """Modules of graftsim that a file imports, with the line; those for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            # `from graftsim import dynamics` names the module in the alias.
            names = (
                [f"graftsim.{a.name}" for a in node.names]
                if node.module == "graftsim"
                else [node.module or ""]
            )
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        else:
            continue
        for name in names:
            if name.startswith("graftsim."):
                yield name.split(".")[1], node.lineno


def test_every_package_has_a_layer():
    """A new package or module at the top must be given its place in the design."""
    found = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert found - {"__init__", "__main__"} <= set(LEVEL)


def arrows():
    """(own package, imported package, where) for each import across packages."""
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        own = place.parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):
            continue
        for other, line in imports(path):
            if other in LEVEL and other != own:
                yield own, other, f"{place}:{line}"


def test_arrows_point_downwards():
    """No module imports one of a higher row."""
    wrong = [f"{at} imports {other}" for own, other, at in arrows() if LEVEL[other] < LEVEL[own]]
    assert wrong == []


def test_neighbours_do_not_import_each_other_both_ways():
    """Within a row the arrows go one way, so that there is no cycle."""
    level = {(own, other) for own, other, _ in arrows() if LEVEL[own] == LEVEL[other]}
    assert [pair for pair in level if pair[::-1] in level] == []


def test_import_is_light():
    """The package, its engine and its loader come without optimiser, viewer, plotting or MuJoCo."""
    code = """
import sys, graftsim
graftsim.Simulator, graftsim.Builder, graftsim.load, graftsim.dynamics
print("\\n".join(sys.modules))
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = set(run.stdout.split())
    assert [name for name in HEAVY if name in loaded] == []
