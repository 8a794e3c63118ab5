"""E13: billiards from pixels, with the engine between an encoder and a decoder (paper E).

Three pictures of three discs in a box are seen, their places ten frames later are asked for. An
encoder of convolutions makes a state of the pictures, the engine rolls it out, a decoder of
transposed convolutions draws the tenth frame; all are trained at once, in one jitted function with
the engine's kernel and its derivative between convolutions on XLA. Only a share of the clips is
labelled by states. Beside: a network in the engine's place, constant velocity from the true state,
training without the loss on the roll-out's end, and `gs.vision.discs` as the decoder. Then how the
error grows up to 40 frames ahead, and masses 1, 2, 4 learned with everything else.

All sizes are ours: the paper's are not public. `--small`: one seed, a tenth labelled, no masses.

    python experiments/e13_billiards_vision.py [--small] [--json FILE] [--pictures FOLDER]
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

# Pictures, networks and engine are float32.
os.environ["JAX_ENABLE_X64"] = "0"

import jax.numpy as jnp
import numpy as np
import pictures
import vision_training as training
from billiards import BOX, FRAME, RADIUS
from vision_training import AHEAD, Clips, Model, Task, Variant

from graftsim.targets import Figures

SHARES, SEEDS, UPDATES = (0.02, 0.1, 0.25, 1.0), 5, 400
TRAINING, TEST, FARTHEST = 2000, 500, 40
MASSES = (1.0, 2.0, 4.0)
ENGINE, NETWORK = Variant("engine"), Variant("network instead", engine=False)
ABLATIONS = (
    Variant("engine, no loss on its end", physics_loss=False),
    Variant("engine, renderer as decoder", renderer=True),
)
HEAVY = Variant("engine, masses learned", masses=True)
HORIZONS = (1, 5, 10, 20, 30, 40)


class Found(NamedTuple):
    """Models of all seeds; the states that they see [seeds, n, discs, 4], and those afterwards
    [seeds, n, frames, discs, 4] on the test clips.
    """

    models: list[Model]
    seen: np.ndarray
    after: np.ndarray


class Study:
    """Trained models by variant and share, and what they miss on the test clips."""

    def __init__(self, seed: int, seeds: int, updates: int, clips: int) -> None:
        self.seeds, self.updates = [seed + k for k in range(seeds)], updates
        self.data = training.clips(clips, 1000 + seed)
        self.test = training.clips(TEST, 2000 + seed, FARTHEST)
        self.found: dict[tuple[Variant, float], Found] = {}

    def train(self, variant: Variant, share: float, data: Clips | None = None) -> Found:
        """A model for each seed."""
        task, models = Task(variant, share, self.updates), []
        for seed in self.seeds:
            print(f"{variant.name}, {share:.0%} labelled, seed {seed}", flush=True)
            models.append(training.train(task, data or self.data, seed, print))
        states = zip(*(training.predicted(m, self.test, FARTHEST) for m in models), strict=True)
        self.found[variant, share] = Found(models, *map(np.array, states))
        if data is None:
            print(f"{variant.name}, {share:.0%} labelled: {self.misses(variant, share)} px")
        return self.found[variant, share]

    def misses(self, variant: Variant, share: float) -> np.ndarray:
        """Errors (px) ten frames ahead, of each seed."""
        after = self.found[variant, share].after
        ahead = after[:, :, AHEAD - 1 if variant.engine else 0]
        return misses(ahead, self.test.states[:, AHEAD])

    def seen(self, variant: Variant, share: float) -> tuple[float, float]:
        """Medians over seeds: errors of what the encoder sees, px and px/s."""
        states, truth = self.found[variant, share].seen, self.test.states[:, 0]
        places, speeds = misses(states, truth), misses(states[..., 2:], truth[..., 2:])
        return float(np.median(places)), float(np.median(speeds))

    def horizon(self, share: float) -> np.ndarray:
        """Errors (px) [seeds, frames] up to 40 frames ahead, with the engine."""
        after, truth = self.found[ENGINE, share].after, self.test.states[:, 1:]
        return misses(np.moveaxis(after, 2, 1), np.moveaxis(truth, 1, 0))

    def straight(self, *, walls: bool = False) -> np.ndarray:
        """Errors (px) [frames] of constant velocity from the true state, or back from walls."""
        first, times = self.test.states[:, :1], FRAME * np.arange(1, FARTHEST + 1)
        places = first[..., :2] + first[..., 2:] * times[:, None, None]
        if walls:
            free = BOX - 2 * RADIUS
            places = RADIUS + free - np.abs((places - RADIUS) % (2 * free) - free)
        return misses(np.moveaxis(places, 1, 0), np.moveaxis(self.test.states[:, 1:], 1, 0))


def misses(states: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distances (px) of [..., n, discs, x y ...], mean over clips and discs."""
    return np.linalg.norm(states[..., :2] - truth[..., :2], axis=-1).mean(axis=(-1, -2))


