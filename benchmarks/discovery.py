"""Is a planted effect found, and nothing where there is nothing? 20 random arms, noise on.

Each case draws an arm of 2 to 4 joints, an effect (viscous, Coulomb, Stribeck, spring, quadratic
drag, coupling to another joint, or none) with its place and size, and 3 logs of 8 s under a joint
controller: angles with 1 mrad of noise, and the torques sent. The simulator knows the arm and lacks
the effect. A case is right when the variables and inputs found are those planted, no more, no less.

    python benchmarks/discovery.py [--cases 20] [--seed 0] [--json FILE]
"""

import os
import sys
import time
import warnings
from typing import Any, NamedTuple

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

DT, SECONDS, NOISE = 0.005, 8.0, 1e-3
LOGS = 3
KINDS = ("viscous", "coulomb", "stribeck", "spring", "drag", "coupling", "none")


class Effect(NamedTuple):
    """A planted effect: its kind, the joint it acts on, the input it depends on, and its size."""

    kind: str
    joint: int
    source: str
    size: float


class Arm(NamedTuple):
    """Numbers of a random arm, by joint."""

    axis: np.ndarray
    length: np.ndarray
    mass: np.ndarray
    kp: np.ndarray
    kd: np.ndarray


def draw_arm(rng: np.random.Generator) -> Arm:
    """An arm of 2 to 4 joints about random horizontal or vertical axes, lighter outwards."""
    n = int(rng.integers(2, 5))
    axis = np.eye(3)[rng.integers(0, 3, n)]
    axis[0] = (0, 1, 0)
    length = rng.uniform(0.25, 0.5, n)
    mass = rng.uniform(0.6, 1.6, n) * 0.8 ** np.arange(n)
    load = np.array([np.sum(mass[i:]) * np.sum(length[i:]) for i in range(n)])
    return Arm(axis, length, mass, 25 * load, 2.0 * load)


def build(arm: Arm, **numbers: Any) -> Any:
    """The model, hanging along -z."""
    b, parent = gs.Builder("arm"), "world"
    for i in range(len(arm.length)):
        m, l = arm.mass[i], arm.length[i]
        b.link(
            f"l{i}",
            parent,
            joint_name=f"j{i}",
            axis=tuple(arm.axis[i]),
            origin=(0, 0, -arm.length[i - 1] if i else 0),
            mass=m,
            com=(0.02, 0.01, -0.5 * l),
            inertia=(m * l * l / 12, m * l * l / 12, m * 0.03**2),
            armature=0.01,
            **{k: v[i] for k, v in numbers.items()},
        )
        parent = f"l{i}"
    for i in range(len(arm.length)):
        b.actuator(f"j{i}", f"j{i}")
    return b.build()


def draw_effect(rng: np.random.Generator, arm: Arm, kind: str) -> Effect:
    """Place, input and size: a few per cent to a third of the torque that the joint carries."""
    n = len(arm.length)
    joint = int(rng.integers(0, n))
    other = int(rng.choice([k for k in range(n) if k != joint]))
    weight = 9.81 * sum(arm.mass[joint:]) * 0.5 * arm.length[joint]
    share = rng.uniform(0.06, 0.3)
    source = {
        "spring": f"joint.q[j{joint}]",
        "coupling": rng.choice([f"joint.qd[j{other}]", f"joint.q[j{other}]"]),
        "none": "",
    }.get(kind, f"joint.qd[j{joint}]")
    # In units of the speeds and angles that the logs reach, 1 to 2 rad/s and about 0.5 rad.
    per = {"viscous": 0.7, "drag": 0.4, "spring": 1.5, "coupling": 1.0}.get(kind, 1.0)
    return Effect(kind, joint, str(source), float(share * weight * per))


