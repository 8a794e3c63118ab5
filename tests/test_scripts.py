"""Experiments and benchmarks run at their smallest setting, and what they write is read back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Options of the smallest setting. `--quick`: the script's own.
SCRIPTS = {
    "experiments/dfki_double_pendulum.py": (),
    "experiments/discovery_ball_drops.py": ("--quick",),
    "experiments/discovery_dfki.py": ("--only", "simple"),
    "experiments/e01_golf_drag.py": ("--quick",),
    "experiments/e02_link_lengths.py": ("--quick",),
    "experiments/e03_friction_discovery.py": ("--only", "b", "--quick"),
    "experiments/e04_cube_toss.py": ("--quick",),
    "experiments/e05_real_double_pendulum.py": ("--quick",),
    "experiments/e06_heading_vectors.py": ("--quick",),
    "experiments/e07_mixture_online.py": ("--quick",),
    "experiments/e08_planar_pushing.py": ("--quick",),
    "experiments/e09_swimmer.py": ("--only", "air", "--quick"),
    "experiments/e10_quadruped_mpc.py": ("--only", "walk", "--quick"),
    "experiments/e11_gradient_run_time.py": ("--quick",),
    "experiments/e12_chain_mass.py": ("--quick",),
    "experiments/e13_billiards_vision.py": ("--quick",),
    "experiments/e14_breakout.py": ("--quick",),
    "experiments/e14_cartpole.py": ("--quick",),
    "experiments/multiarm_pendulum.py": ("--quick",),
    "experiments/panda.py": (),
    "experiments/policy_through_contact.py": ("--quick",),
    "experiments/planar_impacts.py": ("--quick",),
    "experiments/real_servos.py": ("--quick",),
    "experiments/staubli_tx40.py": (),
    "benchmarks/busy.py": ("--quick",),
    "benchmarks/calibration.py": ("--quick",),
    "benchmarks/compile_time.py": ("--only", "double pendulum", "--repeats", "1"),
    "benchmarks/conformance.py": ("--rows", "G4"),
    "benchmarks/contact.py": ("--only", "chain"),
    "benchmarks/coverage.py": ("--quick",),
    "benchmarks/halves.py": ("--quick", "--only", "simple"),
    "benchmarks/honesty.py": ("--quick",),
    "benchmarks/discovery.py": ("--cases", "1"),
    "benchmarks/environments.py": ("--quick", "--only", "swimmer"),
    "benchmarks/faults.py": ("--quick",),
    "benchmarks/first_path.py": ("--quick",),
    "benchmarks/graft_cost.py": (),
    "benchmarks/identification.py": ("--cases", "a", "--tries", "1"),
    "benchmarks/ilqr.py": ("--quick",),
    "benchmarks/interop.py": ("--quick",),
    "benchmarks/kernels.py": ("--quick", "--only", "chain2", "--sections", "peak"),
    "benchmarks/large_robots.py": ("--quick",),
    "benchmarks/overhead.py": ("--repeats", "1"),
    "benchmarks/robot_files.py": ("--quick",),
    "benchmarks/scale.py": ("--quick",),
    "benchmarks/structure.py": (),
    "benchmarks/versions.py": ("--quick",),
}


# Libraries that the test extra does not have.
NEEDS = {"benchmarks/interop.py": "torch"}

# It reads what the others write, and has tests of its own.
READER = "benchmarks/compare.py"


def scripts():
    """All that are started by their name and write figures by --json."""
    for folder in ("experiments", "benchmarks"):
        for path in sorted((ROOT / folder).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            if '__name__ == "__main__"' in text and ("--json" in text or "Figures." in text):
                yield f"{folder}/{path.name}"


def test_every_script_is_run():
    """A new one gets its smallest setting here."""
    assert set(scripts()) - {READER} == set(SCRIPTS)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_figures_are_read_back(script, data_dir, assets_dir, tmp_path):
    """It ends, its targets met or not, and its file is JSON with a figure in it."""
    if script in NEEDS:
        pytest.importorskip(NEEDS[script])
    file = tmp_path / "figures.json"
    environment = {
        **os.environ,
        "GRAFTSIM_DATA": str(data_dir),
        "GRAFTSIM_ASSETS": str(assets_dir),
        "MPLBACKEND": "agg",
    }
    command = [sys.executable, str(ROOT / script), *SCRIPTS[script], "--json", str(file)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content
    for figure in content.get("figures", []) if isinstance(content, dict) else []:
        assert figure["name"]
        assert figure["value"] is None or isinstance(figure["value"], int | float)
        assert figure["holds"] in (True, False, None)
