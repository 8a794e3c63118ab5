"""A policy by gradient through contact, beside REINFORCE: a box pushed to a target.

A disc on two motors pushes a box over a floor with dry friction, for 2 s, to a target 0.1 to 0.25 m
ahead and up to 0.4 rad to the side; contact is rigid (Complementarity). The policy is one network
of 2 x 32 units on the motors' commands. One way to train it is the gradient of the cost through
impacts and friction, `gs.control.train`; the other is REINFORCE with reward to go, a baseline for
each step and Adam, at the best of three rates. Both see the same start states, cost and number of
simulated steps (a gradient's way back is not counted as steps; processor seconds are given).
Then REINFORCE has five times the steps. Judged on 256 new starts.

    python experiments/policy_through_contact.py [--json FILE] [--pictures FOLDER]
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import box_pushing
import jax
import numpy as np
import pictures
from box_pushing import STEPS
from reinforce import Reinforce, reinforce

import graftsim as gs
from graftsim.control import Training, train
from graftsim.targets import Figures

RATES = (1e-3, 3e-3, 1e-2)
MORE = 5


class Learned(NamedTuple):
    """A trained simulator, the mean cost of each iteration, seconds of the processor."""

    simulator: gs.Simulator
    history: list[float]
    seconds: float


class Setting(NamedTuple):
    """Start states to train on and to judge by, and how many iterations."""

    starts: Any
    new: Any
    iterations: int
    seed: int


def timed(run: Callable[[], tuple[gs.Simulator, list[float]]]) -> Learned:
    """What a training gives, with its seconds, compilation included."""
    began = time.process_time()
    simulator, history = run()
    return Learned(simulator, history, time.process_time() - began)


def by_gradient(simulator: gs.Simulator, s: Setting) -> Learned:
    """Through the simulator."""

    def run() -> tuple[gs.Simulator, list[float]]:
        how = Training(s.iterations, rate=1e-2)
        found = train(simulator, box_pushing.cost, s.starts, STEPS, record=("control.u",), how=how)
        return found.simulator, [i.cost for i in found.history]

    return timed(run)


def by_samples(simulator: gs.Simulator, s: Setting, rate: float, times: int = 1) -> Learned:
    """REINFORCE."""
    how, key = Reinforce(times * s.iterations, rate), jax.random.key(s.seed + 1)
    return timed(lambda: reinforce(simulator, box_pushing.step_costs, s.starts, STEPS, how, key))


def judge(figures: Figures, name: str, found: Learned, s: Setting) -> float:
    """Figures of a policy; the median miss (m)."""
    misses = box_pushing.misses(found.simulator, s.new)
    figures.note(f"{name}: median miss", float(np.median(misses)), "m")
    figures.note(f"{name}: within 20 mm", float(np.mean(misses < 0.02)))
    figures.note(f"{name}: processor", found.seconds, "s")
    return float(np.median(misses))


def draw(folder: str | None, found: dict[str, Learned], s: Setting) -> None:
    """Costs over simulated steps, and paths of boxes to their targets."""
    if folder is None:
        return
    figure, grid = pictures.axes(2)
    count = s.starts.q.shape[0] * STEPS
    for (name, one), colour in zip(
        found.items(), (pictures.HYBRID, pictures.NETWORK, pictures.PLAIN), strict=False
    ):
        steps = count * np.arange(1, len(one.history) + 1)
        grid[0, 0].semilogy(steps, one.history, color=colour, label=name)
    grid[0, 0].set(xlabel="simulated steps", title="mean cost in training")
    grid[0, 0].legend(frameon=False)
    best = next(iter(found.values())).simulator
    some = jax.tree.map(lambda x: x[:12], s.new)
    q = np.asarray(jax.vmap(lambda x: best.rollout(x, steps=STEPS).q)(some))
    grid[0, 1].plot(*q[:, :, :2].transpose(2, 1, 0), color=pictures.HYBRID)
    grid[0, 1].plot(*q[:, 0, 5:7].T, "x", color=pictures.TRUTH)
    grid[0, 1].set(xlabel="x (m)", ylabel="y (m)", title="boxes and targets", aspect="equal")
    pictures.save(figure, folder, "policy_through_contact")


def main() -> int:
    arguments = pictures.add_option(Figures.arguments(__doc__ or "")).parse_args()
    jax.config.update("jax_enable_x64", True)
    quick, seed = arguments.quick, arguments.seed
    figures = Figures("Policy through contact", seed=seed, json_path=arguments.json)
    plain = box_pushing.simulator()
    policy = box_pushing.with_policy(plain, jax.random.key(seed))
    lanes, iterations = (8, 2) if quick else (256, 300)
    s = Setting(box_pushing.starts(plain, lanes, 2 * seed),
                box_pushing.starts(plain, 256, 2 * seed + 1), iterations, seed)  # fmt: skip
    before = float(np.median(box_pushing.misses(policy, s.new)))
    figures.note("without a policy: median miss", before, "m")
    figures.note("simulated steps", lanes * STEPS * iterations)
    found = {"gradient": by_gradient(policy, s)}
    miss = judge(figures, "gradient", found["gradient"], s)
    rates = RATES[:1] if quick else RATES
    tried = [by_samples(policy, s, rate) for rate in rates]
    ends = [np.median(box_pushing.misses(t.simulator, s.new)) for t in tried]
    found["REINFORCE"] = tried[int(np.argmin(ends))]
    figures.note("REINFORCE: its best rate", rates[int(np.argmin(ends))])
    other = judge(figures, "REINFORCE", found["REINFORCE"], s)
    if not quick:
        name = f"REINFORCE, {MORE} times the steps"
        found[name] = by_samples(policy, s, rates[int(np.argmin(ends))], MORE)
        judge(figures, name, found[name], s)
    figures.at_most("gradient: share of the way missed", miss / before, 0.2)
    figures.at_most("gradient over REINFORCE, median miss", miss / other, 0.75)
    draw(arguments.pictures, found, s)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
