"""Steps per second of environments: Gymnasium's swimmer and ant, with its MuJoCo and with graftsim.

Both read Gymnasium's own files, steps of 0.01 s, 4 or 5 to an action, and are given the same random
actions. The swimmer is the same mechanism to the last digits, integrator (Runge-Kutta 4) included,
which is checked first. The ant touches the ground: here rigid contact and implicit damping once a
step, there soft contact within Runge-Kutta 4; graftsim's ant does not observe contact forces.

MuJoCo runs in `SyncVectorEnv`, as Gymnasium makes it; graftsim in the lanes of one kernel. Both
are timed in turns in one process; seconds of the processor, so that other work on the machine
counts little. Threads are one unless --threads says otherwise.

    python benchmarks/environments.py [--lanes 256] [--threads 1] [--json FILE]
"""

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import kernels
from graftsim.envs import SimulatorVectorEnv, Task
from graftsim.targets import Figures

DT = 0.01


class Case(NamedTuple):
    """Name, Gymnasium's name, the task, and actions that a lane is timed with."""

    name: str
    rival: str
    task: Task
    steps: int


def asset(name: str) -> Path:
    """A robot file of Gymnasium's."""
    import gymnasium

    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"


def swimmer() -> Task:
    """As Swimmer-v5: forward speed less a little for effort."""
    simulator = gs.Simulator(gs.load(asset("swimmer")), DT, integrator=gs.RungeKutta4())

    def reward(motion: gs.Trajectory, u: Any) -> Any:
        return (motion.q[-1, 0] - motion.q[0, 0]) / (4 * DT) - 1e-4 * jnp.sum(u**2)

    def start(key: Any) -> gs.State:
        q, qd = jax.random.uniform(key, (2, 5), minval=-0.1, maxval=0.1)
        return simulator.initial_state(q, qd)

    return Task(simulator, reward, start=start, repeat=4, limit=1000,
                observe=lambda s: jnp.concatenate([s.q[2:], s.qd]))  # fmt: skip


def ant() -> Task:
    """As Ant-v5 without its forces of contact: alive, forward, little effort."""
    model = gs.load(asset("ant"))
    # Two contacts for each foot, and no search for the time of an impact, which gradients need.
    law = gs.contact.Complementarity(max_contacts=8, max_impacts=0)
    simulator = gs.Simulator(model, DT, integrator=gs.ImplicitDamping(), contact=law)
    drawn = simulator.initial_state()

    def reward(motion: gs.Trajectory, u: Any) -> Any:
        return 1 + (motion.q[-1, 0] - motion.q[0, 0]) / (5 * DT) - 0.5 * jnp.sum(u**2)

    def start(key: Any) -> gs.State:
        noise = 0.1 * jax.random.uniform(key, (model.nv,), minval=-1)
        q = drawn.q.at[7:].add(noise[6:])
        return simulator.initial_state(q, 0.1 * noise)

    def over(state: gs.State) -> Any:
        return (state.q[2] < 0.2) | (state.q[2] > 1.0)

    return Task(simulator, reward, over, start, repeat=5, limit=1000,
                observe=lambda s: jnp.concatenate([s.q[2:], s.qd]))  # fmt: skip


def agreement(task: Task) -> float:
    """Largest difference of the swimmer's state after 50 actions, over the state's size.

    Small ones: where a joint hits its limit MuJoCo's is soft, and the two are not the same there.
    """
    import gymnasium

    options = {"exclude_current_positions_from_observation": False}
    theirs = gymnasium.make("Swimmer-v5", **options).unwrapped
    seen, _ = theirs.reset(seed=0)
    state = task.simulator.initial_state(seen[:5], seen[5:])
    u = np.random.default_rng(0).uniform(-0.1, 0.1, (50, 2))
    motion = task.simulator.rollout(state, jnp.asarray(np.repeat(u, task.repeat, 0)))
    for now in u:
        seen, *_ = theirs.step(now)
    mine = np.concatenate([motion.q[-1], motion.qd[-1]])
    return float(np.abs(mine - seen).max() / np.abs(seen).max())


def timed(env: Any, lanes: int, steps: int) -> Callable[[], tuple[float, float]]:
    """A function that takes steps and returns steps a second: of the processor, of the clock."""
    low, high = env.single_action_space.low, env.single_action_space.high
    actions = np.random.default_rng(0).uniform(low, high, (steps, lanes, low.shape[0]))
    env.reset(seed=0)

    def run() -> tuple[float, float]:
        began, clock = time.process_time(), time.perf_counter()
        for u in actions:
            env.step(u)
        cost = time.process_time() - began, time.perf_counter() - clock
        return lanes * steps / cost[0], lanes * steps / cost[1]

    run()
    return run


def compare(figures: Figures, case: Case, lanes: int, rounds: int) -> None:
    """One environment and many, beside MuJoCo's."""
    import gymnasium

    for n in (1, lanes):
        mine = SimulatorVectorEnv(case.task, n)
        theirs = gymnasium.make_vec(case.rival, num_envs=n, vectorization_mode="sync")
        few = max(case.steps // n, 3)
        runs = [timed(mine, n, max(few, 20)), timed(theirs, n, few)]
        best = np.array([[run() for run in runs] for _ in range(rounds)]).max(0)
        theirs.close()
        name = f"{case.name}, {n} side by side" if n > 1 else f"{case.name}, alone"
        for who, (processor, clock) in zip(("graftsim", "MuJoCo"), best, strict=True):
            figures.note(f"{name}: {who}, processor", processor, "steps/s")
            figures.note(f"{name}: {who}, clock", clock, "steps/s")
        ratio = best[0, 0] / best[1, 0]
        if n > 1:
            figures.at_least(f"{name}: graftsim over MuJoCo", ratio, 3.0)
        else:
            figures.note(f"{name}: graftsim over MuJoCo", ratio)


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--lanes", type=int, default=256, help="environments side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of the kernels")
    parser.add_argument("--only", choices=("swimmer", "ant"), help="one robot alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    figures = Figures("Environments", seed=arguments.seed, json_path=arguments.json)
    quick = arguments.quick
    lanes, rounds = (8, 1) if quick else (arguments.lanes, 5)
    with kernels.threads(arguments.threads):
        for name, make, rival in (
            ("swimmer", swimmer, "Swimmer-v5"), ("ant", ant, "Ant-v5")
        ):  # fmt: skip
            if arguments.only not in (None, name):
                continue
            task = make()
            if name == "swimmer":
                figures.at_most("swimmer: difference after 50 actions", agreement(task), 1e-9)
            compare(figures, Case(name, rival, task, 40 if quick else 2000), lanes, rounds)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
