"""E2: two link lengths of a double pendulum, by local solvers and by parallel basin hopping.

A pendulum of two links, 1 kg at the end of each, falls from the horizontal; joint angles of 200
steps, no noise. Lengths are sought from a grid of starts in 0.1 to 10 m. A start succeeds if it
ends within 0.05 m of the true lengths, 3 and 4 m (papers A Fig. 2, B Fig. 4).
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
from scipy.optimize import minimize

import graftsim as gs
from graftsim.identify.fit.global_search import local_minima, search
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.model.catalogue import with_leaf
from graftsim.optim.least_squares import Points, minimise_many
from graftsim.targets import Figures

TRUE, LOW, HIGH = (3.0, 4.0), 0.1, 10.0
DT, STEPS, NEAR = 1 / 60, 200, 0.05
LOCAL, HOPPING = 80, gs.BasinHopping(workers=4, rounds=4, iterations=20)


def pendulum(lengths: tuple[float, float]) -> gs.Model:
    """Links along +y, turning about x, a ball of 0.15 m and 1 kg at the end of each."""
    b = gs.Builder("pendulum")
    for i, length in enumerate(lengths):
        parent, at = ("world", 0.0) if i == 0 else ("link0", lengths[0])
        b.link(f"link{i}", parent, axis=(1, 0, 0), origin=(0, at, 0), mass=1.0,
               com=(0, length, 0), inertia=0.009)  # fmt: skip
    return b.build()


def with_lengths(model: gs.Model, x: Any) -> gs.Model:
    """The pendulum with other lengths: centres of mass, and where the second joint is."""
    model = with_leaf(model, "link.com", model.link.com.at[:, 1].set(x))
    return with_leaf(model, "joint.origin", model.joint.origin.at[1, 1].set(x[0]))


def problem() -> gs.Problem:
    """One window, from the known start at rest."""
    simulator = gs.Simulator(pendulum(TRUE), DT)
    q = np.asarray(simulator.rollout(simulator.initial_state(), steps=STEPS).q)
    t = DT * np.arange(STEPS + 1)
    channels = {
        f"joint.q[link{i}]": gs.Channel(f"joint.q[link{i}]", t, q[:, i], "rad") for i in range(2)
    }
    free = gs.Custom(("1", "2"), (1.0, 1.0), with_lengths, "m", gs.Bounds(LOW, HIGH))
    return gs.Problem(
        gs.Simulator(pendulum((1.0, 1.0)), DT), gs.Recording(channels, name="fall"),
        {"length": free}, noise=dict.fromkeys(channels, 0.01), holdout=0, horizon=STEPS * DT,
        growth=(1.0,), initial=lambda *_: (np.zeros(2), np.zeros(2)), fit_initial=False,
    )  # fmt: skip


def succeeded(theta: np.ndarray) -> np.ndarray:
    """Which of the points [n, 2] are the true lengths."""
    return np.linalg.norm(theta - TRUE, axis=1) < NEAR


def lbfgs(compiled: Any, starts: np.ndarray) -> np.ndarray:
    """SciPy's L-BFGS-B from each start, as the papers used it; gradients by kernels."""

    def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
        r, J, _ = compiled.jacobian(theta, np.zeros((1, 0)))
        r, J = r.reshape(-1), J.reshape(-1, 2)
        return 0.5 * float(r @ r), J.T @ r

    bounds = [(LOW, HIGH)] * 2
    options = {"maxiter": LOCAL}
    return np.array(
        [minimize(cost, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
         for x in starts]
    )  # fmt: skip


def scalar(compiled: Any, posed: gs.Problem, starts: np.ndarray) -> np.ndarray:
    """Levenberg-Marquardt as the papers released it: the summed squared error as one residual."""
    none, active = np.zeros((len(starts), 1, 0)), np.arange(2)

    def residual(theta: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.sum(compiled.many_residuals(theta, none) ** 2, (1, 2))[:, None, None]

    def jacobian(theta: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, ...]:
        r, J, J_l = compiled.many_jacobians(theta, none, active)
        total = np.sum(r * r, (1, 2))[:, None, None]
        return total, 2 * np.einsum("nwm,nwmp->np", r, J)[:, None, None], J_l[:, :, :1]

    bounds = posed.bounds_of(posed.parameters.start)
    options = gs.LevenbergMarquardt(LOCAL)
    return minimise_many(
        residual, jacobian, Points.at(starts, none, options.damping), bounds, options, rivals=True
    ).theta


def draw(folder: str | None, n: int, maps: dict[str, np.ndarray]) -> None:
    """Distance between what was found and the truth, for each start of the grid."""
    if folder is None:
        return
    figure, grid = pictures.axes(len(maps), width=4.2, height=3.6)
    for a, (title, theta) in zip(grid[0], maps.items(), strict=True):
        off = np.linalg.norm(theta - TRUE, axis=1).reshape(n, n)
        image = a.imshow(
            off.T, origin="lower", extent=(LOW, HIGH, LOW, HIGH), vmin=0, vmax=5, cmap="inferno"
        )
        a.plot(*TRUE, "+", color="white")
        a.set(title=title, xlabel="length 1, start (m)", ylabel="length 2, start (m)")
        a.grid(False)
        figure.colorbar(image, ax=a, label="distance of what was found (m)")
    pictures.save(figure, folder, "e02_link_lengths")


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--grid", type=int, default=20, help="starts along each length")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("E2 link lengths", seed=arguments.seed, json_path=arguments.json)
    n = 2 if arguments.quick else arguments.grid
    side = np.linspace(LOW, HIGH, n)
    starts = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    posed = problem()
    began = time.perf_counter()
    compiled = compile_windows(posed, posed.train_windows())
    local = local_minima(posed, compiled, starts, gs.LevenbergMarquardt(LOCAL))
    between = time.perf_counter()
    hopping = gs.BasinHopping(HOPPING.workers, HOPPING.rounds, HOPPING.iterations, arguments.seed)
    found = search(posed, compiled, starts, hopping)
    ended = time.perf_counter()
    figures.at_most("LM from one start, share that succeeds", succeeded(local.theta).mean(), 0.9)
    figures.at_least("basin hopping, share that succeeds", succeeded(found.theta).mean(), 0.99)
    figures.note("basin hopping, rounds", float(found.rounds.mean()))
    figures.note("LM on the grid, compilation included", between - began, "s")
    figures.at_most("the whole grid by basin hopping", ended - between, 20.0, "s")
    simple = lbfgs(compiled, starts)
    single = scalar(compiled, posed, starts)
    figures.at_most("LM of one residual, share that succeeds", succeeded(single).mean(), 0.9)
    figures.at_most("L-BFGS from one start, share that succeeds", succeeded(simple).mean(), 0.9)
    maps = {"Levenberg-Marquardt": local.theta, "L-BFGS": simple, "basin hopping": found.theta}
    draw(arguments.pictures, n, maps)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
