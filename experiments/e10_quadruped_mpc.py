"""E10: a quadruped trots under convex predictive control, and a network takes the place of its QP.

(speed) The program of 120 variables along a walk: OSQP, the own interior point, the network, one by
one and 256 robots side by side. (walk) Laikago and A1, 20 s, on graftsim's contacts and MuJoCo's.
(imitate) 41-192-192-12, cloned from 100 s of random commands; the network alone trots 10 s.
(robust) Pushes of 20 to 400 N for 0.1 s on floors of friction 0.4 to 1, 256 robots side by side.
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np
import quadruped
from quadruped import RATE

import graftsim as gs
from graftsim import kernels
from graftsim.control import OSQP, InteriorPoint
from graftsim.targets import Figures

SIDE_BY_SIDE = 256
# Cosine of the tilt (0.6 rad) at which a robot counts as fallen.
UPRIGHT = float(np.cos(0.6))
PUSHES, FLOORS = (20.0, 60.0, 100.0, 200.0, 300.0, 400.0), (0.4, 0.6, 0.8, 1.0)


def features(controller: gs.control.Trot, sight: Any, command: Any) -> Any:
    """The 41 inputs of the network: velocity, roll, pitch and a yaw of zero, angular velocity,
    contact flags, feet in the trunk, friction; wanted position, velocity, angles, rates.
    """
    at, zero = sight.posture, jnp.zeros(3)
    mu = jnp.full(4, controller.prediction.friction)
    return jnp.concatenate(
        [at.velocity, at.angles.at[2].set(0.0), at.turning, sight.stands.astype(float),
         sight.feet.ravel(), mu, zero.at[2].set(controller.height), command.at[2].set(0.0),
         zero, zero.at[2].set(command[2])]
    )  # fmt: skip


def planner(controller: gs.control.Trot, policy: Any) -> Callable[..., Any]:
    """As `controller.plan`, with torques of the standing legs from a network."""

    def plan(state: Any, memory: Any, command: Any) -> Any:
        sight, after = controller.look(state, memory, command)
        torque = policy(features(controller, sight, command)).reshape(4, 3)
        return controller.aim(sight, torque), after

    return plan


def cpu(f: Callable[[], Any], tries: int) -> float:
    """Seconds of the processor that a call takes, the median of all but the first."""
    times = []
    for _ in range(tries + 1):
        began = time.process_time()
        jax.block_until_ready(f())
        times.append(time.process_time() - began)
    return float(np.median(times[1:]))


class Robot:
    """A robot, its controller and the two walkers."""

    def __init__(self, assets: str, name: str) -> None:
        self.name = name
        self.text = quadruped.robot_file(assets, name)
        self.model = quadruped.read(self.text)
        self.controller = quadruped.controller_of(self.model, name)
        self.simulator = quadruped.simulator_of(self.model)
        self.start = self.simulator.initial_state(self.controller.standing())

    def walk(self, commands: Any, plan: Any = None) -> Any:
        return gs.control.walker(self.simulator, self.controller, plan)(self.start, commands)

    def programs(self, found: Any, commands: Any) -> Any:
        """Of each plan of a walk, stacked."""

        def of(state: Any, memory: Any, command: Any) -> Any:
            sight, _ = self.controller.look(state, memory, command)
            return self.controller.problem(sight, command)

        states = jax.tree.map(lambda x: x[:-1], found.states)
        return jax.jit(jax.vmap(of))(states, found.memory, commands)


def osqp_times(solver: OSQP, programs: Any, rows: list[int]) -> tuple[float, float, float]:
    """Medians (s): the matrices; a new program set up and solved; a warm one, numbers updated."""
    import osqp

    matrices, fresh, warm = [], [], []
    kept: Any = None
    for i in rows:
        program = jax.tree.map(lambda x, i=i: np.asarray(x[i]), programs)
        began = time.process_time()
        pattern, P, q, A, low, high = solver.matrices(program)
        matrices.append(time.process_time() - began)
        began = time.process_time()
        new = osqp.OSQP()
        new.setup(P, q, A, low, high, **solver.settings())
        new.solve()
        fresh.append(time.process_time() - began)
        if kept is not None and np.array_equal(kept[0], pattern):
            began = time.process_time()
            kept[1].update(Px=P.data, q=q, Ax=A.data, l=low, u=high)
            kept[1].solve()
            warm.append(time.process_time() - began)
        kept = (pattern, kept[1] if kept and np.array_equal(kept[0], pattern) else new)
    return float(np.median(matrices)), float(np.median(fresh)), float(np.median(warm))


def speed(figures: Figures, robot: Robot, quick: bool) -> dict[str, float]:
    """CPU seconds of all solvers on the same programs of a walk."""
    commands = quadruped.wandering(1 if quick else 8, np.random.default_rng(figures.seed))
    programs = robot.programs(robot.walk(commands), commands)
    rows = list(range(0, len(commands), 10 if quick else 2))
    times: dict[str, float] = {}
    for title, solver in (("120 variables", OSQP(all_feet=True)), ("stance only", OSQP())):
        build, fresh, warm = osqp_times(solver, programs, rows)
        figures.note(f"OSQP, {title}: matrices", 1e3 * build, "ms")
        figures.note(f"OSQP, {title}: set up and solved", 1e3 * fresh, "ms")
        figures.note(f"OSQP, {title}: updated, warm", 1e3 * warm, "ms")
        times[title] = min(fresh, warm)
    own = InteriorPoint()
    one = jax.jit(own.solve)
    many = jax.jit(jax.vmap(own.solve))
    with kernels.threads(1):
        first = jax.tree.map(lambda x: x[0], programs)
        times["own"] = cpu(lambda: one(first).force, 100)
        index = np.arange(SIDE_BY_SIDE) * len(commands) // SIDE_BY_SIDE
        chosen = jax.tree.map(lambda x: x[index], programs)
        side = cpu(lambda: many(chosen).force, 10) / SIDE_BY_SIDE
    forces = np.asarray(many(chosen).force)
    exact = OSQP(tolerance=1e-9, all_feet=True, iterations=200_000)
    apart = [
        np.abs(np.asarray(exact.solve(jax.tree.map(lambda x, i=i: x[i], chosen)).force) - f).max()
        for i, f in list(enumerate(forces))[:: 64 if quick else 8]
    ]
    figures.at_most("own solver from OSQP at 1e-9, of the weight", np.max(apart), 1e-4)
    figures.note("own, one robot", 1e3 * times["own"], "ms")
    figures.note(f"own, one of {SIDE_BY_SIDE}", 1e3 * side, "ms")
    for title in ("120 variables", "stance only"):
        figures.at_least(f"own over OSQP, {title}, one robot", times[title] / times["own"], 1.0)
        ratio = times[title] / side
        figures.at_least(f"own over OSQP, {title}, one of {SIDE_BY_SIDE}", ratio, 20.0)
    return times


def note_gait(figures: Figures, title: str, gait: quadruped.Gait) -> None:
    """Height, tilt, speed and torque of a walk."""
    figures.note(f"{title}: lowest", gait.low, "m")
    figures.note(f"{title}: highest", gait.high, "m")
    figures.note(f"{title}: greatest roll or pitch", gait.tilt, "rad")
    figures.note(f"{title}: greatest torque", gait.torque, "N m")


def walk(figures: Figures, robot: Robot, quick: bool) -> float:
    """The predictive controller alone at 0.3 m/s, in both programs; returns the speed."""
    commands = quadruped.forward(2 if quick else 20)
    found = robot.walk(commands)
    ours = quadruped.gait_of(found.states.q, found.u)
    theirs = quadruped.in_mujoco(robot.text, robot.controller, commands)
    for title, gait in (("graftsim", ours), ("MuJoCo", theirs)):
        name = f"{robot.name}, {title}"
        figures.at_most(f"{name}: speed error", abs(gait.speed - 0.3), 0.1, "m/s")
        note_gait(figures, name, gait)
    return ours.speed


def samples(robot: Robot, seconds: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Inputs, torques, and which of them belong to standing legs."""
    commands = quadruped.wandering(seconds, rng)
    found = robot.walk(commands)

    def inputs(state: Any, memory: Any, command: Any) -> Any:
        sight, _ = robot.controller.look(state, memory, command)
        return features(robot.controller, sight, command)

    states = jax.tree.map(lambda x: x[:-1], found.states)
    x = jax.jit(jax.vmap(inputs))(states, found.memory, commands)
    stands = np.repeat(np.asarray(found.aim.stands), 3, axis=-1)
    return np.asarray(x), np.asarray(found.aim.torque).reshape(len(x), 12), stands


