"""E9: a swimmer in a medium of which the engine knows nothing; its forces learned from its motion.

Ten runs from rest under random torques, 200 steps of 2 ms for training; MuJoCo's fluid is the
truth. (a) The paper's layout: a network of 1637 weights on the generalised passive force, of all
positions and velocities. (b) An LSTM of 1900 weights. (c) Vacuum. (d) A network of the velocity of
a link at its centre of mass, on its force there, that only takes energy away. (e) `discover`,
which looks for one law of all links. Judged are the runs continued to step 900, and new ones.
`--only long` reports runs of 18 s, sampled every 20 ms, of which 4 s are fitted.
"""

import os
import sys
import time
import warnings

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax.numpy as jnp
import lstm
import numpy as np
import pictures
import swimmer
import swimmer_long
from swimmer import LONG, MEDIA, TRAIN
from swimmer_models import PRECISION, discovered, dissipative, paper, posed, trained

import graftsim as gs
from graftsim.targets import Figures

WATER = "water 25 C"


class Draw:
    """Data of a draw and the errors of each model: steps 0-200, 0-900, new runs."""

    def __init__(self, medium: str, seed: int, count: int) -> None:
        self.seed, self.medium = seed, MEDIA[medium]
        rng = np.random.default_rng(seed)
        self.runs = swimmer.swim(2, self.medium, rng, count=count)
        self.new = swimmer.swim(2, self.medium, rng, count=count)
        self.scale = swimmer.spread(self.runs)
        self.errors: dict[str, tuple[float, float, float]] = {}
        self.simulators: dict[str, gs.Simulator] = {"vacuum": swimmer.simulator(2)}
        self.judge("vacuum")

    def judge(self, name: str) -> None:
        """Errors of one of the simulators."""
        s = self.simulators[name]
        own = swimmer.roll(s, self.runs, LONG)
        self.errors[name] = (
            swimmer.error([x[: TRAIN + 1] for x in own], self.runs, self.scale),
            swimmer.error(own, self.runs, self.scale),
            swimmer.error(swimmer.roll(s, self.new, LONG), self.new, self.scale),
        )

    def sequence(self, updates: int) -> int:
        """(b); returns its number of weights."""
        model = lstm.train(self.runs, TRAIN, updates=updates, seed=self.seed)
        own = [model.continued(r, TRAIN, LONG) for r in self.runs]
        new = [model.continued(r, TRAIN, LONG) for r in self.new]
        self.errors["LSTM"] = (
            swimmer.error([x[: TRAIN + 1] for x in own], self.runs, self.scale),
            swimmer.error(own, self.runs, self.scale),
            swimmer.error(new, self.new, self.scale),
        )
        return model.weights


def main_set(figures: Figures, quick: bool) -> list[Draw]:
    """Water of 25 C, two links, three draws."""
    draws = []
    iterations = 5 if quick else 300
    for k in range(1 if quick else 3):
        draw = Draw(WATER, (figures.seed or 0) + k, 2 if quick else 10)
        graft = paper(2, draw.seed)
        fit, seconds = trained(graft, 2, draw.runs, gs.LBFGS(iterations=iterations), draw.seed)
        draw.simulators["hybrid"] = fit.simulator
        solver = gs.LevenbergMarquardt(iterations=2 if quick else 40)
        fit, faster = trained(dissipative(), 2, draw.runs, solver, draw.seed)
        draw.simulators["dissipative"] = fit.simulator
        for name in ("hybrid", "dissipative"):
            draw.judge(name)
        weights = draw.sequence(50 if quick else 3000)
        figures.at_most(f"draw {k}: hybrid, training with its judgement", seconds, 60.0, "s")
        figures.note(f"draw {k}: dissipative, training", faster, "s")
        for name, errors in draw.errors.items():
            spans = ("steps 0-200", "0-900", "new runs, 0-900")
            for span, value in zip(spans, errors, strict=True):
                figures.note(f"draw {k}: {name}, {span}", value)
        if k == 0:
            figures.note(
                "hybrid: weights", draw.simulators["hybrid"].grafts.grafts[0].trainable.size
            )
            figures.note("LSTM: weights", weights)
        draws.append(draw)
    return draws


