"""iLQR beside Crocoddyl's DDP on the same problems, and the linearisation of a motion of an A1.

    python benchmarks/ilqr.py [--json FILE] [--only pendulum|arm|box|a1]

A double pendulum (4 states) swings up and an arm of 12 joints (24 states) reaches a pose, in 100
steps of 20 ms, from rest and zero commands: Crocoddyl runs Pinocchio's model of the same URDF with
the same integrator and cost. Milliseconds of CPU time of one thread, the least of many solves.
Cold: from zero commands. Warm: from the solution, the start 0.05 rad off. Both make as many
iterations as ILQR needed to converge there; costs at the end stand beside each other.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import control, kernels
from graftsim.targets import Figures

T, DT = 100, 0.02
# Weights of the running cost (q, qd, u) and of the last state (q, qd).
RUNNING, TERMINAL = (1e-2, 1e-3, 1e-3), (100.0, 10.0)
OFF = 0.05


@dataclass(frozen=True)
class Case:
    """A machine, where it goes, and how often it is timed."""

    name: str
    links: int
    goal: tuple[float, ...]
    tries: int

    def simulator(self) -> gs.Simulator:
        """Rods of 1 / links metres in a row; axes in turns about y and x for many."""
        b, parent, length = gs.Builder(f"chain{self.links}"), "world", 1.0 / self.links
        for i in range(self.links):
            axis = (0, 1, 0) if i % 2 == 0 or self.links < 3 else (1, 0, 0)
            b.link(
                f"rod{i}", parent, joint_name=f"j{i}", axis=axis,
                origin=(0, 0, -length if i else 0), mass=2.0 / self.links,
                com=(0, 0, -length / 2), inertia=0.02 / self.links, lower=-99.0, upper=99.0,
            )  # fmt: skip
            b.actuator(f"m{i}", f"j{i}")
            parent = f"rod{i}"
        return gs.Simulator(b.build(), DT)

    def cost(self) -> control.LeastSquares:
        """Distances from the goal at rest, each step's times the step."""
        goal = jnp.asarray(self.goal)
        a, b, c = (jnp.sqrt(DT * w) for w in RUNNING)
        p, v = (jnp.sqrt(w) for w in TERMINAL)

        def running(x: gs.State, u: Any) -> Any:
            return jnp.concatenate([a * (x.q - goal), b * x.qd, c * u])

        def terminal(x: gs.State) -> Any:
            return jnp.concatenate([p * (x.q - goal), v * x.qd])

        return control.LeastSquares(running, terminal)


CASES = (
    Case("double pendulum", 2, (np.pi, 0.0), 60),
    Case("arm of 12 joints", 12, tuple(0.3 * (-1.0) ** i for i in range(12)), 10),
)


def shooting_problem(simulator: gs.Simulator, goal: np.ndarray) -> Any:
    """Crocoddyl's, of the URDF that ours is written to."""
    import crocoddyl
    import pinocchio as pin

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.urdf"
        gs.write_urdf(simulator.model, path, lossy=True)
        model = pin.buildModelFromUrdf(str(path))
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    n, target = model.nv, np.concatenate([goal, np.zeros(model.nv)])

    def stage(weights: tuple[float, ...]) -> Any:
        costs = crocoddyl.CostModelSum(state, n)
        both = np.concatenate([np.full(n, weights[0]), np.full(n, weights[1])])
        costs.addCost("x", crocoddyl.CostModelResidual(
            state, crocoddyl.ActivationModelWeightedQuad(both),
            crocoddyl.ResidualModelState(state, target, n)), 1.0)  # fmt: skip
        if len(weights) > 2:
            costs.addCost("u", crocoddyl.CostModelResidual(
                state, crocoddyl.ResidualModelControl(state, n)), weights[2])  # fmt: skip
        found = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        # Without an armature, Crocoddyl 3.2.1 beside Pinocchio 4.1 has other accelerations than
        # `pinocchio.aba`; with one, be it zero, the same.
        found.armature = np.zeros(n)
        return found

    running = crocoddyl.IntegratedActionModelEuler(stage(RUNNING), DT)
    terminal = crocoddyl.IntegratedActionModelEuler(stage(TERMINAL), 0.0)
    problem = crocoddyl.ShootingProblem(np.zeros(2 * n), [running] * T, terminal)
    problem.nthreads = 1
    return problem


def least(f: Callable[[], Any], tries: int) -> tuple[float, Any]:
    """Milliseconds of CPU of the quickest call, and what the last one returned."""
    times, found = [], None
    for _ in range(tries):
        began = time.process_time()
        found = f()
        times.append(time.process_time() - began)
    return 1e3 * min(times), found


