"""mujoco.sysid on the servos of `experiments/real_servos.py`: reads logs, writes what it found.

Runs where `mujoco[sysid]` is installed. The same robot file, log and start: damping, friction and
armature of each joint, encoder zero of each servo, one delay for all. Steps of 1 ms, implicitfast;
commands are held from one sample to the next, the delay is MuJoCo's own with linear interpolation
of its history, which begins with the first command; contact is off. Residuals are errors of
positions at the samples of the log, over one whole roll-out from measured states; optimiser
"mujoco" (Gauss-Newton, finite differences) with its defaults. Errors are MuJoCo's own roll-outs.

    PYTHON benchmarks/rivals/servo_sysid.py ROBOT.xml LOGS.npz OUT.json [--iterations N]

LOGS.npz has `joints`, `actuators`, `fitted` (name of a log) and, for each log, `LOG.u`, `LOG.q`,
`LOG.qd` [n, joints] at intervals `dt`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

STEP, LONGEST_DELAY = 1e-3, 0.02
START = {"damping": 0.1, "frictionloss": 0.1, "armature": 0.01}
HIGHEST = {"damping": 10.0, "frictionloss": 10.0, "armature": 1.0}
ZERO = 0.2  # rad, to each side
# Less than a step has no effect in MuJoCo, so a delay that starts there would stay.
DELAY = 4e-3
NOISE = 1e-3  # rad


class Log(NamedTuple):
    """Commands [n, joints] and motion at intervals dt."""

    u: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    dt: float

    @property
    def every(self) -> int:
        """Steps in a sample."""
        return round(self.dt / STEP)

    @property
    def held(self) -> np.ndarray:
        """Commands [steps, joints]."""
        return np.repeat(self.u[:-1], self.every, 0)


def robot(path: Path) -> mujoco.MjSpec:
    """The file with steps, numbers to start from, and actuators that can be late."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for joint in spec.joints:
        joint.damping[0] = START["damping"]
        joint.frictionloss, joint.armature = START["frictionloss"], START["armature"]
    for actuator in spec.actuators:
        actuator.nsample = round(LONGEST_DELAY / STEP) + 2
        actuator.interp = 1
    return spec


def parameters(joints: list[str], actuators: list[str]) -> Any:
    """What is free, as the toolbox has it."""
    from mujoco import sysid

    out = sysid.ParameterDict()

    def add(name: str, value: float, low: float, high: float, modifier: Any) -> None:
        out.add(sysid.Parameter(name, value, low, high, modifier=modifier))

    for quantity, value in START.items():
        for joint in joints:

            def write(spec: Any, p: Any, of: str = joint, what: str = quantity) -> None:
                number = float(p.value[0])
                if what == "damping":
                    spec.joint(of).damping[0] = number
                else:
                    setattr(spec.joint(of), what, number)

            add(f"{quantity}[{joint}]", value, 0.0, HIGHEST[quantity], write)
    for actuator in actuators:

        def shift(spec: Any, p: Any, of: str = actuator) -> None:
            a = spec.actuator(of)
            a.biasprm[0] = a.gainprm[0] * float(p.value[0])

        add(f"zero[{actuator}]", 0.0, -ZERO, ZERO, shift)

    def late(spec: Any, p: Any) -> None:
        for a in spec.actuators:
            a.delay = float(p.value[0])

    add("delay", DELAY, 0.0, LONGEST_DELAY, late)
    return out


def initial(model: mujoco.MjModel, log: Log) -> np.ndarray:
    """The state of the first sample, its command held for long."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = log.q[0], log.qd[0]
    samples = int(model.actuator_history[0, 0])
    times = -STEP * np.arange(samples, 0, -1.0)
    for i in range(model.nu):
        mujoco.mj_initCtrlHistory(model, data, i, times, np.full((samples, 1), log.u[0, i]))
    state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return state


def residual(spec: mujoco.MjSpec, log: Log) -> Any:
    """Their residual function of one log."""
    from mujoco import sysid

    model = spec.compile()
    names = [(f"{model.joint(j).name}_qpos", sysid.SignalType.MjStateQPos) for j in range(model.nq)]
    times = STEP * np.arange(len(log.held) + 1)
    # The last command acts beyond the last sample; they leave it out.
    commands = np.concatenate([log.held, log.held[-1:]])
    grid = log.dt * np.arange(len(log.q))
    between = np.stack([np.interp(times, grid, q) for q in log.q.T], 1)
    sequences = sysid.ModelSequences(
        "log",
        spec,
        ["log"],
        [initial(model, log)],
        [sysid.TimeSeries(times, commands)],
        [sysid.TimeSeries.from_names(times, between, model, names=names)],
        allow_missing_sensors=True,
    )

    def at_samples(
        params: Any, predicted: Any, measured: Any, model: Any, return_all: Any, **extra: Any
    ) -> tuple[np.ndarray, Any, Any]:
        q = extra["state"][log.every - 1 :: log.every, 1 : 1 + model.nq]
        later = sysid.TimeSeries(grid[1:], log.q[1:], measured.signal_mapping)
        found = sysid.TimeSeries(later.times, q, measured.signal_mapping)
        return (later.data - found.data) / NOISE, found, later

    return sysid.build_residual_fn(
        models_sequences=[sequences], resample_true=False, modify_residual=at_samples
    )


def error(model: mujoco.MjModel, log: Log) -> float:
    """RMS (mrad) over a whole roll-out."""
    from mujoco import rollout

    state = initial(model, log)
    states, _ = rollout.rollout(model, mujoco.MjData(model), state, log.held[None])
    q = states[0][log.every - 1 :: log.every, 1 : 1 + model.nq]
    return 1e3 * float(np.sqrt(np.mean((q - log.q[1:]) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("robot", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--iterations", type=int, default=0, help="default: the toolbox's own")
    arguments = parser.parse_args()
    from mujoco import sysid

    if not hasattr(sysid, "optimize"):
        raise SystemExit("mujoco.sysid lacks its packages: pip install 'mujoco[sysid]'")
    file = np.load(arguments.logs)
    names = sorted({key.split(".")[0] for key in file if key.endswith(".u")})
    logs = {n: Log(*(file[f"{n}.{k}"] for k in ("u", "q", "qd")), float(file["dt"])) for n in names}
    spec = robot(arguments.robot)
    free = parameters(list(file["joints"]), list(file["actuators"]))
    more = {"max_iters": arguments.iterations} if arguments.iterations else {}
    began, cpu = time.perf_counter(), time.process_time()
    function = residual(spec, logs[str(file["fitted"])])
    found, result = sysid.optimize(free, function, optimizer="mujoco", verbose=False, **more)
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    model = sysid.apply_param_modifiers(found, spec.copy())
    facts = {
        "settings": f"mujoco {mujoco.__version__}, optimizer mujoco",
        "seconds": seconds,
        "cpu": spent,
        "iterations": len(result.extras.get("objective", ())) if result.extras else 0,
        "numbers": {k: float(found[k].value[0]) for k in found.keys()},  # noqa: SIM118
        "errors": {name: error(model, log) for name, log in logs.items()},
    }
    arguments.out.write_text(json.dumps(facts, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
