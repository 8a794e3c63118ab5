"""`graftsim simulate`."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.cli import setup
from graftsim.cli.options import SimulateOptions
from graftsim.cli.robot import say
from graftsim.cli.start import start
from graftsim.cli.tables import print_recordings, terminal
from graftsim.compilation import cache_compilations
from graftsim.engine import Simulator, Trajectory
from graftsim.errors import ProblemError
from graftsim.identify.problem.windows import Cutting, cut
from graftsim.identify.results.result import Replay
from graftsim.io.logs.read import read_recording
from graftsim.io.logs.write import write_csv
from graftsim.model.model import Model
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import Selector, row_name
from graftsim.sensors.sensors import make_sensors
from graftsim.viewer.files import check_file
from graftsim.viewer.libraries import require


def run(options: SimulateOptions) -> int:
    """Simulate, and write the motion as a log."""
    cache_compilations()
    console, said = terminal(), terminal(stderr=True)
    check_file(options.out)
    if options.view is not None:
        check_file(options.view)
        require("The 3-D replay", "viser")
    simulator, state = start(options, said)
    model, law = simulator.model, simulator.contact
    steps = setup.steps_of(options.seconds, options.dt)
    controls = _controls(model, options, steps)
    say(model, said, held=law is not None)
    trajectory = simulator.rollout(state, controls, record=options.record)
    _finite(trajectory)
    recording = _recording(simulator, trajectory, controls, options.noise, options.seed)
    write_csv(recording, options.out)
    console.print(f"{options.out}: {steps} steps of {options.dt} s", soft_wrap=True)
    print_recordings([recording], console)
    if options.view is not None:
        from graftsim.viewer.replay import replay_html

        time, q = np.asarray(trajectory.time), np.asarray(trajectory.q)
        replay_html(model, [Replay("simulated", time, None, q)], options.view)
        console.print(f"{options.view}: 3-D replay", soft_wrap=True)
    return 0


def _controls(model: Model, options: SimulateOptions, steps: int) -> Float[Array, "t nu"]:
    """Commands of a log from its start, those of the key frame, or none."""
    dtype, path, dt = model.link.mass.dtype, options.controls, options.dt
    if path is None:
        held = model.starts.key(options.key).u if options.key is not None else ()
        return jnp.zeros((steps, model.nu), dtype) + jnp.asarray(held or 0.0, dtype)
    window = cut(
        model,
        make_sensors(model, ()),
        [read_recording(path, robot=model)],
        Cutting(
            dt,
            steps * dt,
            initial=lambda r, t: (np.zeros(model.nq), np.zeros(model.nv)),
            limit=1,
        ),
    )
    return jnp.asarray(window.controls[0], dtype)


def _finite(trajectory: Trajectory) -> None:
    bad = ~np.isfinite(np.asarray(trajectory.q)).all(1)
    if bad.any():
        at = float(trajectory.time[int(np.argmax(bad))])
        raise ProblemError(
            f"The motion leaves the finite numbers at {at:.6g} s. Try a smaller --dt, more "
            "--substeps or --integrator implicit_damping."
        )


def _recording(
    simulator: Simulator,
    trajectory: Trajectory,
    controls: Float[Array, "t nu"],
    noise: float,
    seed: int,
) -> Recording:
    """Joint positions and velocities (with noise), poses of free bodies, controls, variables."""
    model, rng = simulator.model, np.random.default_rng(seed)
    time, tree = np.asarray(trajectory.time), model.tree
    q, qd = np.asarray(trajectory.q), np.asarray(trajectory.qd)
    channels: dict[str, Channel] = {}

    def add(name: str, values: np.ndarray, unit: str) -> None:
        channels[name] = Channel(name, time, values, unit, "simulated")

    def noisy(values: np.ndarray) -> np.ndarray:
        return values + noise * rng.standard_normal(values.shape) if noise > 0 else values

    def held(values: np.ndarray) -> np.ndarray:
        """Values of steps at their starts; the last once more, at the end."""
        return np.concatenate([values, values[-1:]]).reshape(len(time), -1)

    for i, kind in enumerate(tree.joint_types):
        if kind.one_by_one:
            for q_row, v_row in zip(tree.q_index[i], tree.v_index[i], strict=True):
                unit = tree.dof_units[v_row]
                add(row_name("joint.q", tree.dofs[v_row]), noisy(q[:, q_row]), unit)
                add(row_name("joint.qd", tree.dofs[v_row]), noisy(qd[:, v_row]), f"{unit}/s")
        elif kind.is_pose:
            add(row_name("link.pose", tree.links[i]), q[:, tree.q_index[i]], "m, 1")
    if not channels:
        raise ProblemError("This robot has no joint whose motion a log can hold.")
    for i, name in enumerate(model.actuator.names):
        add(row_name("control", name), held(np.asarray(controls)[:, i]), "SI")
    variables = simulator.variables() if trajectory.recorded else {}
    for text, values in trajectory.recorded.items():
        chosen = Selector.parse(text)
        labels = variables[chosen.name][2]
        for k, row in enumerate(chosen.rows(labels)):
            add(
                row_name("signal", f"{chosen.name}:{labels[row]}"),
                held(np.asarray(values)[:, k]),
                "SI",
            )
    return Recording(channels, "simulated")
