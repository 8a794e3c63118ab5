"""E7: three link lengths as a mixture of Gaussians, trained while samples arrive (paper D).

A planar pendulum of three links, 1.0, 0.8 and 0.6 m, with a ball of 1 kg at the end of each; its
joint angles every 0.04 s, with 2 mrad of noise. Three kernels over the lengths; theta by
Gumbel-softmax at temperature 2/3, 16 of them an epoch, in eight steps of Adam of two each; Huber
loss. Five samples are known at first, five more every ten epochs, up to fifty. `--one-step` takes
all 16 in one step.

The paper's objective has no entropy: the deviations say how far the search has come, and go on
shrinking. Beside it stand what a posterior of the same data is, by NUTS, and a mixture trained with
entropy around the fit.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np
import pictures

import graftsim as gs
from graftsim.identify.posterior.nuts import nuts
from graftsim.identify.posterior.variational_mixture import MixtureFit, Online, fit_mixture
from graftsim.optim.mixture import spread_mixture
from graftsim.targets import Figures

TRUE = (1.0, 0.8, 0.6)
LOW, HIGH = 0.05, 3.0
DT, SUBSTEPS, SAMPLES, NOISE = 0.04, 4, 50, 2e-3
RELEASE = np.array([1.0, 0.4, -0.3])
EPOCHS, RATE, KERNELS, PER_EPOCH, DEVIATION = 150, 0.02, 3, 16, 0.3
STEPS = 8
# The first sample is the start itself, which is known: five more, and five every ten epochs.
ARRIVE = Online(first=6, more=5, every=10)
MEANS = (0.4, 1.4)
ALIVE = 0.1


def pendulum(lengths: tuple[float, ...]) -> gs.Model:
    """Links that hang along -z and turn about x, a ball of 2 cm radius at the end of each."""
    b = gs.Builder("three_link_pendulum")
    for i, length in enumerate(lengths):
        parent, above = ("world", 0.0) if i == 0 else (f"link{i - 1}", lengths[i - 1])
        b.link(f"link{i}", parent, axis=(1, 0, 0), origin=(0, 0, -above), mass=1.0,
               com=(0, 0, -length), inertia=0.4 * 0.02**2)  # fmt: skip
    return b.build()


def with_lengths(model: gs.Model, x: Any) -> gs.Model:
    """The pendulum with other lengths: centres of mass, and where the next joints are."""
    model = gs.model.with_leaf(model, "link.com", model.link.com.at[:, 2].set(-x))
    origin = model.joint.origin.at[1:, 2].set(-x[:-1])
    return gs.model.with_leaf(model, "joint.origin", origin)


def recording(seed: int) -> gs.Recording:
    """Joint angles of the true pendulum, released at rest."""
    simulator = gs.Simulator(pendulum(TRUE), DT, substeps=SUBSTEPS)
    q = np.asarray(simulator.rollout(simulator.initial_state(RELEASE), steps=SAMPLES).q)
    q = q + NOISE * np.random.default_rng(seed).normal(size=q.shape)
    t = np.linspace(0, SAMPLES * DT, SAMPLES + 1)
    names = [f"joint.q[link{i}]" for i in range(3)]
    return gs.Recording({n: gs.Channel(n, t, q[:, i], "rad") for i, n in enumerate(names)}, "fall")


def problem(seed: int, noise: float, **options: Any) -> gs.Problem:
    """One window from the known start. With a noise of 1 rad, residuals are in rad."""
    lengths = gs.Custom(("1", "2", "3"), (0.9,) * 3, with_lengths, "m", gs.Bounds(LOW, HIGH))
    start = gs.Simulator(pendulum((0.9,) * 3), DT, substeps=SUBSTEPS)
    data = recording(seed)
    return gs.Problem(
        start, data, {"length": lengths}, noise=dict.fromkeys(data.channels, noise), holdout=0,
        horizon=SAMPLES * DT, growth=(0.2, 0.4, 1.0), fit_initial=False,
        initial=lambda *_: (RELEASE, np.zeros(3)), **options,
    )  # fmt: skip


def online(seed: int, epochs: int, steps: int) -> MixtureFit:
    """The paper's training."""
    rng, three = np.random.default_rng(seed), np.ones(3)
    return fit_mixture(
        problem(seed, 1.0, loss=gs.Huber(1.0)),
        training=gs.Training(
            "loss", KERNELS, PER_EPOCH // steps, steps, epochs, RATE, decay=False, temperature=2 / 3
        ),
        online=ARRIVE, seed=seed,
        start=spread_mixture(rng, KERNELS, MEANS[0] * three, MEANS[1] * three, DEVIATION * three),
    )  # fmt: skip