def imitate(figures: Figures, robot: Robot, quick: bool) -> Any:
    """The network, its R^2 on held-out seconds of a walk of its own, its speed."""
    rng = np.random.default_rng(figures.seed)
    x, u, _ = samples(robot, 4 if quick else 100, rng)
    how = gs.control.Cloning(epochs=5 if quick else 200, batch=256, rate=1e-3, holdout=0.0)
    began = time.perf_counter()
    network = gs.MLP(192, 192, activation="elu")
    policy = gs.control.clone(x, u, network, how=how, key=jax.random.key(figures.seed or 0)).policy
    figures.note("imitation: training", time.perf_counter() - began, "s")
    figures.note("imitation: transitions", len(x))
    new, wanted, stands = samples(robot, 2 if quick else 20, rng)
    given = np.asarray(policy(new))
    mean = np.sum(wanted * stands, 0) / np.sum(stands, 0)
    left = np.sum(stands * (given - wanted) ** 2) / np.sum(stands * (wanted - mean) ** 2)
    figures.at_least("imitation: R^2 of standing legs' torques, new walk", 1 - left, 0.95)
    return policy


def network_walk(figures: Figures, robot: Robot, policy: Any, quick: bool) -> None:
    """The network alone at 0.3 m/s beside the QP."""
    commands = quadruped.forward(2 if quick else 10)
    found = robot.walk(commands)
    qp = quadruped.gait_of(found.states.q, found.u)
    found = robot.walk(commands, planner(robot.controller, policy))
    gait = quadruped.gait_of(found.states.q, found.u)
    figures.at_least("network alone: lowest", gait.low, 0.38, "m")
    figures.at_most("network alone: highest", gait.high, 0.48, "m")
    figures.at_most("network alone: greatest roll or pitch", gait.tilt, 0.15, "rad")
    figures.note("network alone: speed", gait.speed, "m/s")
    figures.at_most("network alone: speed from the QP's", abs(gait.speed / qp.speed - 1), 0.2)


