"""E8: pushed objects on a board, and a network for what their friction lacks (NeuralSim IV-A).

MCube's pushes (Yu et al. 2016) under GRAFTSIM_DATA: a steel object on springs with Brown and
McPhee's friction, pushed by a circle on its recorded path by the complementarity law. Each push is
judged by a fit to two thirds of the others of its shape and speed (three folds); with `--judge
FOLDER` all are fitted and those of that folder judge. Robot and cameras disagree by a millimetre:
tips are registered first, for all models alike, on the pushes that are fitted.

Judged is the pose at the end of each push (the tip stops, 1 s at most). Models: start, tuned
(friction of sliding and breaking away, speed of the curve, the tip's friction, how far out the
ground carries, by surface), four hybrids with a network end to end, a network outside the engine,
and the ellipsoidal limit surface. The tip's force in the simulation, which no fit has seen, is
compared with the measured one.

`mcube_push_endpoints`: some thousand pushes fit, all others judge; a network for each object on
each surface.
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

import judged
import limit_surface
import numpy as np
import pictures
import pushing_discovery
import pushing_fit
import pushing_residual
from pushes import (
    LONGEST,
    Pushes,
    Shape,
    joined,
    read_endpoints,
    read_pushes,
    read_shapes,
    registered,
    registration,
)
from pushing import START, scene
from pushing_fit import Candidate, Errors, errors, run
from pushing_grafts import grafted
from pushing_pictures import draw_friction, draw_pushes

import graftsim as gs
from graftsim.targets import Figures

# Steps of Adam: of friction alone, of friction and weights.
TUNING, LEARNING = 80, 200
HYBRIDS = {"pose": "hybrid a", "free": "hybrid b", "place": "hybrid c", "mirrored": "hybrid d"}
# The one that is held to the target, and the one whose friction is drawn.
CHOSEN, MAPPED = "mirrored", "place"
PARTS = ("pushes", "endpoints", "discover")
FOLDS = 3
# Of endpoints: how many fit, and steps of Adam.
FITTED, ENDPOINT_TUNING, ENDPOINT_LEARNING = 4000, 60, 500


def folds(pushes: Pushes, seed: int) -> np.ndarray:
    """[n]: the fold of each push, even over shapes and speeds."""
    rng, found, k = np.random.default_rng(seed), np.zeros(len(pushes), int), 0
    group = np.array([name.split("_i")[0] for name in pushes.names])
    for g in np.unique(group):
        own = rng.permutation(np.flatnonzero(group == g))
        found[own] = (np.arange(len(own)) + k) % FOLDS
        k += len(own)
    return found


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


class Trial:
    """A set of pushes of which some fit and others judge."""

    def __init__(self, shapes: dict[str, Shape], pushes: Pushes, held: np.ndarray) -> None:
        world = {k: x * [1, 1, 0, 0, 0] for k, x in registration(pushes[~held]).items()}
        self.shapes, self.pushes, self.held = shapes, registered(pushes, world), held

    def fit(self, found: Candidate, iterations: int, say: str) -> Candidate:
        """On those that are not held out."""
        own = pushing_fit.chosen(found, self.shapes, self.pushes[~self.held])
        return pushing_fit.fit(found, [own], iterations, say)

    def errors(self, path: np.ndarray) -> Errors:
        """Of those held out."""
        return Errors(*(x[self.held] for x in errors(path, self.pushes)))


def together(found: list[Errors]) -> Errors:
    """Of all trials."""
    return Errors(*(np.concatenate(x) for x in zip(*found, strict=True)))


def whole_pushes(
    figures: Figures, trials: list[Trial], arguments: argparse.Namespace
) -> dict[str, list[Candidate]]:
    """All models on recorded pushes; what each trial found."""
    quick = arguments.quick
    figures.note("pushes judged", sum(t.held.sum() for t in trials))
    figures.note("longest horizon", LONGEST, "s")
    plain = pushing_fit.start(scene(), np.array(START))
    first = compare(figures, "start", trials, [plain] * len(trials))
    began = time.perf_counter()
    tuned = [t.fit(plain, 3 if quick else TUNING, "tuned") for t in trials]
    figures.note("tuned: time of the fits", time.perf_counter() - began, "s")
    before = compare(figures, "tuned", trials, tuned)
    figures.at_most("tuned: position over the start's", before[0] / first[0], 1.0)
    figures.at_most("tuned: yaw over the start's", before[1] / first[1], 1.0)
    found = {"start": [plain] * len(trials), "tuned": tuned}
    for name, label in {} if quick else HYBRIDS.items():
        began = time.perf_counter()
        empty = pushing_fit.start(grafted(scene(), name, arguments.seed), np.array(START))
        starts = [replace(empty, friction=x.friction) for x in tuned]
        found[name] = [t.fit(x, LEARNING, label) for t, x in zip(trials, starts, strict=True)]
        figures.note(f"{label}: time of the fits", time.perf_counter() - began, "s")
        after = compare(figures, f"{label} ({name})", trials, found[name])
        tell = figures.at_most if name == CHOSEN else lambda n, v, _: figures.note(n, v)
        tell(f"{label}: position over the tuned model's", after[0] / before[0], 0.7)
        tell(f"{label}: yaw over the tuned model's", after[1] / before[1], 1.0)
    others(figures, trials, tuned, quick)
    return found


def compare(
    figures: Figures, name: str, trials: list[Trial], found: list[Candidate]
) -> tuple[float, float]:
    """Mean errors of final poses of pushes held out, and of the tip's force."""
    out, forces = [], []
    for t, x in zip(trials, found, strict=True):
        path, recorded = run(x, t.shapes, t.pushes, ("joint.reaction",))
        out.append(t.errors(path))
        forces.append(force_error(recorded["joint.reaction"][t.held, :, 4:], t.pushes[t.held]))
    means = judge(figures, name, together(out))
    figures.note(f"{name}: error of the tip's force", np.mean([f[1] for f in forces]), "N")
    if name == "start":
        figures.note("measured force of the tip", np.mean([f[0] for f in forces]), "N")
    return means


