"""MuJoCo C, MJX and Brax on the contact rows of the conformance table, as JSON.

Runs where they are installed (pip install mujoco mujoco-mjx brax), not where graftsim is. How each
engine is set stands in `contact_engines.py`, the scenes in `contact_scenes.py`. An engine on a row
is a process of its own; what it cannot do is recorded as the first line of the error.

    PYTHON benchmarks/rivals/contact_rivals.py [--json FILE] [--engines NAME ...] [--rows G4 ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import contact_impacts as impacts
import contact_scenes as scenes
import numpy as np
from conformance_rows import ROWS, STEPS, TIMES, exact
from contact_engines import ENGINES, MujocoC, Skip

Found = Iterator[tuple[str, Any]]  # row, values


def _slope(row: str, case: scenes.Case) -> Callable[[Any, Any], Found]:
    def measure(engine: Any, _: Any) -> Found:
        yield row, engine.slope(case).T.ravel()

    return measure


def _impact(row: str) -> Callable[[Any, Any], Found]:
    def measure(engine: Any, _: Any) -> Found:
        yield row, engine.slope(impacts.impact(row)).ravel()

    return measure


def break_(engine: Any, _: Any) -> Found:
    """All times in one run."""
    for T, slope in zip(TIMES, engine.slope(scenes.billiards(TIMES)), strict=True):
        yield f"G8 {T:g}", slope


def sweep(engine: Any, _: Any) -> Found:
    """States whose slopes are not finite."""
    slopes = engine.slopes(scenes.resting_box(), *scenes.sweep())
    bad = ~np.all(np.isfinite(slopes.reshape(len(slopes), -1)), 1)
    yield "G10", [int(np.sum(bad))]


def standing(engine: Any, assets: Path) -> Found:
    """The slope and differences of the same engine; for MuJoCo differences of two steps."""
    for steps in STEPS:
        case = scenes.quadruped(assets, steps)
        if isinstance(engine, MujocoC):
            pair = engine.slope(case, 1e-3), engine.slope(case, 1e-5)
        else:
            pair = engine.slope(case), engine.differences(case)
        yield f"G17 {steps}", np.concatenate([x.ravel() for x in pair])


def thrown(engine: Any, _: Any) -> Found:
    """Energy by MuJoCo's own functions, over its range; what moves at the end over the same."""
    import mujoco

    case = scenes.thrown_chain()
    m = mujoco.MjModel.from_xml_string(case.xml(case.h, case.k))
    d = mujoco.MjData(m)
    energy = []
    for d.qpos[:], d.qvel[:] in zip(*engine.path(case), strict=True):
        mujoco.mj_forward(m, d)
        mujoco.mj_energyPos(m, d)
        mujoco.mj_energyVel(m, d)
        energy.append(d.energy.copy())
    total = np.sum(energy, 1)
    rise = np.max(total - np.minimum.accumulate(total))
    yield "P2", np.array([rise, energy[-1][1]]) / (total[0] - total[-1])


def block(engine: Any, _: Any) -> Found:
    """How far the block is after 1 s."""
    for row, mu in (("P3 stick", 0.7), ("P3 slide", 0.5)):
        yield row, [engine.path(scenes.incline(mu))[0][-1, 0]]


def bounce_force(engine: Any, _: Any) -> Found:
    """The force is what changes the ball's momentum beside its weight, step by step."""
    case = scenes.dropped_ball()
    rate = np.concatenate([case.v[2:3], engine.path(case)[1][:, 2]])
    force = np.diff(rate) / case.h / scenes.G + 1
    touching = force[np.abs(force) > 1e-6]
    yield "P4", [force.min(), touching[0] / force.max()]


def resting_force(engine: Any, _: Any) -> Found:
    """As the engine's interface gives it."""
    yield "P5", [engine.normal_force(scenes.resting_ball()) / scenes.G]


def capsule(engine: Any, _: Any) -> Found:
    """Overlapping contacts that the engine finds."""
    yield "P6", [engine.contacts(scenes.ball_in_capsule())]


