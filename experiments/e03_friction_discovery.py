"""E3: joint friction of a double pendulum discovered by networks on the joints' passive forces.

(a) Each joint has a network of its own over both positions and velocities (4-5-5-1, ELU). With the
papers' loss, one-step errors of one trajectory plus an L1 penalty on the first layer and L2 on the
others, 15 steps leave the joint's own velocity as the only input. (b) With friction and springs to
find, one trajectory of the hybrid is held against up to 1000 of a plain network.
"""

import os
import sys
import time
import warnings
from itertools import pairwise
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import feed_forward
import jax
import jax.numpy as jnp
import numpy as np
import pictures

import graftsim as gs
from graftsim.targets import Figures

DT = 1 / 500
DAMPING, STIFFNESS = (0.2, 0.1), (0.5, 0.3)
JOINTS = ("j1", "j2")
KAPPA, LAMBDA, SAMPLES = 1e-2, 1e-3, 1000
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def pendulum(damping: tuple[float, ...] = (0, 0), stiffness: tuple[float, ...] = (0, 0)) -> Any:
    """Two links of 0.5 m, each a ball of 1 kg and radius 0.15 m at its end, level at q = 0."""
    b, parent = gs.Builder("double_pendulum"), "world"
    for i, joint in enumerate(JOINTS):
        b.link(
            f"link{i + 1}",
            parent,
            joint_name=joint,
            axis=(1, 0, 0),
            origin=(0, 0.5 * i, 0),
            mass=1.0,
            com=(0, 0.5, 0),
            inertia=(0.009,) * 3,
            damping=damping[i],
            stiffness=stiffness[i],
        )
        parent = f"link{i + 1}"
    return gs.Simulator(b.build(), DT)


def trajectories(
    simulator: gs.Simulator, q: np.ndarray, qd: np.ndarray, seconds: float
) -> np.ndarray:
    """States [n, steps + 1, 4] from the given starts [n, 2]."""
    steps = round(seconds / DT)

    def one(q: Any, qd: Any) -> Any:
        run = simulator.rollout(simulator.initial_state(q=q, qd=qd), steps=steps)
        return jnp.concatenate([run.q, run.qd], -1)

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(q), jnp.asarray(qd)))


def problem(simulator: gs.Simulator, states: np.ndarray, samples: int) -> gs.Problem:
    """One-step errors, as the paper weighs them: velocity errors over dt, averaged over samples."""
    recordings = []
    for k, s in enumerate(states):
        columns = {f"joint.q[{j}]": s[:, i] for i, j in enumerate(JOINTS)}
        columns |= {f"joint.qd[{j}]": s[:, 2 + i] for i, j in enumerate(JOINTS)}
        recordings.append(gs.recording_from_arrays(columns, name=f"run {k}", time=DT))
    noise = {f"joint.qd[{j}]": DT * np.sqrt(samples / 2) for j in JOINTS}
    # A position's one-step error is dt times that of the velocity: nothing new, so no weight.
    noise |= {f"joint.q[{j}]": 1e3 for j in JOINTS}
    return gs.Problem(
        simulator,
        recordings,
        horizon="sample",
        initial="measured",
        noise=noise,
        holdout=0,
        max_windows=samples,
    )


def grafted(seed: int) -> gs.Simulator:
    """A network for each joint on both joints' positions and velocities: 122 weights."""
    graft = gs.Graft(
        "joint.tau_passive[*]",
        ("joint.q", "joint.qd"),
        network=gs.MLP(5, 5, activation="elu"),
        shared=False,
        # lambda |w|^2 is |w|^2 / (2 std^2).
        prior=1 / np.sqrt(2 * LAMBDA),
        name="passive",
    )
    return pendulum().graft(gs.Blueprint(graft), key=jax.random.key(seed))


