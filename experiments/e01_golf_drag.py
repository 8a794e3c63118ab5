"""E1: a ball without air is given a network for passive force, and learns drag from 20 shots.

Truth: quadratic drag of a golf ball (mass 45.93 g, diameter 42.67 mm, drag coefficient 0.25) in air
at 25 C. 20 shots of 4 s at 30 to 75 m/s are fitted end to end, positions and velocities; 50 others
from the same ranges judge. Beside it: the ball in vacuum, and a plain network from state to change
of state trained on the same shots. The second truth has the larger coefficient of MuJoCo's box
model of a fluid.
"""

import os
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import feed_forward
import jax
import jax.numpy as jnp
import numpy as np
import pictures

import graftsim as gs
from graftsim.targets import Figures

MASS, DIAMETER, DENSITY = 0.04593, 0.04267, 1.184
DT, STEPS = 0.01, 400
AXES = "xyz"


def ball() -> gs.Simulator:
    """A sphere on three sliding joints: rotation plays no role."""
    b, parent = gs.Builder("golf_ball"), "world"
    for name, axis in zip(AXES, np.eye(3), strict=True):
        body: dict[str, Any] = {"mass": 0.0}
        if name == "z":
            body = {"mass": MASS, "com": (0, 0, 0), "inertia": (MASS * DIAMETER**2 / 10,) * 3}
        b.link(name, parent, joint="prismatic", joint_name=name, axis=tuple(axis), **body)
        parent = name
    return gs.Simulator(b.build(), DT)


def drag(coefficient: float) -> float:
    """Force over speed squared (kg/m)."""
    return 0.5 * DENSITY * coefficient * np.pi * DIAMETER**2 / 4


def shots(rng: np.random.Generator, count: int, speed: float | None = None) -> np.ndarray:
    """Velocities after the push [count, 3]."""
    v = rng.uniform(30, 75, count) if speed is None else np.full(count, speed)
    up, side = np.deg2rad(rng.uniform(10, 50, count)), np.deg2rad(rng.uniform(-30, 30, count))
    return np.stack(
        [v * np.cos(up) * np.cos(side), v * np.cos(up) * np.sin(side), v * np.sin(up)], 1
    )


def fly(velocity: np.ndarray, k: float) -> np.ndarray:
    """States [n, steps + 1, 6] with quadratic drag, by the simulator's own integrator."""

    def one(v: Any) -> Any:
        def body(s: Any, _: None) -> tuple[Any, Any]:
            q, qd = s[:3], s[3:]
            qd = qd + DT * (jnp.array([0, 0, -9.81]) - k / MASS * jnp.linalg.norm(qd) * qd)
            new = jnp.concatenate([q + DT * qd, qd])
            return new, new

        first = jnp.concatenate([jnp.zeros(3), v])
        return jnp.concatenate([first[None], jax.lax.scan(body, first, None, length=STEPS)[1]])

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(velocity)))


def simulate(simulator: gs.Simulator, velocity: np.ndarray) -> np.ndarray:
    """Positions [n, steps + 1, 3]."""

    def one(v: Any) -> Any:
        return simulator.rollout(simulator.initial_state(qd=v), steps=STEPS).q

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(velocity)))


def problem(simulator: gs.Simulator, states: np.ndarray, velocity: np.ndarray) -> gs.Problem:
    """All shots whole, from their known start; positions weighed by 100 m, velocities by 40 m/s."""
    recordings = []
    for k, s in enumerate(states):
        columns = {f"joint.q[{a}]": s[:, i] for i, a in enumerate(AXES)}
        columns |= {f"joint.qd[{a}]": s[:, 3 + i] for i, a in enumerate(AXES)}
        recordings.append(gs.recording_from_arrays(columns, name=f"shot {k}", time=DT))
    start = {r.name: v for r, v in zip(recordings, velocity, strict=True)}
    # A ten-thousandth of those sizes for noise: the prior of the weights then hardly matters.
    noise = {f"joint.q[{a}]": 1e-2 for a in AXES} | {f"joint.qd[{a}]": 4e-3 for a in AXES}
    return gs.Problem(
        simulator,
        recordings,
        noise=noise,
        holdout=0,
        horizon=DT * STEPS,
        growth=(1.0,),
        initial=lambda r, t: (np.zeros(3), start[r.name]),
        fit_initial=False,
    )


def rms(a: np.ndarray, b: np.ndarray) -> float:
    """Root mean square distance."""
    return float(np.sqrt(np.mean(np.sum((a - b) ** 2, -1))))


def force_error(simulator: gs.Simulator, k: float, speed: np.ndarray) -> np.ndarray:
    """Relative error of the learned force over speeds, worst of a fan of directions."""
    directions = shots(np.random.default_rng(5), 40, 1.0)
    graft = simulator.grafts["air"]  # type: ignore[index]
    worst = np.zeros(len(speed))
    for d in directions:
        v = speed[:, None] * d
        force = np.asarray(jax.vmap(lambda x: graft(x[None])[0][0])(jnp.asarray(v)))
        truth = -k * speed[:, None] * v
        worst = np.maximum(worst, np.linalg.norm(force - truth, axis=1) / (k * speed**2))
    return worst


def main() -> int:
    parser = pictures.add_option(Figures.arguments(__doc__ or ""))
    parser.add_argument("--solver", choices=("lbfgs", "levenberg_marquardt"), default="lbfgs")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("E1 golf-ball drag", seed=arguments.seed, json_path=arguments.json)
    both = ((0.25, True), (0.76, False))
    for coefficient, targets in both[: 1 if arguments.quick else None]:
        run(figures, arguments, coefficient, targets)
    return 0 if figures.finish() else 1


