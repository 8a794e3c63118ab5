"""`graftsim simulate`."""

from __future__ import annotations

from collections.abc import Sequence

import tyro

from graftsim.cli.options import SimulateOptions, assignments, number


def run(args: Sequence[str]) -> int:
    """Simulate, and write the motion as a log."""
    options = tyro.cli(SimulateOptions, prog="graftsim simulate", args=args)
    import jax.numpy as jnp
    import numpy as np
    from rich.console import Console

    from graftsim.cli import setup
    from graftsim.engine import Simulator
    from graftsim.errors import ProblemError
    from graftsim.identify.sensors import make_sensors
    from graftsim.identify.windows import cut
    from graftsim.io.log_write import write_csv
    from graftsim.io.logs import read_recording
    from graftsim.io.recording import Channel, Recording

    setup.cache_compilations()
    model = setup.load_model(options.robot, options.base, False)
    model = setup.set_values(model, assignments(options.set, "--set"))
    steps = round(options.seconds / options.dt)
    if steps < 1:
        raise ProblemError(
            f"--seconds {options.seconds} is shorter than one step of {options.dt} s."
        )
    simulator = Simulator(
        model,
        options.dt,
        integrator=setup.INTEGRATORS[options.integrator](),
        substeps=options.substeps,
    )
    state = simulator.initial_state(
        {k: number(v, f"--q {k}") for k, v in assignments(options.q, "--q").items()},
        {k: number(v, f"--qd {k}") for k, v in assignments(options.qd, "--qd").items()},
    )
    controls = jnp.zeros((steps, model.nu), state.q.dtype)
    if options.controls is not None:
        log = read_recording(options.controls)
        sensors = make_sensors(model, ())
        window = cut(
            model,
            sensors,
            [log],
            dt=options.dt,
            horizon=options.seconds,
            initial=lambda r, t: (np.zeros(model.nq), np.zeros(model.nv)),
            limit=1,
        )
        controls = jnp.asarray(window.controls[0], state.q.dtype)
    trajectory = simulator.rollout(state, controls, record=options.record)
    noise = np.random.default_rng(options.seed)
    time, tree = np.asarray(trajectory.time), model.tree
    channels: dict[str, Channel] = {}

    def add(name: str, values: np.ndarray, unit: str, noisy: bool = False) -> None:
        if noisy and options.noise > 0:
            values = values + options.noise * noise.standard_normal(values.shape)
        channels[name] = Channel(name, time, values, unit, "simulated")

    q, qd = np.asarray(trajectory.q), np.asarray(trajectory.qd)
    for i, kind in enumerate(tree.joint_types):
        if kind.nq == kind.nv:
            for q_row, v_row in zip(tree.q_index[i], tree.v_index[i], strict=True):
                unit = tree.dof_units[v_row]
                add(f"joint.q[{tree.dofs[v_row]}]", q[:, q_row], unit, True)
                add(f"joint.qd[{tree.dofs[v_row]}]", qd[:, v_row], f"{unit}/s", True)
        elif kind.name == "free":
            add(f"link.pose[{tree.links[i]}]", q[:, tree.q_index[i]], "m, 1")
    held = np.concatenate([np.asarray(controls), np.asarray(controls)[-1:]])
    for i, name in enumerate(model.actuator.names):
        add(f"control[{name}]", held[:, i], "SI")
    for name, values in trajectory.recorded.items():
        full = np.concatenate([values, values[-1:]]).reshape(len(time), -1)
        add(f"signal[{name}]", full, "SI")
    if not channels:
        raise ProblemError("This robot has no joint whose motion a log can hold.")
    write_csv(Recording(channels, "simulated"), options.out)
    console = Console(highlight=False, markup=False)
    console.print(
        f"{options.out}: {steps} steps of {options.dt} s, {', '.join(channels)}", markup=False
    )
    if options.view is not None:
        from graftsim.identify.result import Replay
        from graftsim.viewer.replay import replay_html

        replay_html(model, [Replay("simulated", time, None, q)], options.view)
        console.print(f"{options.view}: 3-D replay", markup=False)
    return 0