MEASURES: dict[str, Callable[[Any, Any], Found]] = {
    "G4": _slope("G4", scenes.bounce_once()),
    "G5": _slope("G5", scenes.two_discs()),
    "G6": _slope("G6", scenes.sliding_box()),
    **{
        f"G7 {name}": _slope(f"G7 {name}", scenes.tilted_box(scene))
        for name, scene in exact.BOX_SCENES.items()
    },
    "G8": break_,
    "G9 box": _slope("G9 box", scenes.symmetric_hit(scenes.BOX)),
    "G9 capsule": _slope("G9 capsule", scenes.symmetric_hit(scenes.CAPSULE)),
    "G10": sweep,
    "G17": standing,
    "P2": thrown,
    "P3": block,
    "P4": bounce_force,
    "P5": resting_force,
    "P6": capsule,
    **{row: _impact(row) for row in impacts.ROWS},
}


def rows_of(measure: str) -> list[str]:
    """The rows of the table that a measure fills."""
    return [row for row in ROWS if row == measure or row.startswith(measure + " ")]


def work(engine_name: str, measure: str, assets: Path) -> None:
    """One engine, one measure; a line of JSON for each row."""
    warnings.simplefilter("ignore")
    engine = ENGINES[engine_name]()
    began = time.perf_counter()
    left = rows_of(measure)
    try:
        for row, values in MEASURES[measure](engine, assets):
            values = [float(v) for v in values]
            print("RESULT", json.dumps(record(engine, row, values, time.perf_counter() - began)))
            left.remove(row)
    except Exception as error:
        name = "" if isinstance(error, Skip) else f"{type(error).__name__}: "
        text = f"{name}{str(error).splitlines()[0] if str(error) else ''}"[:160]
        for row in left:
            print("RESULT", json.dumps(record(engine, row, None, 0.0) | {"text": text}))


def record(engine: Any, row: str, values: list[float] | None, seconds: float) -> dict[str, Any]:
    """What is kept of an answer."""
    known = ROWS[row]
    return {
        "engine": engine.name,
        "version": engine.version,
        "row": row,
        "values": values,
        "text": "" if values is None else known.text(values),
        "right": values is not None and bool(known.right(values)),
        "seconds": round(seconds, 1),
        "date": date.today().isoformat(),
    }


def run(engine: str, measure: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """In a process of its own."""
    command = [sys.executable, __file__, "--worker", engine, measure, "--assets", options.assets]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    try:
        done = subprocess.run(
            command, text=True, capture_output=True, check=False, timeout=options.limit,
            env=environment,
        )  # fmt: skip
        said, why = done.stdout, (done.stderr.strip().splitlines() or ["no output"])[-1]
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
        said = said if isinstance(said, str) else said.decode()
        why = f"stopped after {options.limit:.0f} s"
    lines = [x.removeprefix("RESULT ") for x in said.splitlines() if x.startswith("RESULT ")]
    found = [json.loads(x) for x in lines]
    lost = [row for row in rows_of(measure) if row not in {x["row"] for x in found}]
    maker = ENGINES[engine]()
    return found + [record(maker, row, None, 0.0) | {"text": why[:160]} for row in lost]


def keep(file: Path, found: dict[str, Any]) -> None:
    """Into the file, instead of what it has of this engine and row; in the table's order."""
    results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    key = found["engine"], found["row"]
    results = [x for x in results if (x["engine"], x["row"]) != key] + [found]
    order = [ENGINES[name]().name for name in ENGINES]
    rows = list(ROWS)
    results.sort(key=lambda x: (rows.index(x["row"]), order.index(x["engine"])))
    lines = ",\n".join(json.dumps(x) for x in results)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """Options."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--json", metavar="FILE", help="put results there, instead of printing")
    p.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME",
                   help=f"of {', '.join(ENGINES)}")  # fmt: skip
    p.add_argument("--rows", nargs="+", choices=MEASURES, default=list(MEASURES), metavar="ROW",
                   help=f"of {', '.join(MEASURES)}")  # fmt: skip
    p.add_argument("--limit", type=float, default=600.0, help="seconds for an engine on a row")
    beside = Path(os.environ.get("GRAFTSIM_DATA", "data")).parent / "assets"
    p.add_argument("--assets", default=str(beside), help="robot files (default: by GRAFTSIM_DATA)")
    p.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    return p.parse_args()


def main() -> int:
    options = parse()
    if options.worker:
        work(*options.worker, Path(options.assets))
        return 0
    results = []
    for measure in options.rows:
        for engine in options.engines:
            for found in run(engine, measure, options):
                mark = "right" if found["right"] else "WRONG" if found["values"] else "none"
                print(
                    f"{found['row']:<11} {found['engine']:<17} {mark:<5} {found['text']}",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
                results.append(found)
                if options.json:
                    keep(Path(options.json), found)
    if not options.json:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
