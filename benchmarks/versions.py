"""Every Python with the newest libraries, and the oldest Python with the oldest that are allowed.

Builds wheel and source distribution, installs the wheel in an empty environment of each, and runs
what a stranger would: `--version`, `--help`, the README's fit, and a gradient on a kernel beside
XLA's. Oldest: each library at the bound that pyproject.toml states. Prints a table; times are
those of the newest Python's environment, of processes, the first of its kind not counted.

    python benchmarks/versions.py [--python COMMAND ...] [--json FILE]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from graftsim.targets import Figures

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
EXTRA = "report"  # what the README's first command installs
SHOWN = ("jax", "numpy", "equinox", "llvmlite", "mujoco-core")
WAIT = 900.0  # s for a command
KERNEL = """
import jax, jax.numpy as jnp
from importlib.metadata import version
import graftsim as gs
jax.config.update("jax_enable_x64", True)
b = gs.Builder("pendulum")
b.link("bar", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.1)
s = gs.Simulator(b.build(), dt=0.01)
x = s.initial_state({"bar": 0.5})
slopes = [
    jax.grad(lambda q, k=k: s.rollout(s.initial_state(q), steps=50, backend=k).q[-1, 0])(x.q)
    for k in ("kernel", "xla")
]
assert jnp.allclose(*slopes, rtol=1e-10), slopes
print(*(f"{n}={version(n)}" for n in SHOWN))
"""


@dataclass
class Found:
    """What became of an environment: a line why it failed, versions, seconds by command."""

    python: str
    bounds: str
    said: str
    versions: str
    seconds: dict[str, float]


def run(command: list[str], where: Path) -> str:
    """Output of a command. Raises RuntimeError: its last line of errors."""
    env = {k: x for k, x in os.environ.items() if not k.startswith(("PYTHON", "JAX", "GRAFTSIM"))}
    env |= {"JAX_PLATFORMS": "cpu", "GRAFTSIM_KERNEL_CACHE": str(where / "kernels")}
    done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=WAIT)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()
        raise RuntimeError(next((x for x in lines if x.startswith("ERROR")), lines[-1])[:160])
    return done.stdout


def oldest() -> list[str]:
    """Each library of the wheel and its extra at the least version that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][EXTRA]]
    found = [re.match(r"([\w-]+)>=([\d.]+)", w) for w in wanted]
    assert all(found), wanted
    return [f"{m[1]}=={m[2]}" for m in found if m]


def build(folder: Path) -> list[Path]:
    """Wheel and source distribution."""
    run([sys.executable, "-m", "venv", "builder"], folder)
    python = str(folder / "builder/bin/python")
    run([python, "-m", "pip", "install", "-q", "build"], folder)
    run([python, "-m", "build", "-q", "-o", str(folder / "dist"), str(ROOT)], folder)
    return sorted((folder / "dist").iterdir(), key=lambda p: p.suffix != ".whl")


def tried(python: str, bounds: str, wheel: Path, folder: Path) -> Found:
    """All commands in an environment of its own; the first failure ends it."""
    found = Found(python, bounds, "passes", "", {})
    own = folder / f"{python}-{bounds}"
    own.mkdir()
    shutil.copytree(ROOT / "examples/double_pendulum", own / "examples/double_pendulum")
    (own / "kernel.py").write_text(f"SHOWN = {SHOWN}\n{KERNEL}", encoding="utf-8")
    limits = own / "limits.txt"
    limits.write_text("\n".join(oldest() if bounds == "oldest" else []), encoding="utf-8")
    there, command = str(own / "env/bin/python"), str(own / "env/bin/graftsim")
    install = [there, "-m", "pip", "install", "-q", "--only-binary", ":all:", "-c", str(limits)]
    steps = {
        "environment": [shutil.which(python) or python, "-m", "venv", "env"],
        "install": [*install, f"{wheel}[{EXTRA}]"],
        "first --version": [command, "--version"],
        "--version": [command, "--version"],
        "--help": [command, "--help"],
        "import": [there, "-c", "import graftsim"],
        "inspect": [command, "inspect", "examples/double_pendulum/double_pendulum.urdf"],
        "kernel": [there, "kernel.py"],
        "fit": [command, "fit", "--run", "examples/double_pendulum/fit.toml"],
    }
    for name, step in steps.items():
        began = time.perf_counter()
        try:
            out = run(step, own)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            found.said = f"{name}: {error}"
            break
        found.seconds[name] = time.perf_counter() - began
        if name == "kernel":
            found.versions = out.strip()
    print(f"{python:<11} {bounds:<7} {found.said}  {found.versions}", flush=True)
    shutil.rmtree(own)
    return found


def main() -> int:
    """All environments; the table."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="interpreters to try")
    arguments = parser.parse_args()
    figures = Figures("Versions", seed=arguments.seed, json_path=arguments.json)
    pythons = [p for p in arguments.python if shutil.which(p)]
    for left in sorted(set(arguments.python) - set(pythons)):
        print(f"{left:<11} is not on this machine")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, source = build(folder)
        figures.note("wheel", wheel.stat().st_size / 1e6, "MB")
        figures.note("source distribution", source.stat().st_size / 1e6, "MB")
        figures.note("files in the wheel", len(zipfile.ZipFile(wheel).namelist()))
        jobs = [(p, "newest") for p in pythons] + [(pythons[0], "oldest")]
        found = [tried(*job, wheel, folder) for job in jobs[: 1 if arguments.quick else None]]
    for f in found:
        figures.at_most(f"{f.python}, {f.bounds}: failures", float(f.said != "passes"), 0)
    last = found[min(len(pythons), len(found)) - 1]
    for what, seconds in last.seconds.items():
        if what in ("--help", "inspect"):
            figures.at_most(f"{last.python}: {what}", seconds, 1.0, "s")
        else:
            figures.note(f"{last.python}: {what}", seconds, "s")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