def others(figures: Figures, trials: list[Trial], tuned: list[Candidate], quick: bool) -> None:
    """Baselines that do not simulate forces."""
    residual, surface, every = [], [], 10 if quick else 4
    for t, x in zip(trials, tuned, strict=True):
        path, _ = run(x, t.shapes, t.pushes)
        train, test = t.pushes[~t.held], t.pushes[t.held]
        weights = pushing_residual.fit(path[~t.held], train, 20 if quick else 300)
        residual.append(errors(pushing_residual.corrected(weights, path[t.held], test), test))
        numbers = limit_surface.fit(t.shapes, train, every, 10 if quick else 40)
        surface.append(errors(limit_surface.simulate(numbers, t.shapes, test, every), test))
    judge(figures, "residual network", together(residual))
    judge(figures, "limit surface", together(surface))
    figures.note("limit surface: radius over the uniform one", numbers[0])
    figures.note("limit surface: friction of the tip", numbers[1])


def endpoints(figures: Figures, shapes: dict[str, Shape], everything: Pushes, seed: int) -> None:
    """Tuned and hybrid on pushes of which only start and end are known."""
    held = np.ones(len(everything), bool)
    held[np.random.default_rng(seed).permutation(len(held))[:FITTED]] = False
    trial = Trial(shapes, everything, held)
    train, test = trial.pushes[~held], trial.pushes[held]
    figures.note("endpoints: pushes fitted", len(train))
    figures.note("endpoints: pushes judged", len(test))
    plain = pushing_fit.start(scene(), np.array(START))
    judge(figures, "endpoints, start", errors(pushing_fit.final(plain, shapes, test), test))
    tuned = trial.fit(plain, ENDPOINT_TUNING, "endpoints, tuned")
    before = errors(pushing_fit.final(tuned, shapes, test), test)
    first = judge(figures, "endpoints, tuned", before)
    kinds = tuple(np.unique(everything.kind).tolist())
    hybrid = pushing_fit.start(grafted(scene(), CHOSEN, seed), np.array(START), kinds)
    hybrid = replace(hybrid, friction=tuned.friction)
    label = f"endpoints, {HYBRIDS[CHOSEN]}"
    began = time.perf_counter()
    hybrid = trial.fit(hybrid, ENDPOINT_LEARNING, label)
    figures.note(f"{label}: time of the fit", time.perf_counter() - began, "s")
    after = errors(pushing_fit.final(hybrid, shapes, test), test)
    second = judge(figures, label, after)
    figures.at_most(f"{label}: position over the tuned model's", second[0] / first[0], 0.85)
    figures.at_most(f"{label}: yaw over the tuned model's", second[1] / first[1], 0.85)
    for surface in pushing_fit.SURFACES:
        own = test.surface == surface
        share = float(after.position[own].mean() / before.position[own].mean())
        figures.note(f"{label}: position over the tuned model's, {surface}", share)
    few = train[np.arange(0, len(train), 10)]
    numbers = limit_surface.fit(shapes, few, 4, 30)
    end = limit_surface.simulate(numbers, shapes, test, 4)
    judge(figures, "endpoints, limit surface", errors(end, test))


