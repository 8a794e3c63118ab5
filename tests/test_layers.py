"""The order of the layers, and an import that loads nothing heavy."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import graftsim

ROOT = Path(graftsim.__file__).parent
# From the top down. A module may import its own package, anything in a lower row, and its
# neighbours in the row as long as they do not import it.
ROWS = (
    ("cli",),
    ("envs", "report", "viewer"),
    ("identify", "control", "vision"),
    ("graft", "optim"),
    ("engine",),
    ("contact", "kernels"),
    ("dynamics", "solvers", "io"),
    ("model", "taps"),
    ("spatial",),
    ("errors", "units", "selectors", "compilation", "seldom"),
)
LEVEL = {name: row for row, names in enumerate(ROWS) for name in names}
# The public face has `result.report("out/")`: a shortcut upwards, loaded when it is called.
SHORTCUTS = {("identify/result.py", "report"), ("identify/findings.py", "report")}
HEAVY = (
    "mujoco",
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
    """A new package or module at the top must be given its place here and in the design."""
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
            if other in LEVEL and other != own and (str(place), other) not in SHORTCUTS:
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
