"""Simulation-based calibration of posteriors: ranks of the truth among draws, over many data sets.

A pendulum's arm and damping are drawn from their prior, its angle is simulated with noise, and each
data set gets a posterior by NUTS and by a mixture trained with entropy. Ranks are uniform if
posteriors are right (Talts et al. 2018). The same draws pulled together to 0.8 of their spread must
be found out: that says what the test can see. `--hard` frees a spring too: arm and spring can
stand in for each other, many posteriors are long and bent, and NUTS alone is held to the target.
"""

from __future__ import annotations

import os
import sys
import time
import warnings

os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np

import graftsim as gs
from graftsim.identify.posterior.calibration import Calibration, coverage, ranks, thin, uniformity
from graftsim.identify.posterior.nuts import Chains
from graftsim.identify.posterior.variational_mixture import TRUSTED, Training
from graftsim.targets import Figures

NOISE, SECONDS, RATE = 0.02, 2.0, 25
RELEASE = 2.0
KEEP, BINS, SHARES = 99, 10, (0.5, 0.9, 0.95)
NARROW = 0.8


def problem(hard: bool) -> gs.Problem:
    """A pendulum on a spring, released from a known angle."""
    b = gs.Builder("pendulum")
    b.link("rod", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.02, damping=0.2,
           stiffness=2.0, joint_name="hinge")  # fmt: skip
    simulator = gs.Simulator(b.build(), 1 / RATE, integrator=gs.ImplicitDamping())
    start = simulator.initial_state({"hinge": RELEASE})
    q = np.asarray(simulator.rollout(start, steps=int(SECONDS * RATE)).q)[:, 0]
    channel = gs.Channel("joint.q[hinge]", np.linspace(0, SECONDS, len(q)), q, "rad")
    free = {
        "joint.damping[hinge]": gs.Bounds(0.0, 0.6),
        "link.com[rod].z": gs.Bounds(-0.9, -0.2, prior=gs.Prior(-0.5, 0.1)),
    }
    if hard:
        free["joint.stiffness[hinge]"] = gs.Positive(prior=gs.Prior(2.0, 0.6))
    return gs.Problem(
        simulator, gs.Recording({channel.name: channel}, "swing"), free,
        noise={channel.name: NOISE}, holdout=0, horizon=SECONDS, growth=(1.0,), fit_initial=False,
        initial=lambda *_: (np.array([RELEASE]), np.zeros(1)),
    )  # fmt: skip


def judge(
    figures: Figures, name: str, names: tuple[str, ...], theta: np.ndarray, draws: np.ndarray,
    target: bool = True,
) -> None:  # fmt: skip
    """Uniformity of ranks, and how often intervals hold the truth."""
    kept = thin(draws, KEEP)
    found = uniformity(ranks(theta, kept), KEEP, BINS)
    label, least = f"{name}: least p-value of {len(names)} parameters", found.p_value.min()
    # A right posterior fails this once in a hundred times, over all its parameters.
    if target:
        figures.at_least(label, least, 0.01 / len(names))
    else:
        figures.note(label, least)
    for share, held in zip(SHARES, coverage(theta, draws, SHARES), strict=True):
        figures.note(f"{name}: {share:.0%} intervals hold the truth", held.mean())
    middle = draws.mean(1, keepdims=True)
    narrow = uniformity(ranks(theta, middle + NARROW * (kept - middle)), KEEP, BINS)
    label, least = f"{name}, narrowed to {NARROW}: least p-value", narrow.p_value.min()
    if target:
        figures.at_most(label, least, 0.01 / len(names))
    else:
        figures.note(label, least)
    for label, counts in zip(names, found.counts, strict=True):
        print(f"{name:>8} {label:<24} ranks in tenths: {' '.join(f'{c:3d}' for c in counts)}")


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--sets", type=int, default=400, help="simulated data sets")
    parser.add_argument("--hard", action="store_true", help="free a spring too")
    parser.add_argument("--kernels", type=int, default=3, help="kernels of a mixture")
    parser.add_argument("--acceptance", type=float, default=0.8, help="that NUTS aims at")
    parser.add_argument("--mixture-only", action="store_true", help="without NUTS")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("Calibration", seed=arguments.seed, json_path=arguments.json)
    calibration = Calibration(problem(arguments.hard))
    names, seed = calibration.problem.parameters.names, arguments.seed
    sets = calibration.prior_sets(2 if arguments.quick else arguments.sets, seed)
    began = time.perf_counter()
    at = calibration.around(sets)
    figures.note("fits of all data sets", time.perf_counter() - began, "s")
    draws = None
    if not arguments.mixture_only:
        began = time.perf_counter()
        length = (20, 10) if arguments.quick else (500, 300)
        chains = Chains(2, *length, arguments.acceptance)
        draws, divergent = calibration.nuts(sets, at, chains, seed)
        figures.note("NUTS of all data sets", time.perf_counter() - began, "s")
        figures.note("divergent draws", divergent.sum())
        judge(figures, "NUTS", names, sets.theta, draws)
    began = time.perf_counter()
    training = Training(kernels=arguments.kernels, samples=8)
    mixed, share = calibration.mixture(sets, at, training, 1000, seed)
    figures.note("mixtures of all data sets", time.perf_counter() - began, "s")
    judge(figures, "mixture", names, sets.theta, mixed, target=not arguments.hard)
    figures.note("share of the mixtures' draws that count, median", np.median(share))
    figures.note("the same, least", share.min())
    for least in (0.5, TRUSTED, 0.9):
        good = share > least
        figures.note(f"mixtures with a share above {least}", good.mean())
        if good.any():
            held = coverage(sets.theta[good], mixed[good], (0.95,)).mean()
            figures.note("of those, 95% intervals hold the truth", held)
    if draws is not None:
        spread = mixed.std(1) / draws.std(1)
        figures.note("deviation, mixture over NUTS, median", np.median(spread))
        figures.note("deviation, mixture over NUTS, least", spread.min())
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