def targets(figures: Figures, found: MixtureFit) -> None:
    """What the training must reach."""
    for i, (mean, true) in enumerate(zip(np.asarray(found.mixture.mean), TRUE, strict=True)):
        figures.at_most(f"mixture mean, error of length {i + 1}", abs(mean / true - 1), 0.02)
    alive = np.asarray(found.mixture.weights) > ALIVE
    widest = np.asarray(found.mixture.stds)[alive].max()
    figures.at_most("largest deviation of a kernel in use, over its start", widest / DEVIATION, 0.2)
    figures.note("largest deviation of a kernel in use", widest, "m")
    figures.note("kernels in use", alive.sum())


def draw(folder: str | None, found: MixtureFit) -> None:
    """Means and deviations of the kernels over the epochs, and how many samples were known."""
    if folder is None:
        return
    figure, grid = pictures.axes(4, width=3.4, height=2.9)
    means, stds, weights = (np.asarray(getattr(found.history, n)) for n in
                            ("means", "stds", "weights"))  # fmt: skip
    epochs = np.arange(len(means))[::2]
    means, stds, weights = means[::2], stds[::2], weights[::2]
    colours = (pictures.HYBRID, pictures.NETWORK, pictures.PLAIN)
    for i, true in enumerate(TRUE):
        a = grid[0][i]
        for k, colour in enumerate(colours):
            mean, std = means[:, k, i], stds[:, k, i]
            a.fill_between(epochs, mean - std, mean + std, color=colour, alpha=0.2, linewidth=0)
            a.plot(epochs, mean, color=colour, label=f"kernel {k + 1}")
        a.axhline(true, color=pictures.TRUTH, linestyle="--", linewidth=1)
        a.set(title=f"length {i + 1} (m)", xlabel="epoch", ylim=(0.2, 1.6))
    grid[0][0].legend(frameon=False)
    last = grid[0][3]
    for k, colour in enumerate(colours):
        last.plot(epochs, weights[:, k], color=colour)
    share = (found.seen - 1) / SAMPLES
    last.plot(share, color=pictures.TRUTH, linestyle=":", label="share of samples known")
    last.set(title="mixing weights", xlabel="epoch", ylim=(0, 1.05))
    last.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.28))
    pictures.save(figure, folder, "e07_mixture_online")


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--one-step", action="store_true", help="one step of Adam an epoch")
    parser.add_argument("--train-only", action="store_true", help="no posteriors to compare with")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    seed, steps = arguments.seed, 1 if arguments.one_step else STEPS
    figures = Figures("E7 mixture, online", seed=seed, json_path=arguments.json)
    began = time.perf_counter()
    found = online(seed, 3 if arguments.quick else EPOCHS, steps)
    ended = time.perf_counter()
    targets(figures, found)
    figures.at_most("training, compilation included", ended - began, 180.0, "s")
    draw(arguments.pictures, found)
    if not (arguments.train_only or arguments.quick):
        compare(figures, seed)
    return 0 if figures.finish() else 1


def compare(figures: Figures, seed: int) -> None:
    """What the same data say by a posterior: by NUTS, and by a mixture trained with entropy."""
    posed = problem(seed, NOISE)
    result = gs.fit(posed, search=gs.BasinHopping(16, 4, seed=seed))
    for name, posterior in (
        ("NUTS", nuts(posed, result, seed=seed)),
        ("mixture with entropy", fit_mixture(posed, result, seed=seed).posterior()),
    ):
        for row, true in zip(posterior.summary, TRUE, strict=True):
            figures.note(f"{name}, deviation of {row.name}", row.std, row.unit)
            figures.note(f"{name}, error over that", (row.mean - true) / row.std)


if __name__ == "__main__":
    sys.exit(main())
