"""mujoco.sysid on a case of the identification benchmark: reads its logs, writes what it found.

Runs where `mujoco[sysid]` is installed. Settings are those of the toolbox's README: the optimiser
"mujoco" (Gauss-Newton, batched finite differences on all cores), its defaults for everything else.
Residuals are errors over the sensor's noise (a `modify_residual`), as for the other contestant;
with `--plain` the toolbox's own normalisation. Initial states are given. Logs are on the
simulation's grid, so nothing is resampled, which is exact and quicker.

    PYTHON benchmarks/rivals/mujoco_sysid.py CASE LOGS.npz OUT.json [--assets FOLDER] [--plain]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import identification_cases as cases
import mujoco
import numpy as np


def parameters(case: cases.Case, x: np.ndarray) -> Any:
    """Their parameters, at x [p]."""
    from mujoco import sysid

    out = sysid.ParameterDict()
    for f, value in zip(case.free, x, strict=True):

        def modifier(spec: Any, p: Any, f: cases.Free = f) -> None:
            cases.write(spec, f.kind, f.of, float(p.value[0]))

        out.add(sysid.Parameter(f.name, float(value), f.low, f.high, modifier=modifier))
    return out


def residual(case: cases.Case, read: np.ndarray, plain: bool) -> Any:
    """Their residual function of the logs read [n, steps + 1, nq]."""
    from mujoco import sysid

    spec = mujoco.MjSpec.from_string(case.mjcf)
    model = spec.compile()
    n, samples = read.shape[:2]
    times = case.dt * np.arange(samples)
    names = [(f"{model.joint(j).name}_qpos", sysid.SignalType.MjStateQPos) for j in range(model.nq)]
    # The last command acts beyond the last sample; they leave it out.
    commands = np.concatenate([case.commands, case.commands[:, -1:]], 1)
    sequences = sysid.ModelSequences(
        case.name,
        spec,
        [f"log {k}" for k in range(n)],
        [sysid.create_initial_state(model, pose) for pose in case.poses[:n]],
        [sysid.TimeSeries(times, u) for u in commands[:n]],
        [sysid.TimeSeries.from_names(times, y, model, names=names) for y in read],
        allow_missing_sensors=True,
    )

    def whitened(
        params: Any, predicted: Any, measured: Any, model: Any, return_all: Any, **extra: Any
    ) -> tuple[np.ndarray, Any, Any]:
        positions = extra["state"][:, 1 : 1 + model.nq]
        mapping = measured.signal_mapping
        later = sysid.TimeSeries(measured.times[1:], measured.data[1:], mapping)
        found = sysid.TimeSeries(later.times, positions, mapping)
        return (later.data - found.data) / case.noise, found, later

    own: dict[str, Any] = {} if plain else {"modify_residual": whitened}
    return sysid.build_residual_fn(models_sequences=[sequences], resample_true=False, **own)


def fit(case: cases.Case, read: np.ndarray, x: np.ndarray, plain: bool) -> dict[str, Any]:
    """Their fit from x [p]: numbers, seconds, iterations."""
    from mujoco import sysid

    began, cpu = time.perf_counter(), time.process_time()
    function = residual(case, read, plain)
    found, result = sysid.optimize(parameters(case, x), function, optimizer="mujoco", verbose=False)
    seconds = time.perf_counter() - began
    iterations = len(result.extras.get("objective", ())) if result.extras else 0
    return {
        "x": found.as_vector().tolist(),
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "iterations": iterations,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--assets", type=Path, default=Path())
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    from mujoco import sysid

    if not hasattr(sysid, "optimize"):
        raise SystemExit("mujoco.sysid lacks its packages: pip install 'mujoco[sysid]'")
    case = cases.make(arguments.case, arguments.assets)
    read = np.load(arguments.logs)["read"][: case.fitted]
    starts = case.values("start")[None] if case.starts is None else case.starts
    runs = [[fit(case, read, x, arguments.plain) for x in starts] for _ in range(arguments.repeats)]
    settings = f"mujoco {mujoco.__version__}, optimizer mujoco, defaults"
    arguments.out.write_text(json.dumps({"runs": runs, "settings": settings}), encoding="utf-8")


if __name__ == "__main__":
    main()
