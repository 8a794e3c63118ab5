"""E8: pushed objects on a board, and a network for what their friction lacks (NeuralSim IV-A).

MCube's pushes (Yu et al. 2016) under GRAFTSIM_DATA: a steel object on springs with Brown and
McPhee's friction, pushed by a circle on its recorded path by the complementarity law. One third of
the pushes of each shape and speed is held out, or with `--judge FOLDER` all are fitted and those
of that folder judge. Robot and cameras disagree by a millimetre: the tip is registered first, for
all models alike, on the pushes that are fitted.

Judged is the pose at the end of each push (the tip stops, 1 s at most). Models: start, tuned
(friction of sliding and breaking away, speed of the curve, the tip's friction, by surface), three
hybrids with a network end to end, a network outside the engine, and the ellipsoidal limit surface.
The tip's force in the simulation, which no fit has seen, is compared with the measured one.

`mcube_push_endpoints`: some hundred pushes fit, all others judge.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import limit_surface
import numpy as np
import pictures
import pushing_fit
import pushing_residual
from pushes import Pushes, Shape, read_endpoints, read_pushes, read_shapes, registration
from pushing import START, scene
from pushing_fit import Candidate, Errors, errors, run
from pushing_grafts import grafted

import graftsim as gs
from graftsim.targets import Figures

# Rounds of Adam: of friction alone, of friction and weights.
TUNING, LEARNING = (80,), (150, 150)
HYBRIDS = {"pose": "hybrid a", "free": "hybrid b", "points": "hybrid c"}
# The one that is held to the target.
CHOSEN = "free"
PARTS = ("pushes", "endpoints")
# Of endpoints: how many fit, control step (s) with its two sub-steps.
FITTED, STEP, SLOWEST = 200, 0.01, 0.02
ENDPOINT_TUNING, ENDPOINT_LEARNING = (30,), (50, 50)
# Times slower than whole pushes; how many pushes the limit surface is fitted to, at every so-many
# samples: it needs no time.
SLOW, EVERY = 5.0, 10


def split(pushes: Pushes, seed: int) -> tuple[Pushes, Pushes]:
    """Pushes that fit and those held out: a third of each shape and speed."""
    rng = np.random.default_rng(seed)
    group = np.array([name.split("_i")[0] for name in pushes.names])
    out = [rng.permutation(np.flatnonzero(group == g)) for g in np.unique(group)]
    held = np.concatenate([rows[: len(rows) // 3] for rows in out])
    return pushes[np.setdiff1d(np.arange(len(pushes)), held)], pushes[np.sort(held)]


def registered(pushes: Pushes, by: np.ndarray) -> Pushes:
    """With tips where the cameras would see them."""
    return replace(pushes, tip=pushes.tip - by)


def judge(figures: Figures, name: str, found: Errors) -> tuple[float, float]:
    """Mean errors of final poses, into the table."""
    position, yaw = float(found.position.mean()), float(found.yaw.mean())
    figures.note(f"{name}: final position error", 1e3 * position, "mm")
    figures.note(f"{name}: final yaw error", yaw, "rad")
    return position, yaw


def force_error(reaction: np.ndarray, pushes: Pushes) -> tuple[float, float]:
    """Mean size of the measured tip force (N), and of its difference to the reaction.

    Means over 50 ms; pushes whose sensor stands still are left out.
    """
    measured, off = [], []
    for k in range(len(pushes)):
        real = pushes.wrench[k, : pushes.last[k], :2]
        if np.linalg.norm(real.std(0)) < 0.1:
            continue
        n = len(real) // 10 * 10
        pair = (x[:n].reshape(-1, 10, 2).mean(1) for x in (real, reaction[k]))
        real, simulated = pair
        measured.append(np.linalg.norm(real, axis=1).mean())
        off.append(np.linalg.norm(simulated - real, axis=1).mean())
    return float(np.mean(measured)), float(np.mean(off))


def whole_pushes(
    figures: Figures, shapes: dict[str, Shape], train: Pushes, test: Pushes,
    arguments: argparse.Namespace,
) -> dict[str, Candidate]:  # fmt: skip
    """All models on recorded pushes; what was found."""
    quick = arguments.quick
    offset = registration(train, shapes)
    train, test = registered(train, offset), registered(test, offset)
    figures.note("pushes fitted", len(train))
    figures.note("pushes judged", len(test))
    figures.note("longest horizon", 0.005 * float(test.last.max()), "s")
    figures.note("tip and cameras apart", 1e3 * float(np.linalg.norm(offset)), "mm")
    plain = pushing_fit.start(scene(), np.array(START))
    first = judge(figures, "start", errors(run(plain, shapes, test)[0], test))
    began = time.perf_counter()
    tuned = pushing_fit.fit(plain, shapes, train, (3,) if quick else TUNING, "tuned")
    figures.note("tuned: time of the fit", time.perf_counter() - began, "s")
    found = {"start": plain, "tuned": tuned}
    path, recorded = run(tuned, shapes, test, ("joint.reaction",))
    before = judge(figures, "tuned", errors(path, test))
    figures.at_most("tuned: position over the start's", before[0] / first[0], 1.0)
    figures.at_most("tuned: yaw over the start's", before[1] / first[1], 1.0)
    measured, off = force_error(recorded["joint.reaction"][:, :, 4:], test)
    figures.note("measured force of the tip", measured, "N")
    figures.note("tuned: error of the tip's force", off, "N")
    for name, label in {} if quick else HYBRIDS.items():
        began = time.perf_counter()
        hybrid = pushing_fit.start(
            grafted(tuned.simulator, name, arguments.seed), tuned.friction[0]
        )
        hybrid = replace(hybrid, friction=tuned.friction)
        hybrid = pushing_fit.fit(hybrid, shapes, train, LEARNING, label)
        path, recorded = run(hybrid, shapes, test, ("joint.reaction",))
        after = judge(figures, f"{label} ({name})", errors(path, test))
        shares = after[0] / before[0], after[1] / before[1]
        tell = figures.at_most if name == CHOSEN else lambda n, v, _: figures.note(n, v)
        tell(f"{label}: position over the tuned model's", shares[0], 0.7)
        tell(f"{label}: yaw over the tuned model's", shares[1], 1.0)
        off = force_error(recorded["joint.reaction"][:, :, 4:], test)[1]
        figures.note(f"{label}: error of the tip's force", off, "N")
        figures.note(f"{label}: time of the fit", time.perf_counter() - began, "s")
        found[name] = hybrid
    others(figures, shapes, train, test, tuned, quick)
    return found


def others(
    figures: Figures, shapes: dict[str, Shape], train: Pushes, test: Pushes, tuned: Candidate,
    quick: bool,
) -> None:  # fmt: skip
    """Baselines that do not simulate forces."""
    paths = [run(tuned, shapes, x)[0] for x in (train, test)]
    weights = pushing_residual.fit(paths[0], train, 20 if quick else 500)
    path = pushing_residual.corrected(weights, paths[1], test)
    judge(figures, "residual network", errors(path, test))
    every = 10 if quick else 2
    numbers = limit_surface.fit(shapes, train, every, 10 if quick else 60)
    judge(
        figures, "limit surface", errors(limit_surface.simulate(numbers, shapes, test, every), test)
    )
    figures.note("limit surface: radius over the uniform one", numbers[0])
    figures.note("limit surface: friction of the tip", numbers[1])


def endpoints(figures: Figures, shapes: dict[str, Shape], everything: Pushes, seed: int) -> None:
    """Tuned and hybrid on pushes of which only start and end are known."""
    order = np.random.default_rng(seed).permutation(len(everything))
    everything = registered(everything, registration(everything[order[:FITTED]], shapes))
    train, test = everything[np.sort(order[:FITTED])], everything[np.sort(order[FITTED:])]
    figures.note("endpoints: pushes fitted", len(train))
    figures.note("endpoints: pushes judged", len(test))
    slow = replace(scene(), dt=np.float64(STEP))
    plain = pushing_fit.start(slow, np.array([0.25, 0.0, 0.03, 0.25]))
    judge(figures, "endpoints, start", errors(pushing_fit.final(plain, shapes, test), test))
    tuned = pushing_fit.fit(plain, shapes, train, ENDPOINT_TUNING, "endpoints, tuned", SLOWEST)
    before = errors(pushing_fit.final(tuned, shapes, test), test)
    first = judge(figures, "endpoints, tuned", before)
    hybrid = pushing_fit.start(grafted(slow, CHOSEN, seed, SLOW), tuned.friction[0])
    hybrid = replace(hybrid, friction=tuned.friction)
    label = f"endpoints, {HYBRIDS[CHOSEN]}"
    hybrid = pushing_fit.fit(hybrid, shapes, train, ENDPOINT_LEARNING, label, SLOWEST)
    after = errors(pushing_fit.final(hybrid, shapes, test), test)
    second = judge(figures, label, after)
    figures.at_most(f"{label}: position over the tuned model's", second[0] / first[0], 0.85)
    figures.at_most(f"{label}: yaw over the tuned model's", second[1] / first[1], 0.85)
    for surface in pushing_fit.SURFACES:
        own = test.surface == surface
        share = float(after.position[own].mean() / before.position[own].mean())
        figures.note(f"{label}: position over the tuned model's, {surface}", share)
    numbers = limit_surface.fit(shapes, train, EVERY, 40)
    final = limit_surface.simulate(numbers, shapes, test, EVERY)
    judge(figures, "endpoints, limit surface", errors(final, test))


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--judge", metavar="FOLDER", help="judge the pushes of this folder instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
    if not (data / "mcube_push").is_dir():
        print(f"No recordings in {data}: set GRAFTSIM_DATA.", file=sys.stderr)
        return 2
    figures = Figures("E8 planar pushing", seed=arguments.seed, json_path=arguments.json)
    shapes = read_shapes(data / "mcube_push")
    train = read_pushes(data / "mcube_push", shapes)
    if arguments.judge:
        test = read_pushes(Path(arguments.judge), shapes)
        print(f"judged on {arguments.judge}")
    else:
        train, test = split(train, arguments.seed)
    if arguments.quick:
        train, test = (x[np.arange(0, len(x), 4)] for x in (train, test))
    parts = PARTS if arguments.part == "all" else (arguments.part,)
    if "pushes" in parts:
        whole_pushes(figures, shapes, train, test, arguments)
    if "endpoints" in parts and not arguments.quick and not arguments.judge:
        folder = data / "mcube_push_endpoints"
        endpoints(figures, shapes, read_endpoints(folder, STEP), arguments.seed)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