def run(figures: Figures, arguments: Any, coefficient: float, targets: bool) -> None:
    """One truth: fit, judge, draw."""
    k, tag = drag(coefficient), f"Cd {coefficient}"
    rng = np.random.default_rng(arguments.seed)
    counts = (2, 2, 1) if arguments.quick else (20, 50, 10)
    train, test, far = shots(rng, counts[0]), shots(rng, counts[1]), shots(rng, counts[2], 80.0)
    states, truth = fly(train, k), fly(test, k)[..., :3]
    plain = ball()
    air = gs.Graft(
        "joint.tau_passive",
        "joint.qd",
        network=gs.MLP(16, 16),
        input_scale={"joint.qd": "40 m/s"},
        output_scale="0.5 N",
        name="air",
    )
    hybrid = plain.graft(gs.Blueprint(air), key=jax.random.key(arguments.seed))
    many = (5, 5) if arguments.quick else (600, 60)
    lbfgs = arguments.solver == "lbfgs"
    solver = gs.LBFGS(many[0]) if lbfgs else gs.LevenbergMarquardt(many[1])
    posed = problem(hybrid, states, train)
    began = time.perf_counter()
    result = gs.fit(posed, local=solver)
    compiling = result.history[0].seconds
    training = result.history[-1].seconds - compiling
    fitted = result.simulator
    vacuum = rms(simulate(plain, test), truth)
    q = simulate(fitted, test)
    network = feed_forward.train(
        states[:, :-1].reshape(-1, 6),
        states[:, 1:].reshape(-1, 6),
        updates=50 if arguments.quick else 10_000,
        seed=arguments.seed,
    )
    first = np.concatenate([np.zeros_like(test), test], 1)
    guess = np.asarray(jax.vmap(lambda s: network.rollout(s, STEPS))(jnp.asarray(first)))[..., :3]
    share, end = rms(q, truth) / vacuum, np.linalg.norm(q[:, -1] - truth[:, -1], axis=1)
    if targets:
        figures.at_most(f"{tag}: unseen shots, share of the vacuum error", share, 0.02)
        figures.at_most(f"{tag}: end point, mean", float(end.mean()), 1.5, "m")
        figures.at_most(f"{tag}: training, without compilation", training, 10.0, "s")
    else:
        figures.note(f"{tag}: unseen shots, share of the vacuum error", share)
        figures.note(f"{tag}: end point, mean", float(end.mean()), "m")
        figures.note(f"{tag}: training, without compilation", training, "s")
    figures.note(f"{tag}: until the first iteration", compiling, "s")
    figures.note(f"{tag}: whole fit with its judgement", time.perf_counter() - began, "s")
    figures.note(f"{tag}: weights", len(result.theta))
    figures.note(f"{tag}: RMS, vacuum", vacuum, "m")
    figures.note(f"{tag}: RMS, hybrid", rms(q, truth), "m")
    figures.note(f"{tag}: RMS, plain network", rms(guess, truth), "m")
    figures.note(f"{tag}: end point, worst", float(end.max()), "m")
    away = rms(simulate(fitted, far), fly(far, k)[..., :3]) / rms(
        simulate(plain, far), fly(far, k)[..., :3]
    )
    figures.note(f"{tag}: shots at 80 m/s, share of the vacuum error", away)
    speed = np.linspace(10, 75, 27)
    error = force_error(fitted, k, speed)
    for at in (10, 20, 30, 50, 75):
        figures.note(f"{tag}: force law, error at {at} m/s", float(np.interp(at, speed, error)))
    draw(
        arguments.pictures,
        f"e01_cd_{coefficient}",
        (truth, simulate(plain, test), q, guess),
        fitted,
        k,
    )


def draw(
    folder: str | None, name: str, flights: tuple[np.ndarray, ...], fitted: gs.Simulator, k: float
) -> None:
    """Flights of unseen shots, and the learned force beside the true one."""
    if folder is None:
        return
    figure, grid = pictures.axes(2, width=4.6)
    truth, vacuum, hybrid, network = flights
    for i in range(4):
        for path, colour, label, width in (
            (vacuum, pictures.PLAIN, "vacuum", 1.0),
            (network, pictures.NETWORK, "plain network", 1.0),
            (truth, pictures.TRUTH, "truth", 2.6),
            (hybrid, pictures.HYBRID, "hybrid", 1.2),
        ):
            forward = np.linalg.norm(path[i, :, :2], axis=1)
            label = label if i == 0 else None
            grid[0, 0].plot(forward, path[i, :, 2], color=colour, label=label, linewidth=width)
    grid[0, 0].set(xlabel="distance (m)", ylabel="height (m)", title="unseen shots")
    grid[0, 0].legend(frameon=False)
    speed = np.linspace(1, 80, 80)
    v = speed[:, None] * np.array([np.cos(0.5), 0, np.sin(0.5)])
    graft = fitted.grafts["air"]  # type: ignore[index]
    force = np.asarray(jax.vmap(lambda x: graft(x[None])[0][0])(jnp.asarray(v)))
    along = -np.sum(force * v, 1) / speed
    grid[0, 1].plot(speed, k * speed**2, color=pictures.TRUTH, linewidth=2.6, label="truth")
    grid[0, 1].plot(speed, along, color=pictures.HYBRID, linewidth=1.4, label="learned")
    grid[0, 1].set(xlabel="speed (m/s)", ylabel="drag (N)", title="force law")
    grid[0, 1].legend(frameon=False)
    pictures.save(figure, folder, name)


if __name__ == "__main__":
    sys.exit(main())