def part_a(figures: Figures, arguments: Any) -> None:
    """Five starts, 15 steps each; the best by cost is judged."""
    truth = pendulum(DAMPING)
    states = trajectories(truth, np.array([[0.5, -0.3]]), np.zeros((1, 2)), 5.0)
    found = []
    for start in range(5):
        posed = problem(grafted(5 * arguments.seed + start), states, SAMPLES)
        result = gs.fit(
            posed,
            local=gs.LevenbergMarquardt(iterations=15),
            sparsity=gs.SparseGroupLasso(l1=KAPPA),
        )
        history = result.history
        found.append((history[-1].cost, history[-1].seconds - history[0].seconds, result))
    cost, seconds, result = min(found, key=lambda f: f[0])
    summary = result.grafts[0]
    slopes = summary.sensitivity[:, 0, :]
    own = np.array([slopes[i, 2 + i] for i in range(2)])
    others = np.array([[slopes[i, k] for k in range(4) if k != 2 + i] for i in range(2)])
    for i, joint in enumerate(JOINTS):
        error = abs(own[i] - DAMPING[i]) / DAMPING[i]
        figures.at_most(f"(a) {joint}: own slope, error", error, 0.05)
        share = others[i].max() / DAMPING[i]
        figures.at_most(f"(a) {joint}: other inputs, share of the damping", share, 0.05)
    weights = np.asarray(result.simulator.grafts["passive"].weights.layers[0].weight)  # type: ignore
    norms = np.linalg.norm(weights, axis=1)
    unused = max(np.delete(norms[i], 2 + i).max() / norms[i].max() for i in range(2))
    figures.at_most("(a) unused inputs, share of the largest weight norm", unused, 0.1)
    zero = sum(int(np.delete(norms[i] == 0, 2 + i).sum()) for i in range(2))
    figures.note("(a) unused inputs that are exactly zero, of 6", zero)
    figures.note("(a) own slopes", own[0])
    figures.note("(a) own slopes", own[1])
    every = [r.grafts[0].sensitivity[:, 0, :] for _, _, r in found]
    good = sum(
        all(abs(s[i, 2 + i] - DAMPING[i]) <= 0.05 * DAMPING[i] for i in range(2)) for s in every
    )
    figures.note("(a) starts whose slopes are within 5 %, of 5", good)
    figures.at_most("(a) training, without compilation", seconds, 5.0, "s")
    plain = problem(pendulum_with_nothing(), states, SAMPLES)
    figures.note("(a) one-step cost, no friction", start_cost(plain))
    figures.note("(a) one-step cost, hybrid, penalty included", cost)
    draw_a(arguments.pictures, slopes, summary)


def pendulum_with_nothing() -> gs.Simulator:
    """The un-augmented pendulum with a graft of zero, so that a problem can be posed."""
    return grafted(0)


def start_cost(posed: gs.Problem) -> float:
    """Cost before any step."""
    return gs.fit(posed, local=gs.LevenbergMarquardt(iterations=0)).history[0].cost


def draw_a(folder: str | None, slopes: np.ndarray, summary: Any) -> None:
    """Sensitivities as a map, and the two learned laws."""
    if folder is None:
        return
    figure, grid = pictures.axes(3)
    a = grid[0, 0]
    a.grid(False)
    a.imshow(slopes, cmap="Oranges", vmin=0, vmax=0.2)
    for i in range(2):
        for k in range(4):
            a.text(k, i, f"{slopes[i, k]:.3f}", ha="center", va="center", fontsize=9)
    a.set_xticks(range(4), ["q1", "q2", "qd1", "qd2"])
    a.set_yticks(range(2), ["torque 1", "torque 2"])
    a.set_title("mean |d torque / d input|")
    for i in range(2):
        curve = next(
            c for c in summary.curves if c.row == JOINTS[i] and c.column == f"joint.qd[{JOINTS[i]}]"
        )
        b = grid[0, 1 + i]
        b.plot(curve.x, -DAMPING[i] * curve.x, color=pictures.TRUTH, linewidth=2.6, label="truth")
        b.plot(curve.x, curve.y, color=pictures.HYBRID, linewidth=1.3, label="learned")
        b.set(xlabel=f"velocity of joint {i + 1} (rad/s)", ylabel="torque (N m)")
        b.legend(frameon=False)
    pictures.save(figure, folder, "e03_sensitivities")


