"""`graftsim fit --method inverse`: the regression of joint forces, printed and written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from graftsim.cli.fit_options import ONE_STEP, FitOptions
from graftsim.cli.inputs import Inputs
from graftsim.cli.options import assignments, number
from graftsim.cli.tables import significant, table_of, terminal
from graftsim.errors import GraftsimError, ProblemError
from graftsim.identify.inverse.cutoff import Cutoff
from graftsim.identify.inverse.forces.joint_terms import SpringTerm
from graftsim.identify.inverse.forces.term import ForceTerm
from graftsim.identify.inverse.forces.terms import FORCE_TERMS
from graftsim.identify.inverse.gains import GAINS_OF_FILE
from graftsim.identify.inverse.inverse_fit import inverse_fit
from graftsim.identify.inverse.result import InverseFit
from graftsim.io.write import write_mjcf
from graftsim.viewer.files import write_atomically

# A value of --method, and the files that are written.
NAME, NUMBERS, ROBOT = "inverse", "inverse.json", "robot.xml"
# Terms that --terms chooses from, and those that are always there.
ALL_TERMS, ALWAYS = (*FORCE_TERMS, SpringTerm()), ("link", "motor")
# Letters of a base parameter's name in the table; the file has the whole of it.
LONGEST = 90


def run(options: FitOptions, read: Inputs, console: Console) -> InverseFit:
    """Fit, print and write; the recordings held out are those of a fit by simulation.

    Raises ProblemError: options that this method has not, and as `gs.inverse_fit`.
    """
    if options.solver.loss == ONE_STEP:
        raise ProblemError("--loss one_step compares simulated steps; there are none in inverse.")
    if options.free and options.method == NAME:
        raise ProblemError(
            "--free goes with simulated windows: inverse dynamics fits all inertias, friction and "
            "rotors at once. --method both fits by it first, and then what is free."
        )
    chosen = options.inverse
    found = inverse_fit(
        read.simulator,
        read.recordings,
        terms=[t for t in ALL_TERMS if _flag(t) in (*chosen.terms, *ALWAYS)],
        cutoff=Cutoff(chosen.cutoff),
        loss=options.solver.loss,
        holdout=read.options["holdout"],
        gains=_gains(chosen.gains),
    )
    if not options.json:
        print_inverse(found, terminal(quiet=options.quiet))
    elif options.method == NAME:
        print(json.dumps(found.as_json()))
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / NUMBERS, json.dumps(found.as_json(), indent=2) + "\n")
    console.print(f"numbers: {folder / NUMBERS}", soft_wrap=True)
    if options.method == NAME:
        _write_robot(found, folder / ROBOT, console)
    return found


def _flag(term: ForceTerm) -> str:
    """A term as it is called on the command line: `joint.stiffness` is of a spring."""
    return {"stiffness": "spring"}.get(kind := term.name.rpartition(".")[2], kind)


def _gains(items: Sequence[str]) -> dict[str, float] | str | None:
    """Gains by joint, the word for those of the file, or none."""
    if tuple(items) == (GAINS_OF_FILE,):
        return GAINS_OF_FILE
    given = assignments(items, "--gains")
    return {k: number(v, f"--gains {k}") for k, v in given.items()} or None


def _write_robot(found: InverseFit, path: Path, console: Console) -> None:
    try:
        lost = write_mjcf(found.model, path)
    except (GraftsimError, OSError) as error:
        console.print(f"warning: the robot could not be written: {error}", style="yellow")
        return
    for sentence in lost:
        console.print(f"note: not in {path.name}: {sentence}", soft_wrap=True)
    console.print(f"robot: {path}", soft_wrap=True)


def print_inverse(found: InverseFit, console: Console) -> None:
    """Base parameters, numbers of the model, errors of joint forces, and what they say."""
    rows = []
    for r in found.base:
        name = r.name if len(r.name) <= LONGEST else f"{r.name[:LONGEST]}..."
        band = f"{significant(r.low, r.std)} to {significant(r.high, r.std)}"
        value = significant(r.value, r.std)
        model = significant(r.consistent, r.std)
        rows.append((name, f"{r.start:.4g}", value, band, model, r.unit, r.status))
    head = ("combination", ">file", ">value", "95 % interval", ">of the model", "unit", "status")
    console.print(table_of("What the forces tell", head, rows))
    errors = []
    for e in found.errors:
        numbers = (e.size, e.train_before, e.train_after, e.heldout_before, e.heldout_after)
        errors.append(
            (e.channel, *(f"{x:.3g}" if math.isfinite(x) else "-" for x in numbers), e.unit)
        )
    head = (
        "channel",
        ">size",
        ">fitted: file",
        ">model",
        ">held out: file",
        ">model",
        "unit",
    )
    console.print(table_of("Force that is not explained (RMS)", head, errors))
    for sentence in (found.filtering.text, found.verdict, *found.notes):
        console.print(sentence, soft_wrap=True)
    console.print(f"{found.samples} samples, {found.seconds:.1f} s")