def compare(study: Study, shares: tuple[float, ...], figures: Figures) -> None:
    """Engine and network by share of labels; the targets are those of a tenth."""
    for share in sorted(shares, key=lambda share: share != 0.1):
        for variant in (ENGINE, NETWORK):
            study.train(variant, share)
    for share in shares:
        for variant in (ENGINE, NETWORK):
            spread(figures, f"{variant.name}, {share:.0%} labelled", study.misses(variant, share))
        place, speed = study.seen(ENGINE, share)
        figures.note(f"engine, {share:.0%} labelled: place seen, error", place, "px")
        figures.note(f"engine, {share:.0%} labelled: velocity seen, error", speed, "px/s")
    found = np.median(study.misses(ENGINE, 0.1))
    network = float(np.median(study.misses(NETWORK, 0.1)))
    straight = float(study.straight()[AHEAD - 1])
    figures.note("constant velocity from the true state", straight, "px")
    figures.at_most("a tenth labelled: engine over network", float(found / network), 1.0)
    figures.at_most("a tenth labelled: engine over constant velocity", float(found / straight), 1.0)
    curves = {
        "engine, a tenth labelled": np.median(study.horizon(0.1), axis=0),
        "constant velocity": study.straight(),
        "constant velocity between walls": study.straight(walls=True),
    }
    for k in HORIZONS:
        for name, curve in curves.items():
            figures.note(f"{k} frames ahead: {name}", curve[k - 1], "px")


def spread(figures: Figures, name: str, values: np.ndarray, unit: str = "px") -> None:
    """Median, least and most."""
    for word, x in (("", np.median(values)), (", least", values.min()), (", most", values.max())):
        figures.note(f"{name}{word}", float(x), unit)


def learn_masses(study: Study, figures: Figures) -> None:
    """Discs of masses 1, 2, 4, begun as equals: what is found with a tenth labelled."""
    data = training.clips(len(study.data.images), 3000 + study.seeds[0], masses=MASSES)
    found = np.array([m.masses() for m in study.train(HEAVY, 0.1, data).models])
    for i in (1, 2):
        spread(figures, f"mass {MASSES[i]:g} over mass 1, learned", found[:, i], "")


def draw(study: Study, shares: tuple[float, ...], folder: str | None) -> None:
    """A clip with its predictions, errors over frames ahead and over labels."""
    if folder is None:
        return
    figure, grid = pictures.axes(3, 2, height=3.4)
    clip = int(np.argmax(np.abs(np.diff(study.test.states[:, : AHEAD + 1, :, 2:], axis=1))
                         .sum((1, 2, 3))))  # fmt: skip
    show(grid[0, 0], study.test.images[clip].max(axis=0), "three frames seen")
    show(grid[0, 1], study.test.target[clip], "ten frames later")
    for a, variant in ((grid[0, 2], ENGINE), (grid[1, 0], NETWORK)):
        found = study.found[variant, 0.1]
        after = found.after[0, [clip], AHEAD - 1 if variant.engine else 0, :, :2]
        drawn = np.asarray(found.models[0].drawn(jnp.asarray(after)))[0]
        show(a, np.clip(drawn, 0, 1), f"drawn: {variant.name}")
        for x, y in study.test.states[clip, AHEAD, :, :2] / 2:
            a.plot(x - 0.5, y - 0.5, "+", color="white")
    ahead = np.arange(1, FARTHEST + 1)
    ours = study.horizon(0.1)
    a = grid[1, 1]
    a.plot(ahead, study.straight(), "--", color=pictures.PLAIN, label="constant velocity")
    a.plot(ahead, study.straight(walls=True), ":", color=pictures.PLAIN, label="back from walls")
    a.plot(ahead, np.median(ours, 0), color=pictures.HYBRID, label="engine")
    a.fill_between(ahead, ours.min(0), ours.max(0), color=pictures.HYBRID, alpha=0.25, lw=0)
    a.plot(AHEAD, np.median(study.misses(NETWORK, 0.1)), "o", color=pictures.NETWORK,
           label="network instead")  # fmt: skip
    a.set(xlabel="frames ahead", ylabel="error of centres (px)", ylim=(0, 60))
    a.legend(frameon=False)
    for variant, colour in ((ENGINE, pictures.HYBRID), (NETWORK, pictures.NETWORK)):
        found = np.array([study.misses(variant, share) for share in shares])
        middle = np.median(found, 1)
        bars = [middle - found.min(1), found.max(1) - middle]
        grid[1, 2].errorbar(100 * np.array(shares), middle, bars, marker="o", color=colour,
                            capsize=3, label=variant.name)  # fmt: skip
    grid[1, 2].axhline(study.straight()[AHEAD - 1], ls="--", color=pictures.PLAIN)
    grid[1, 2].set(xlabel="clips labelled (%)", ylabel="error, ten frames ahead (px)",
                   xscale="log", ylim=(0, None))  # fmt: skip
    pictures.save(figure, folder, "billiards_vision")


def show(a: Any, image: np.ndarray, title: str) -> None:
    """A picture of a scene."""
    a.imshow(image)
    a.set(title=title, xticks=[], yticks=[])
    a.grid(False)


def main() -> int:
    """The comparison, ablations, masses."""
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--small", action="store_true", help="one seed, a tenth labelled")
    arguments = parser.parse_args()
    small = arguments.small or arguments.quick
    figures = Figures("E13 billiards from pixels", seed=arguments.seed, json_path=arguments.json)
    shares = (0.1,) if small else SHARES
    study = Study(arguments.seed, 1 if small else SEEDS, 20 if arguments.quick else UPDATES,
                  200 if arguments.quick else TRAINING)  # fmt: skip
    compare(study, shares, figures)
    draw(study, shares, arguments.pictures)
    for variant in () if arguments.quick else ABLATIONS:
        study.train(variant, 0.1)
        spread(figures, f"{variant.name}, 10% labelled", study.misses(variant, 0.1))
    if not small:
        learn_masses(study, figures)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