def draw(folder: str | None, trials: list[Trial], found: dict[str, list[Candidate]]) -> None:
    """Pushes of the first trial that were held out, all errors, and friction as it was learned."""
    if folder is None or CHOSEN not in found:
        return
    names = {"tuned": "tuned", "hybrid": CHOSEN}
    paths = {k: [run(x, t.shapes, t.pushes)[0] for t, x in zip(trials, found[v], strict=True)]
             for k, v in names.items()}  # fmt: skip
    every = {k: together([t.errors(p) for t, p in zip(trials, x, strict=True)])
             for k, x in paths.items()}  # fmt: skip
    t = trials[0]
    ends = {k: x[0][t.held, -1] for k, x in paths.items()}
    draw_pushes(folder, t.pushes[t.held], ends, every)
    draw_friction(folder, found[MAPPED][0], t.pushes)


def main() -> int:
    parser = judged.add_option(pictures.add_option(Figures.arguments(__doc__ or "")))
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
    if not (data / "mcube_push").is_dir():
        print(f"No recordings in {data}: set GRAFTSIM_DATA.", file=sys.stderr)
        return 2
    figures = Figures("E8 planar pushing", seed=arguments.seed, json_path=arguments.json)
    shapes = read_shapes(data / "mcube_push")
    pushes = read_pushes(data / "mcube_push", shapes)
    if arguments.quick:
        pushes = pushes[np.arange(0, len(pushes), 4)]
    fold = folds(pushes, arguments.seed)
    held = [fold == k for k in range(1 if arguments.quick else FOLDS)]
    elsewhere = judged.folder(arguments, "mcube_push")
    judged.say(figures, elsewhere)
    if elsewhere:
        both = joined(pushes, read_pushes(elsewhere, shapes))
        held, pushes = [np.arange(len(both)) >= len(pushes)], both
    trials = [Trial(shapes, pushes, x) for x in held]
    parts = PARTS[:2] if arguments.part == "all" else (arguments.part,)
    if "pushes" in parts:
        draw(arguments.pictures, trials, whole_pushes(figures, trials, arguments))
    if "endpoints" in parts and not arguments.quick and not arguments.judge:
        folder = data / "mcube_push_endpoints"
        endpoints(figures, shapes, read_endpoints(folder, shapes), arguments.seed)
    if "discover" in parts:
        tuned = trials[0].fit(pushing_fit.start(scene(), np.array(START)), TUNING, "tuned")
        p, out = trials[0].pushes, trials[0].held
        found = pushing_discovery.discover(tuned, shapes, p[~out], p[out], "butter")
        print(*found.sentences(), sep="\n")
        figures.note("discovered: effects that are kept", len(found.findings))
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
