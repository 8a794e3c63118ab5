"""graftsim on a case of the identification benchmark: reads its logs, writes what it found.

Whole logs from their known initial states, as the other contestant takes them, by `gs.fit` with its
defaults; case b by `search=`, case e also by `gs.discover`. The second and later repeats are warm.

    PYTHON benchmarks/rivals/graftsim_fit.py CASE LOGS.npz OUT.json [--assets FOLDER] [--discover]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import identification_cases as cases
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.model.catalogue import leaf, with_leaf

SEARCH = gs.BasinHopping(workers=8, rounds=4, iterations=20)
HORIZON = 0.5  # s, of discovery's windows
SELECTORS = {
    "armature": "joint.armature[{of}]",
    "damping": "joint.damping[{of}]",
    "mass": "link.mass[{of}]",
    **{kind: f"link.{kind[:3]}[{{of}}]{kind[3:]}" for kind in cases.AXES},
}


def simulator(case: cases.Case, x: np.ndarray) -> gs.Simulator:
    """The case's model with the free numbers x [p] written into it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(case.mjcf, encoding="utf-8")
        model = gs.load(path)
    rk4 = case.integrator == "RK4"
    integrator = gs.RungeKutta4() if rk4 else gs.ImplicitDamping()
    return gs.Simulator(written(case, model, x), case.dt, integrator=integrator)


def written(case: cases.Case, model: gs.Model, x: np.ndarray) -> gs.Model:
    """A model with the free numbers x [p]; by NumPy, for JAX would compile each change."""
    tree, changed = model.tree, dict[str, np.ndarray]()

    def rows(name: str) -> np.ndarray:
        return changed.setdefault(name, np.array(leaf(model, name)))

    for f, value in zip(case.free, x, strict=True):
        if f.kind in ("armature", "damping"):
            rows(f"joint.{f.kind}")[tree.dofs.index(f.of)] = value
            continue
        link = tree.links.index(f.of)
        if f.kind == "mass":
            rows("link.mass")[link] = value
        elif f.kind in cases.AXES:
            rows("link.com")[link, cases.AXES[f.kind]] = value
        else:
            rows("link.com")[link, 1] = value
            rows("joint.origin")[[k for k, p in enumerate(tree.parent) if p == link], 1] = value
    for name, array in changed.items():
        model = with_leaf(model, name, jnp.asarray(array))
    return model


def free(case: cases.Case) -> dict[str, Any]:
    """What is free, with its bounds."""
    if all(f.kind == "length" for f in case.free):
        names = tuple(f.of for f in case.free)
        start = tuple(f.start for f in case.free)
        low, high = case.free[0].low, case.free[0].high
        return {"length": gs.Custom(names, start, with_lengths, "m", gs.Bounds(low, high))}
    return {SELECTORS[f.kind].format(of=f.of): gs.Bounds(f.low, f.high) for f in case.free}


def with_lengths(model: gs.Model, x: Any) -> gs.Model:
    """A double pendulum along y with other lengths."""
    model = with_leaf(model, "link.com", model.link.com.at[:, 1].set(x))
    return with_leaf(model, "joint.origin", model.joint.origin.at[1, 1].set(x[0]))


def recordings(case: cases.Case, read: np.ndarray) -> list[gs.Recording]:
    """Logs [n, steps + 1, nq] as recordings."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(case.mjcf)
    found = []
    for k, y in enumerate(read):
        columns = {f"joint.q[{model.joint(j).name}]": y[:, j] for j in range(model.nq)}
        u = np.concatenate([case.commands[k], case.commands[k][-1:]])
        columns |= {f"control[{model.actuator(i).name}]": u[:, i] for i in range(model.nu)}
        found.append(gs.recording_from_arrays(columns, name=f"log {k}", time=case.dt))
    return found


def problem(case: cases.Case, read: np.ndarray, start: gs.Simulator | None = None) -> gs.Problem:
    """Whole logs from their known initial states, nothing held out here."""
    made = recordings(case, read)
    poses = {r.name: pose for r, pose in zip(made, case.poses, strict=False)}

    def initial(r: gs.Recording, _: float) -> tuple[np.ndarray, np.ndarray]:
        return poses[r.name], np.zeros_like(poses[r.name])

    channels = [n for n in made[0].names if n.startswith("joint.q")]
    return gs.Problem(
        start or simulator(case, case.values("start")),
        made,
        free(case),
        noise=dict.fromkeys(channels, case.noise),
        holdout=0,
        horizon=case.commands.shape[1] * case.dt,
        growth=(1.0,),
        initial=initial,
        fit_initial=False,
    )


def fit(case: cases.Case, read: np.ndarray, x: np.ndarray) -> dict[str, Any]:
    """One fit from x [p]: numbers, seconds with everything that `gs.fit` reports, iterations."""
    began, cpu = time.perf_counter(), time.process_time()
    if case.starts is not None:
        case = cases.started(case, x)
    search = None if case.starts is None else SEARCH
    posed = problem(case, read)
    solving = time.perf_counter()
    result = gs.fit(posed, search=search)
    seconds = time.perf_counter() - began
    return {
        "x": result.theta.tolist(),
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        # Without intervals, judgement and warnings.
        "solved": solving - began + result.history[-1].seconds,
        "iterations": len(result.history),
        "outcome": result.outcome,
        "residual": result.settings["residual over noise"],
        "warnings": list(result.warnings),
    }


def discovered(case: cases.Case, read: np.ndarray) -> dict[str, Any]:
    """`gs.discover` on the fitted logs, a third of them to judge by, then the hybrid's motion along
    every log from its known start: positions [n, steps + 1, nq].
    """
    began = time.perf_counter()
    logs = recordings(case, read)
    kept = 2 * len(logs) // 3
    channels = [n for n in logs[0].names if n.startswith("joint.q")]
    start = simulator(case, case.values("start"))
    found = gs.discover(
        start,
        logs[:kept],
        free(case),
        holdout=logs[kept:],
        noise=dict.fromkeys(channels, case.noise),
        horizon=HORIZON,
    )
    seconds = time.perf_counter() - began
    costs, hybrid, form = found.costs, found.simulator, "networks"
    # Which of both is better is known from the logs that discovery judges by.
    if found.formula is not None and costs["formula"] <= costs["network"]:
        hybrid, form = found.formula, "formulas"
    q = [
        np.asarray(hybrid.rollout(hybrid.initial_state(pose), jnp.asarray(u)).q).tolist()
        for pose, u in zip(case.poses, case.commands, strict=True)
    ]
    return {"seconds": seconds, "form": form, "sentences": found.sentences(), "q": q}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--assets", type=Path, default=Path())
    parser.add_argument("--discover", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    case = cases.make(arguments.case, arguments.assets)
    read = np.load(arguments.logs)["read"][: case.fitted]
    starts = case.values("start")[None] if case.starts is None else case.starts
    runs = [[fit(case, read, x) for x in starts] for _ in range(arguments.repeats)]
    out: dict[str, Any] = {"runs": runs}
    if arguments.discover:
        out["discovered"] = discovered(case, read)
    arguments.out.write_text(json.dumps(out), encoding="utf-8")


if __name__ == "__main__":
    main()