def compare(figures: Figures, draws: list[Draw]) -> None:
    """Medians over the draws beside their targets."""

    def median(top: str, below: str | None, span: int) -> float:
        shares = [d.errors[top][span] / (d.errors[below][span] if below else 1) for d in draws]
        return float(np.median(shares))

    figures.at_most("hybrid, steps 0-200, median", median("hybrid", None, 0), 0.03)
    figures.at_most("hybrid over vacuum, 0-900", median("hybrid", "vacuum", 1), 0.35)
    figures.at_most("hybrid over LSTM, 0-900", median("hybrid", "LSTM", 1), 0.8)
    figures.at_most("hybrid over vacuum, new runs", median("hybrid", "vacuum", 2), 0.3)
    figures.at_most("dissipative over vacuum, 0-900", median("dissipative", "vacuum", 1), 0.1)
    figures.at_most("dissipative over vacuum, new runs", median("dissipative", "vacuum", 2), 0.1)


def law(figures: Figures, draw: Draw) -> None:
    """(e) on the first draw: sentences, and the formula's errors."""
    began = time.perf_counter()
    found = discovered(draw.runs, draw.new[:4])
    print(found)
    figures.note("discover", time.perf_counter() - began, "s")
    figures.note("discover: laws", len(found.findings))
    draw.simulators["formula"] = found.formula or found.simulator
    draw.judge("formula")
    vacuum, formula = draw.errors["vacuum"], draw.errors["formula"]
    figures.at_most("formula over vacuum, 0-900", formula[1] / vacuum[1], 0.1)
    figures.at_most("formula over vacuum, new runs", formula[2] / vacuum[2], 0.1)
    truth = swimmer.quadratic_drag(MEDIA[WATER])
    for finding in found.findings:
        part = finding.target.rsplit(".", 1)[1]
        for term in finding.formula:
            if term.kind == "quadratic":
                away = abs(term.value / truth[part] - 1)
                figures.at_most(f"formula: {part}, quadratic term from MuJoCo's", away, 0.01)


def parity(figures: Figures) -> None:
    """The engine against MuJoCo: in a vacuum, and in water with its own medium."""
    rng = np.random.default_rng(9)
    for name, medium in (
        ("vacuum", swimmer.VACUUM),
        ("water, the engine's own medium", MEDIA[WATER]),
    ):
        runs = swimmer.swim(2, medium, rng, count=1)
        own = swimmer.roll(swimmer.simulator(2, medium), runs, LONG)
        figures.at_most(f"{name}: 900 steps against MuJoCo", np.abs(own[0] - runs[0].x).max(), 1e-9)


def air(figures: Figures, quick: bool) -> None:
    """Nearly a vacuum: the hybrid must do no harm."""
    draw = Draw("air 25 C", figures.seed or 0, 2 if quick else 10)
    solver = gs.LBFGS(iterations=5 if quick else 200)
    fit, _ = trained(paper(2, draw.seed), 2, draw.runs, solver, draw.seed)
    draw.simulators["hybrid"] = fit.simulator
    draw.judge("hybrid")
    for span, title in ((1, "0-900"), (2, "new runs")):
        ratio = draw.errors["hybrid"][span] / draw.errors["vacuum"][span]
        figures.at_most(f"air: hybrid over vacuum, {title}", ratio, 1.0)


