"""`graftsim export`."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console

from graftsim.cli import inputs
from graftsim.cli.export_options import FORMATS, ExportOptions
from graftsim.cli.fit_options import parse_fit
from graftsim.cli.tables import terminal
from graftsim.compilation import cache_compilations
from graftsim.errors import FileError, GraftsimError, ProblemError
from graftsim.export.export import export
from graftsim.export.fitted import Fitted
from graftsim.export.format import Logs
from graftsim.viewer.files import check_file, check_folder


def run(options: ExportOptions) -> int:
    """Write it, and say what was measured and what could not be said."""
    cache_compilations()
    form, console = FORMATS[options.form], terminal()
    out = Path(options.out) if options.out else Path(options.fit) / form.target
    (check_folder if form.folder else check_file)(out)
    logs = _logs(options.fit, terminal(stderr=True)) if form.reads_logs else Logs()
    done = export(
        options.fit, form, out, dt=options.dt, recordings=logs.fitted, heldout=logs.heldout
    )
    for sentence in done.notes:
        console.print(sentence, soft_wrap=True)
    console.print(f"{form.name}: {done.path}", soft_wrap=True)
    return 0


def _logs(folder: str, console: Console) -> Logs:
    """The recordings of a fit, read by its own command."""
    command = shlex.split(Fitted.read(folder).command)
    if command[:2] != ["graftsim", "fit"]:
        raise ProblemError(
            f"{folder}: was fitted from Python, so its recordings are not known here: "
            "graftsim.export(result, ..., recordings=[...])."
        )
    fitted, tables = parse_fit(command[2:])
    try:
        with inputs.shown_warnings(console):
            read = inputs.read(fitted, tables, console, checked=True)
    except (GraftsimError, OSError) as error:
        raise FileError(
            f"The recordings of this fit cannot be read again: {error}\nRun graftsim export where "
            "graftsim fit was run."
        ) from error
    return Logs(read.recordings, read.heldout)