def ours(case: Case) -> dict[str, tuple[float, int, float]]:
    """Milliseconds of a solve, its iterations and its cost; cold and warm."""
    simulator, cost = case.simulator(), case.cost()
    state = simulator.initial_state()
    moved = simulator.initial_state(q=np.full(case.links, OFF))
    began = time.process_time()
    plan = control.ilqr(simulator, state, cost, T)
    first = 1e3 * (time.process_time() - began)
    found = {"first": (first, plan.iterations, plan.cost)}
    for name, f in (
        ("cold", lambda: control.ilqr(simulator, state, cost, T)),
        ("warm", lambda: control.ilqr(simulator, moved, cost, T, warm=plan)),
    ):
        f()
        ms, own = least(f, case.tries)
        found[name] = (ms, own.iterations, own.cost)
    return found


def theirs(case: Case, iterations: dict[str, int]) -> dict[str, tuple[float, int, float]]:
    """The same of Crocoddyl, with as many iterations."""
    import crocoddyl

    problem = shooting_problem(case.simulator(), np.array(case.goal))
    n = case.links
    rest, moved = np.zeros(2 * n), np.concatenate([np.full(n, OFF), np.zeros(n)])
    solver = crocoddyl.SolverDDP(problem)
    solver.th_stop = 1e-300

    def solve(start: np.ndarray, us: list[np.ndarray], most: int) -> Any:
        problem.x0 = start
        xs = problem.rollout(us)
        solver.solve(xs, us, most, True, 1e-9)
        return solver.iter, solver.cost

    zero = [np.zeros(n)] * T
    found = {}
    for name, start in (("cold", rest), ("warm", moved)):
        if name == "warm":
            solve(rest, zero, iterations["cold"])
        us = zero if name == "cold" else [u.copy() for u in solver.us]
        ms, (count, cost) = least(
            lambda start=start, us=us, most=iterations[name]: solve(start, us, most), case.tries
        )
        found[name] = (ms, max(count, 1), cost)
    return found


def beside(case: Case, figures: Figures) -> None:
    """Both solvers on one problem."""
    mine = ours(case)
    other = theirs(case, {k: v[1] for k, v in mine.items()})
    figures.note(f"{case.name}: first call, with compilation", mine["first"][0], "ms")
    for name in ("cold", "warm"):
        (ms, count, cost), (their_ms, their_count, their_cost) = mine[name], other[name]
        figures.note(f"{case.name}, {name}: iterations", count)
        figures.note(f"{case.name}, {name}: cost", cost)
        figures.note(f"{case.name}, {name}: Crocoddyl's cost after {their_count}", their_cost)
        figures.note(f"{case.name}, {name}: an iteration", ms / count, "ms")
        figures.note(f"{case.name}, {name}: Crocoddyl's", their_ms / their_count, "ms")
        times = (ms / count) / (their_ms / their_count)
        if case.links == 2:
            figures.at_most(f"{case.name}, {name}: times Crocoddyl's", times, 1.0)
        else:
            figures.note(f"{case.name}, {name}: times Crocoddyl's", times)


def a1_linearised(figures: Figures, assets: Path, steps: int) -> None:
    """All steps of an A1 that stands on its four feet, impulses between them and the floor."""
    from contact import a1

    model, pose = a1(assets)
    simulator = gs.Simulator(model, 0.002, contact=gs.contact.Complementarity())
    u = jnp.zeros((steps, simulator.model.nu))
    motion = simulator.rollout(simulator.initial_state(pose), u)
    jax.block_until_ready(control.linearise(simulator, motion.states, u))
    ms, found = least(
        lambda: jax.block_until_ready(control.linearise(simulator, motion.states, u)), 30
    )
    figures.at_most(f"A1 in contact: linearisation of {steps} steps", ms, 20.0, "ms")
    figures.note("A1 in contact: all of it finite", float(jnp.isfinite(found.A).all()))


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--only", choices=("pendulum", "arm", "box", "a1"))
    arguments = parser.parse_args()
    figures = Figures("iLQR", seed=arguments.seed, json_path=arguments.json)
    with kernels.threads(1):
        for key, case in zip(("pendulum", "arm"), CASES, strict=True):
            if arguments.only in (None, key) and not (arguments.quick and key == "arm"):
                beside(case, figures)
        if arguments.only in (None, "box") and not arguments.quick:
            from ilqr_pushing import pushed_box

            pushed_box(figures)
        if arguments.only in (None, "a1") and not arguments.quick:
            from scenes import assets_folder

            a1_linearised(figures, assets_folder(), 500)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