def five_links(figures: Figures, quick: bool) -> dict[str, list[float]]:
    """Loss curves of the chain of five in the three media, on windows of 20 steps."""
    curves = {}
    for name, medium in MEDIA.items():
        rng = np.random.default_rng(figures.seed)
        runs = swimmer.swim(5, medium, rng, count=2 if quick else 10, steps=TRAIN)
        start = swimmer.simulator(5).graft(gs.Blueprint(paper(5, 0)))
        problem = posed(start, 5, runs, (0.04,))
        fit = gs.fit(problem, local=gs.LBFGS(iterations=3 if quick else 150))
        samples = sum(len(r) for r in problem.given) * 14 / 2
        curves[name] = [i.cost / samples * PRECISION**2 for i in fit.history]
        figures.note(f"5 links, {name}: loss at the start", curves[name][0])
        figures.note(f"5 links, {name}: loss at the end", curves[name][-1])
    return curves


def draw_paths(folder: str | None, draw: Draw) -> None:
    """A new run's joint and turning, and the learned force beside MuJoCo's own."""
    if folder is None:
        return
    run, time_ = draw.new[0], DT_AXIS
    looks = {
        "vacuum": pictures.PLAIN, "hybrid": pictures.HYBRID, "dissipative": pictures.NETWORK,
    }  # fmt: skip
    figure, grid = pictures.axes(3)
    for i, (column, title) in enumerate(((2, "yaw (rad)"), (3, "joint (rad)"))):
        a = grid[0, i]
        a.plot(time_, run.x[:, column], color=pictures.TRUTH, linewidth=2.6, label="MuJoCo")
        for name, colour in looks.items():
            x = swimmer.roll(draw.simulators[name], [run], LONG)[0]
            a.plot(time_, x[:, column], color=colour, label=name)
        a.axvline(TRAIN * swimmer.DT, color=pictures.PLAIN, linestyle=":")
        a.set(xlabel="time (s)", title=f"{title}, a new run", ylim=_limits(run.x[:, column]))
        a.legend(frameon=False, fontsize=8)
    a = grid[0, 2]
    truth = swimmer.passive_force(2, draw.medium, run.x[:-1])[:, 3]
    a.plot(time_[:-1], truth, color=pictures.TRUTH, linewidth=2.6, label="MuJoCo")
    hybrid = draw.simulators["hybrid"].grafts["medium"]
    learned = np.array([hybrid(jnp.asarray(x[None]))[0][0] for x in run.x[:-1:9]])
    a.plot(time_[:-1:9], learned[:, 3], color=pictures.HYBRID, label="hybrid")
    a.set(xlabel="time (s)", title="torque of the medium on the joint (N m)")
    a.legend(frameon=False, fontsize=8)
    pictures.save(figure, folder, "e09_swimmer")


DT_AXIS = swimmer.DT * np.arange(LONG + 1)


def _limits(x: np.ndarray) -> tuple[float, float]:
    pad = 0.5 * (x.max() - x.min())
    return float(x.min() - pad), float(x.max() + pad)


def draw_losses(folder: str | None, curves: dict[str, list[float]]) -> None:
    """Loss over iterations in each medium."""
    if folder is None:
        return
    figure, grid = pictures.axes(1)
    for (name, curve), colour in zip(
        curves.items(), (pictures.HYBRID, pictures.NETWORK, pictures.PLAIN), strict=True
    ):
        grid[0, 0].semilogy(curve, color=colour, label=name)
    grid[0, 0].set(xlabel="iteration", title="loss of the chain of five")
    grid[0, 0].legend(frameon=False)
    pictures.save(figure, folder, "e09_losses")


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--only", choices=("main", "air", "five", "long"), help="one part alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("E9 swimmer", seed=arguments.seed, json_path=arguments.json)
    only, quick = arguments.only, arguments.quick
    if only in (None, "main"):
        parity(figures)
        draws = main_set(figures, quick)
        compare(figures, draws)
        law(figures, draws[0])
        draw_paths(arguments.pictures, draws[0])
    if only in (None, "air"):
        air(figures, quick)
    if only in (None, "five"):
        draw_losses(arguments.pictures, five_links(figures, quick))
    if only == "long":
        swimmer_long.report(figures, quick)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
