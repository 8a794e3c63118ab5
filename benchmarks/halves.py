"""Real recordings, fitted in two disjoint halves: do their intervals overlap?

Sets: IBM's double pendulum (every other of eight runs), the triple pendulum (beginning and end of
one recording), the DFKI double pendulum (every other of seven runs) and simple pendulum (two runs),
tosses of a cube (every other of forty), a Go2's servos (beginning and end of a run, and every other
of four). What is free is what the experiments of each set fit. Of each number: the halves' values,
how many deviations they are apart if the file is right, and whether the 95 % intervals with the
file have a value in common. Deviations of the tosses are those of a bootstrap over recordings.

    python benchmarks/halves.py [--only NAME ...] [--json FILE]

Data under GRAFTSIM_DATA, robot files under GRAFTSIM_ASSETS.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

import dfki_double_pendulum as double
import discovery_dfki as simple
import e05_real_double_pendulum as ibm
import jax.numpy as jnp
import multiarm_pendulum as multiarm
import real_servos as servos
import tosses

import graftsim as gs
from graftsim.identify.fit.halves import HalfRow
from graftsim.model.catalogue import with_leaf
from graftsim.targets import Figures

DATA = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
TOSSES, SAMPLES = 40, 80


def of_ibm(quick: bool) -> gs.Problem:
    """Masses, inertias, damping and gravity as the camera sees it."""
    runs = ibm.TOGETHER[:2] if quick else ibm.TOGETHER
    recordings = [ibm.read(DATA / "ibm_double_pendulum", run).trim(0.0, 15.0) for run in runs]
    return gs.Problem(
        ibm.simulator(), recordings, ibm.FREE, horizon=0.25, holdout=0.0,
        max_windows=40 if quick else 150,
    )  # fmt: skip


def of_triple(quick: bool) -> gs.Problem:
    """Centres of mass, inertias, damping and friction, from thin rods."""
    folder = DATA / "multiarm_pendulum"
    authors = json.loads((folder / "authors_estimates.json").read_text())["triple"]
    return gs.Problem(
        multiarm.simulator(authors, known=False), multiarm.read(folder), multiarm.free(),
        horizon=0.5, holdout=0.0, max_windows=8 if quick else 60,
    )  # fmt: skip


def of_double(quick: bool) -> gs.Problem:
    """Rotors, damping, friction, centres of mass, inertias."""
    runs = double.FITTED[:2] if quick else (*double.FITTED, double.SLOW, double.FAST)
    recordings = [double.read(DATA / "dfki_double_pendulum", run) for run in runs]
    return gs.Problem(double.simulator(), recordings, double.free(), holdout=0.0, horizon=0.5)


def of_simple(quick: bool) -> gs.Problem:
    """Moments of gravity and inertia, damping, friction and its width."""
    runs = [simple.read_simple(DATA / "dfki_simple_pendulum", run) for run in simple.SIMPLE_FITTED]
    free = simple.simple_free() | simple.FRICTION
    return gs.Problem(simple.simple(True), runs, free, horizon=0.3, holdout=0.0)


def of_tosses(quick: bool) -> gs.Problem:
    """Friction, stiffness, dissipation of the cube's contact and the cameras' unit, from the start
    that the experiment with tosses ends best from: less friction and softer than unasked.
    """
    every = tosses.read(DATA / tosses.SETS["contactnets"], "contactnets")
    given = every[: 4 if quick else TOSSES].trimmed(SAMPLES)
    model = tosses.cube()
    softer = model.pair.stiffness * 0.1
    model = with_leaf(with_leaf(model, "pair.stiffness", softer), "pair.friction", jnp.array([0.3]))
    free = {
        "pair.friction[*]": gs.Bounds(0.02, 2.0),
        "pair.stiffness[*]": gs.Bounds(1e3, 1e6),
        "pair.dissipation[*]": gs.Bounds(0.01, 20.0),
        "scale": tosses.SCALE,
    }
    law = gs.contact.SpringDamper()
    simulator = gs.Simulator(model, tosses.DT, substeps=10, contact=law)
    return tosses.posed(simulator, given, free, (20, 50))


def of_go2(quick: bool) -> gs.Problem:
    """Damping, friction, rotors, zeros and a delay, from a run."""
    of = servos.simulator("go2")
    log = servos.read(servos.folders()[0] / "go2_run0.npz", of.model)
    return servos.problem("go2", of, log.trim(0.0, 4.0) if quick else log)


def of_go2_runs(quick: bool) -> gs.Problem:
    """The same, from four runs."""
    of = servos.simulator("go2")
    logs = [servos.read(servos.folders()[0] / f"go2_run{k}.npz", of.model) for k in (0, 1, 2, 3)]
    logs = [log.trim(0.0, 2.0) for log in logs] if quick else logs
    posed = servos.problem("go2", of, logs[0])
    return gs.Problem(of, logs, posed.free, holdout=0.0, max_windows=64)


SETS: dict[str, Callable[[bool], gs.Problem]] = {
    "ibm": of_ibm,
    "triple": of_triple,
    "double": of_double,
    "simple": of_simple,
    "tosses": of_tosses,
    "go2": of_go2,
    "go2 runs": of_go2_runs,
}


def show(rows: tuple[HalfRow, ...]) -> None:
    """A table of the numbers of a set."""
    for r in rows:
        said = "overlap" if r.overlap else "APART"
        print(f"  {r.name:38} {r.values[0]:11.4g} {r.values[1]:11.4g} {r.unit:12}"
              f" {r.apart:6.1f} deviations apart, with the file: {said}", flush=True)  # fmt: skip


def main() -> int:
    """Fit the halves of each set, count."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--only", nargs="+", choices=tuple(SETS), help="some sets alone")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"No recordings in {DATA}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("Halves of real recordings", seed=options.seed, json_path=options.json)
    overlaps, agreements = [], []
    for name in options.only or SETS:
        began = time.process_time()
        rows = gs.halves(SETS[name](options.quick), local=gs.LevenbergMarquardt(iterations=60))
        print(f"{name}: {time.process_time() - began:.0f} CPU-s")
        show(rows)
        own = [r.overlap for r in rows]
        figures.note(f"{name}: numbers", len(rows))
        figures.note(f"{name}: agree, the file taken as right", sum(r.agree for r in rows))
        figures.note(f"{name}: intervals with the file overlap", sum(own))
        overlaps += own
        agreements += [r.agree for r in rows]
    share = 100 * sum(agreements) / max(len(agreements), 1)
    figures.note("all: agree, the file taken as right", share, "%")
    share = 100 * sum(overlaps) / max(len(overlaps), 1)
    figures.at_least("all: intervals with the file overlap", share, 90, "%")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
