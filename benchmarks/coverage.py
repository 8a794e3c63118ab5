"""Do 95 % intervals hold the truth 95 % of the time? Many simulated experiments of a driven arm.

Each experiment is a fresh noisy log of the same arm; mass, damping, friction and rotor inertia are
fitted and each interval is asked whether it holds the truth. Three worlds: the model is right; a
torque that the model does not know disturbs the joint, slowly wandering (memory of 0.1 s); the
sensor's noise itself wanders (memory of 50 ms). Fits see noise of unknown size.

    python benchmarks/coverage.py [--experiments 200] [--seed 0] [--bootstrap 0] [--worlds right]
"""

import os
import sys
import time
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np

import graftsim as gs
from graftsim.compilation import cache_compilations
from graftsim.targets import Figures

DT, STEPS, NOISE = 0.01, 1000, 2e-3
TRUTH = {"mass": 1.2, "damping": 0.05, "friction": 0.2, "armature": 0.02}
START = {"mass": 0.9, "damping": 0.1, "friction": 0.1, "armature": 0.04}
FREE = ["link.mass[arm]", "joint.damping[*]", "joint.friction[*]", "joint.armature[*]"]
# Of the torque that disturbs, and of noise that wanders: N m, s.
DISTURBANCE, MEMORY, WANDER = 0.05, 0.1, 0.05
# Share of intervals that should hold the truth, from and to.
WORLDS = {"right": (0.92, 0.98), "disturbed": (0.85, 1.0), "wandering noise": (0.85, 1.0)}


def arm(numbers: dict[str, float]) -> gs.Model:
    """A driven arm hinged about x, hanging along -z."""
    b = gs.Builder("arm")
    b.link("arm", axis=(1, 0, 0), com=(0, 0, -0.3), inertia=(0.03, 0.03, 0.002),
           joint_name="hinge", friction_velocity=0.05, **numbers)  # fmt: skip
    b.actuator("motor", "hinge")
    return b.build()


def drive() -> np.ndarray:
    """The torque of every experiment [steps, 1]: three sines."""
    t = DT * np.arange(STEPS)
    waves = [np.sin(2 * np.pi * f * t + 2.1 * f) for f in (0.3, 0.7, 1.1)]
    return np.sum(waves, 0)[:, None]


def wandering(rng: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """Noise of unit size [count] whose correlation falls to 1/e in `memory` s."""
    rho, out = np.exp(-DT / memory), rng.normal(size=count)
    for k in range(1, count):
        out[k] = rho * out[k - 1] + np.sqrt(1 - rho * rho) * out[k]
    return out


def recording(truth: gs.Simulator, world: str, rng: np.random.Generator) -> gs.Recording:
    """One log: angles with noise, and the torque that was commanded."""
    u = drive()
    acting = u + DISTURBANCE * wandering(rng, STEPS, MEMORY)[:, None] * (world == "disturbed")
    q = np.asarray(truth.rollout(truth.initial_state([0.4]), controls=acting).q)[:, 0]
    noise = rng.normal(size=len(q))
    if world == "wandering noise":
        noise = 0.5 * noise + np.sqrt(0.75) * wandering(rng, len(q), WANDER)
    t = DT * np.arange(STEPS + 1)
    channels = [
        gs.Channel("joint.q[hinge]", t, q + NOISE * noise, "rad"),
        gs.Channel("control[motor]", t, np.append(u[:, 0], u[-1, 0]), "N m"),
    ]
    return gs.Recording({c.name: c for c in channels}, name="run")


def experiments(world: str, count: int, seed: int, bootstrap: int) -> dict[str, Any]:
    """Fit so many logs; which intervals held the truth [count, 4], and the verdicts."""
    truth = gs.Simulator(arm(TRUTH), DT)
    inside, errors, verdicts = [], [], []
    for k in range(count):
        problem = gs.Problem(
            gs.Simulator(arm(START), DT),
            recording(truth, world, np.random.default_rng([seed, k])),
            FREE, growth=(1.0,), holdout=0,
        )  # fmt: skip
        options = {"bootstrap": gs.Bootstrap(bootstrap, seed=k)} if bootstrap else {}
        result = gs.fit(problem, **options)
        rows = list(zip(result.parameters, TRUTH.values(), strict=True))
        inside.append([row.low <= true <= row.high for row, true in rows])
        errors.append([(row.value - true) / row.std for row, true in rows])
        verdicts.append(result.lack.verdict)
        assert result.outcome == "converged", result.outcome
    return {"inside": np.array(inside), "errors": np.array(errors), "verdicts": verdicts}


def main() -> int:
    """Print the share of intervals that hold the truth, world by world."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--bootstrap", type=int, default=0, help="replicas; 0: no bootstrap")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    arguments = parser.parse_args()
    cache_compilations()
    figures = Figures("Coverage", seed=arguments.seed, json_path=arguments.json)
    for world in arguments.worlds[: 1 if arguments.quick else None]:
        low, high = WORLDS[world]
        began = time.perf_counter()
        count = 2 if arguments.quick else arguments.experiments
        found = experiments(world, count, arguments.seed, arguments.bootstrap)
        inside, errors = found["inside"], found["errors"]
        seconds = (time.perf_counter() - began) / count
        print(f"\n{world}: {count} experiments, {seconds:.2f} s each")
        for name, column, error in zip(TRUTH, inside.T, errors.T, strict=True):
            print(
                f"  {name:<10} inside {100 * column.mean():5.1f} %   error over stated standard "
                f"deviation: mean {error.mean():+.2f}, spread {error.std():.2f}"
            )
        print(
            "  lack of fit:", {v: found["verdicts"].count(v) for v in ("none", "slight", "clear")}
        )
        figures.at_least(f"{world}: intervals that hold the truth", inside.mean(), low)
        if high < 1:
            figures.at_most(f"{world}: intervals that hold the truth", inside.mean(), high)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
