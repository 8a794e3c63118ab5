"""A simulator and the state it starts from: what `simulate` and `view` have in common."""

from __future__ import annotations

from rich.console import Console

from graftsim.cli import setup
from graftsim.cli.options import SimulateOptions, assignments, number
from graftsim.cli.robot import load_model
from graftsim.cli.view_options import ViewOptions
from graftsim.contact import ContactLaw, overlaps
from graftsim.engine import Simulator
from graftsim.errors import ProblemError
from graftsim.model.state import State
from graftsim.strategies import INTEGRATORS, find


def start(options: SimulateOptions | ViewOptions, said: Console) -> tuple[Simulator, State]:
    """Read the robot, choose laws, put it where the options say; notes go to `said`.

    Raises ProblemError: what cannot be simulated or recorded; and what reading a file raises.
    """
    values = assignments(options.set, "--set")
    model = load_model(
        options.robot, options.base, options.repair_inertia, options.touch, values, options.file
    )
    model = setup.set_values(model, values)
    if not options.dt > 0:
        raise ProblemError(f"--dt must be positive, got {options.dt} s.")
    integrator = find(INTEGRATORS[options.integrator])()
    substeps = options.substeps or setup.default_substeps(options.dt, options.integrator)
    law = setup.contact_law(options.touch.contact, model, options.integrator, said)
    if law is None and (unknown := [x for x in options.record if x.startswith("contact.")]):
        raise ProblemError(
            f"--record {unknown[0]}: there is no contact. Choose a law, --contact complementarity, "
            "and have shapes that may touch (graftsim inspect lists their pairs)."
        )
    simulator = Simulator(model, options.dt, integrator=integrator, substeps=substeps, contact=law)
    q, qd = _numbers(options.q, "--q"), _numbers(options.qd, "--qd")
    # Joints on loops that were given stay, the others are found.
    keep = [x for x in q if x in model.tree.dofs]
    state = simulator.assemble(simulator.initial_state(q, qd, key=options.key), keep)
    if law is not None and (inside := overlaps(model, state.q)):
        said.print(_starts_inside(inside, law), soft_wrap=True)
    return simulator, state


def _starts_inside(inside: dict[str, float], law: ContactLaw) -> str:
    name, depth = next(iter(inside.items()))
    others = f" (and {len(inside) - 1} more contacts)" if len(inside) > 1 else ""
    return f"The motion starts {1e3 * depth:.3g} mm inside: {name}{others}; {law.inside}."


def _numbers(items: tuple[str, ...], flag: str) -> dict[str, float]:
    return {k: number(v, f"{flag} {k}") for k, v in assignments(items, flag).items()}