def part_b(figures: Figures, arguments: Any) -> None:
    """Error on unseen trajectories over the number of trajectories."""
    truth = pendulum(DAMPING, STIFFNESS)
    rng = np.random.default_rng(arguments.seed + 10)

    def starts(n: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(-1.5, 1.5, (n, 2)), rng.uniform(-1, 1, (n, 2))

    train = trajectories(truth, *starts(COUNTS[-1]), 1.0)
    test = trajectories(truth, *starts(50), 1.0)

    def errors(step: Any) -> tuple[float, float]:
        """One-step and roll-out mean square errors on the test trajectories."""
        one = jax.jit(jax.vmap(jax.vmap(step)))(jnp.asarray(test[:, :-1]))

        def roll(x: Any) -> Any:
            return jax.lax.scan(lambda s, _: (step(s),) * 2, x, None, length=test.shape[1] - 1)[1]

        rolled = jax.jit(jax.vmap(roll))(jnp.asarray(test[:, 0]))
        return tuple(float(jnp.mean((x - test[:, 1:]) ** 2)) for x in (one, rolled))  # type: ignore

    def of(simulator: gs.Simulator) -> tuple[float, float]:
        def step(x: Any) -> Any:
            new = simulator.step(simulator.initial_state(q=x[:2], qd=x[2:]))
            return jnp.concatenate([new.q, new.qd])

        return errors(step)

    plain, curves = of(pendulum()), {"hybrid": {}, "baseline": {}}
    quick = arguments.quick
    for count in (1, 10, 100)[: 1 if quick else None]:
        samples = min(500 * count, 2000)
        best = None
        for start in range(1 if quick else 3):
            posed = problem(grafted(start), train[:count], samples)
            result = gs.fit(
                posed,
                local=gs.LevenbergMarquardt(iterations=2 if quick else 60),
                sparsity=gs.SparseGroupLasso(l1=KAPPA),
            )
            if best is None or result.history[-1].cost < best.history[-1].cost:
                best = result
        assert best is not None
        curves["hybrid"][count] = of(best.simulator)
    for count in COUNTS if not quick else (1, 10, 1000):
        states = train[:count]
        network = feed_forward.train(
            states[:, :-1].reshape(-1, 4),
            states[:, 1:].reshape(-1, 4),
            updates=50 if quick else 10_000,
            seed=arguments.seed,
        )
        curves["baseline"][count] = errors(network.step)
    for i, metric in enumerate(("one step", "1 s roll-out")):
        figures.note(f"(b) {metric}: MSE without networks", plain[i])
        for count, value in curves["hybrid"].items():
            figures.note(f"(b) {metric}: hybrid, {count} trajectories", value[i])
        for count, value in curves["baseline"].items():
            figures.note(f"(b) {metric}: baseline, {count} trajectories", value[i])
        figures.at_most(
            f"(b) {metric}: hybrid with 1 over baseline with 1000",
            curves["hybrid"][1][i] / curves["baseline"][COUNTS[-1]][i],
            1.0,
        )
        falling = [v[i] for v in curves["baseline"].values()]
        rises = max(b / a for a, b in pairwise(falling))
        figures.at_most(f"(b) {metric}: largest rise of the baseline over the counts", rises, 1.5)
    draw_b(arguments.pictures, plain, curves)


def draw_b(folder: str | None, plain: tuple[float, float], curves: dict[str, Any]) -> None:
    """Both errors over the number of trajectories."""
    if folder is None:
        return
    figure, grid = pictures.axes(2)
    for i, title in enumerate(("one step", "1 s roll-out")):
        a = grid[0, i]
        for name, colour in (("baseline", pictures.NETWORK), ("hybrid", pictures.HYBRID)):
            x = list(curves[name])
            a.loglog(x, [curves[name][k][i] for k in x], "o-", color=colour, label=name)
        a.axhline(plain[i], color=pictures.PLAIN, linestyle="--", label="without networks")
        a.set(xlabel="trajectories of 1 s", ylabel="mean square error", title=title)
        a.legend(frameon=False)
    pictures.save(figure, folder, "e03_data")


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--only", choices=("a", "b"), help="one part alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("E3 friction discovery", seed=arguments.seed, json_path=arguments.json)
    began = time.perf_counter()
    if arguments.only != "b":
        part_a(figures, arguments)
        figures.note("(a) whole", time.perf_counter() - began, "s")
    if arguments.only != "a":
        part_b(figures, arguments)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