def truth(arm: Arm, e: Effect, rng: np.random.Generator) -> tuple[Any, Any]:
    """The model with the effect, or a law on its passive joint forces."""
    n = len(arm.length)
    at = np.eye(n)[e.joint] * e.size
    if e.kind == "viscous":
        return build(arm, damping=at), None
    if e.kind == "spring":
        return build(arm, stiffness=at), None
    if e.kind in ("coulomb", "stribeck"):
        dry = {"friction": at, "friction_velocity": np.full(n, rng.uniform(0.01, 0.04))}
        if e.kind == "stribeck":
            dry |= {"stribeck": 0.6 * at, "stribeck_velocity": np.full(n, rng.uniform(0.1, 0.3))}
        return build(arm, **dry), None
    if e.kind == "none":
        return build(arm), None

    def force(tau: Any, scope: Any) -> Any:
        name, row = e.source.split("[")
        x = scope[name][int(row[1:-1])]
        y = -e.size * (x * jnp.abs(x) if e.kind == "drag" else x)
        return tau.at[e.joint].add(y)

    return build(arm), {"joint.tau_passive": force}


def record(arm: Arm, e: Effect, rng: np.random.Generator) -> list[gs.Recording]:
    """Logs: a joint controller follows sums of sines."""
    from graftsim.engine.rollout import scan_steps

    model, law = truth(arm, e, rng)
    simulator = gs.Simulator(model, DT, integrator=gs.RungeKutta4(), substeps=4)
    n, steps = len(arm.length), round(SECONDS / DT)
    time_ = DT * np.arange(steps)

    @jax.jit
    def run(state: Any, wanted: Any) -> Any:
        def body(s: Any, r: Any) -> Any:
            u = arm.kp * (r - s.q) - arm.kd * s.qd
            after = scan_steps(simulator, s, u[None], (), law).states
            return jax.tree.map(lambda x: x[-1], after), (s.q, u)

        return jax.lax.scan(body, state, wanted)[1]

    logs = []
    for k in range(LOGS):
        wanted = np.zeros((steps, n))
        for _ in range(3):
            size, speed, phase = (
                rng.uniform(0.1, 0.5, n),
                rng.uniform(0.2, 1.5, n),
                rng.uniform(0, 6, n),
            )
            wanted += size * np.sin(2 * np.pi * speed * time_[:, None] + phase)
        q, u = map(np.asarray, run(simulator.initial_state(q=wanted[0]), jnp.asarray(wanted)))
        q = q + NOISE * rng.standard_normal(q.shape)
        columns = {f"joint.q[j{i}]": q[:, i] for i in range(n)}
        columns |= {f"control[j{i}]": u[:, i] for i in range(n)}
        logs.append(gs.recording_from_arrays(columns, name=f"log {k}", time=DT))
    return logs


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    figures = Figures("Discovery of planted effects", seed=arguments.seed, json_path=arguments.json)
    right = false = nothing = 0
    seconds = []
    for case in range(arguments.first, arguments.first + arguments.cases):
        rng = np.random.default_rng([arguments.seed, case])
        arm = draw_arm(rng)
        effect = draw_effect(rng, arm, KINDS[case % len(KINDS)])
        logs = record(arm, effect, rng)
        simulator = gs.Simulator(build(arm), DT, integrator=gs.RungeKutta4())
        began = time.perf_counter()
        found = gs.discover(simulator, logs[:2], holdout=logs[2:], horizon=0.5)
        seconds.append(time.perf_counter() - began)
        pairs = {(f.target, i) for f in found.findings for i in f.inputs}
        wanted = set()
        if effect.kind != "none":
            wanted = {(f"joint.tau_passive[j{effect.joint}]", effect.source)}
        else:
            nothing += 1
            false += bool(pairs)
        right += pairs == wanted
        mark = "right" if pairs == wanted else f"WRONG, planted {sorted(wanted)}"
        print(
            f"{case:2d} {len(arm.length)} joints, {effect.kind:8s} size {effect.size:.3g}: {mark}"
            f" ({seconds[-1]:.0f} s)",
            flush=True,
        )
        for line in found.sentences():
            print(f"     {line}", flush=True)
    share = 18 / 20 * arguments.cases
    figures.at_least(f"right variable and inputs, of {arguments.cases}", right, share)
    figures.at_most(f"false findings, of {nothing} cases with nothing", false, 0)
    figures.note("time a case, median", float(np.median(seconds)), "s")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
