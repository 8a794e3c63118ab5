"""Pushes of which some fit and others judge, and the errors of those that judge."""

from __future__ import annotations

import numpy as np
import pushing_fit
from pushes import Pushes, Shape
from pushing_fit import Candidate, Errors, errors
from pushing_registration import registered, registration

from graftsim.targets import Figures

FOLDS = 3


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

    def fit(
        self, found: Candidate, iterations: int, say: str, unit: float = pushing_fit.WEIGHT_UNIT
    ) -> Candidate:
        """On those that are not held out; unit: step of Adam of weights."""
        last = pushing_fit.LAST if found.simulator.grafts is None else None
        own = pushing_fit.chosen(found, self.shapes, self.pushes[~self.held], last)
        return pushing_fit.fit(found, [own], iterations, say, unit)

    def errors(self, path: np.ndarray) -> Errors:
        """Of those held out."""
        return Errors(*(x[self.held] for x in errors(path, self.pushes)))


def together(found: list[Errors]) -> Errors:
    """Of all trials."""
    return Errors(*(np.concatenate(x) for x in zip(*found, strict=True)))