def network_speed(figures: Figures, policy: Any, times: dict[str, float]) -> None:
    """A call of the network in NumPy beside the solvers."""
    alone, x = policy.in_numpy(), np.zeros(41)
    began = time.process_time()
    for _ in range(2000):
        alone(x)
    own = (time.process_time() - began) / 2000
    figures.note("network in NumPy, a call", 1e3 * own, "ms")
    figures.at_least("OSQP, 120 variables, over the network", times["120 variables"] / own, 10.0)
    figures.note("OSQP, stance only, over the network", times["stance only"] / own)
    figures.note("own solver, one robot, over the network", times["own"] / own)


def survivors(robot: Robot, plan: Any, draws: dict[str, Any], seconds: float) -> np.ndarray:
    """Which of many robots are on their feet at the end: trunk above 0.25 m, tilted < 0.6 rad."""
    steps = round(seconds * RATE)
    commands, motors = quadruped.forward(seconds), robot.model.actuator.controls
    first = motors.index("push_x")

    def one(friction: Any, force: Any, begin: Any) -> Any:
        simulator = quadruped.with_friction(robot.simulator, friction)
        at = jnp.arange(steps)
        on = (at >= begin) & (at < begin + RATE // 10)
        push = jnp.zeros((steps, len(motors))).at[:, first : first + 2].set(on[:, None] * force)
        walk = gs.control.walker(simulator, robot.controller, plan)
        q = walk(robot.start, commands, push).states.q
        R22 = 1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)
        return jnp.all((q[:, 2] > 0.25) & (R22 > UPRIGHT))

    run = jax.jit(jax.vmap(one))
    return np.asarray(run(draws["friction"], draws["force"], draws["begin"]))


def robust(figures: Figures, robot: Robot, policy: Any, quick: bool) -> None:
    """Survival of QP and network, the same pushes on the same floors."""
    count, seconds = (8, 2.5) if quick else (SIDE_BY_SIDE, 5.0)
    rng = np.random.default_rng(figures.seed)
    size, angle = rng.choice(PUSHES, count), rng.uniform(0, 2 * np.pi, count)
    draws = {
        "friction": rng.choice(FLOORS, count),
        "force": size[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1),
        "begin": rng.integers(RATE, 2 * RATE, count),
    }
    for title, plan in (("QP", None), ("network", planner(robot.controller, policy))):
        began = time.perf_counter()
        alive = survivors(robot, plan, draws, seconds)
        figures.note(f"{title}: {count} robots, {seconds:g} s", time.perf_counter() - began, "s")
        figures.note(f"{title}: on their feet, all", 100 * alive.mean(), "%")
        for push in PUSHES:
            if np.any(size == push):
                share = 100 * alive[size == push].mean()
                figures.note(f"{title}: on their feet after {push:.0f} N", share, "%")
        for mu in FLOORS:
            if np.any(draws["friction"] == mu):
                share = 100 * alive[draws["friction"] == mu].mean()
                figures.note(f"{title}: on their feet, friction {mu:g}", share, "%")


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    default = os.environ.get("GRAFTSIM_ASSETS", "../shared/assets")
    parser.add_argument("--assets", default=default, help="folder of the robots' files")
    parser.add_argument("--only", choices=("speed", "walk", "imitate", "robust"), help="one part")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("E10 quadruped", seed=arguments.seed, json_path=arguments.json)
    only, quick = arguments.only, arguments.quick
    robot = Robot(arguments.assets, "laikago")
    if only in (None, "walk"):
        for one in (robot, Robot(arguments.assets, "a1")):
            walk(figures, one, quick)
    times = speed(figures, robot, quick) if only in (None, "speed", "imitate") else {}
    if only in (None, "imitate", "robust"):
        policy = imitate(figures, robot, quick)
        if only != "robust":
            network_walk(figures, robot, policy, quick)
            network_speed(figures, policy, times)
        if only != "imitate":
            robust(figures, robot, policy, quick)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
