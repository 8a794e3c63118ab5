"""What the commands print: plain text and tables, for a terminal or a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graftsim.recordings.channels import split_name
from graftsim.selectors import quoted, with_row

if TYPE_CHECKING:
    from graftsim.identify.discover.findings import Discovery
    from graftsim.identify.results.result import Result
    from graftsim.recordings.recording import Channel, Recording

# Of tables that do not go to a terminal: wide enough for names to stay in one piece.
WIDTH = 160
# So many recordings are named, others counted.
NAMED = 4


def terminal(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console that prints names with brackets as they are."""
    console = Console(stderr=stderr, quiet=quiet, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    return console


def table_of(title: str, head: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table of text; headings that start with '>' are of numbers and stand on the right."""
    table = Table(title=title or None, title_justify="left")
    for heading in head:
        right = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(x if isinstance(x, Text) else Text(x) for x in row))
    return table


def significant(value: float, std: float = float("nan")) -> str:
    """A number with the digits that its uncertainty justifies: two digits of the spread."""
    if not math.isfinite(value):
        return "-"
    if not (math.isfinite(std) and std > 0) or value == 0:
        return f"{value:.4g}"
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(std)) + 2
    return f"{value:.{min(max(digits, 2), 8)}g}"


def print_result(result: Result, console: Console) -> None:
    """Parameters, errors, and what to be careful of."""
    rows = []
    for r in result.parameters:
        band = f"{significant(r.low, r.std)} to {significant(r.high, r.std)}"
        shown = band if math.isfinite(r.std) else "-"
        value = significant(r.value, r.std)
        wide = math.isfinite(r.std_with_file)
        ends = (significant(x, r.std_with_file) for x in (r.low_with_file, r.high_with_file))
        doubted = " to ".join(ends) if wide else "-"
        rows.append((r.name, f"{r.start:.4g}", value, shown, doubted, r.unit, r.status))
    head = ("name", ">start", ">value", "95 % interval", "if the file is off", "unit", "status")
    console.print(table_of("Parameters", head, rows))
    _print_errors(result, console)
    _print_grafts(result, console)
    if result.settings.get("search", "none") != "none":
        console.print(f"search: {result.settings['search']}", soft_wrap=True)
    if result.lack is not None and not result.lack.clear:
        console.print(result.lack.text, soft_wrap=True)
    if result.forces is not None and result.forces.text:
        style = "bold yellow" if result.forces.leads else ""
        console.print(result.forces.text, style=style, soft_wrap=True)
    for weak in result.weak:
        console.print(f"weak: {weak.text}", soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", style="yellow", soft_wrap=True)
    console.print(f"{result.outcome}, {len(result.history)} iterations, {result.seconds:.1f} s")


def print_recordings(recordings: Sequence[Recording], console: Console, role: str = "") -> None:
    """What logs hold: a table for those that have the same channels, a row for each quantity."""
    alike: dict[tuple[tuple[str, ...], ...], list[Recording]] = {}
    for recording in recordings:
        kinds = tuple(_kind(channel) for channel in recording.channels.values())
        alike.setdefault(kinds, []).append(recording)
    for kinds, group in alike.items():
        names = ", ".join(r.name for r in group[:NAMED])
        more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
        seconds = sum(r.duration for r in group)
        console.print(f"{role}{names}{more}: {seconds:.4g} s", soft_wrap=True)
        families: dict[tuple[str, ...], dict[str, list[Channel]]] = {}
        for k, (*family, label) in enumerate(kinds):
            same = [list(r.channels.values())[k] for r in group]
            families.setdefault(tuple(family), {})[label] = same
        rows = []
        for (quantity, unit, rate), channels in families.items():
            every = [c for same in channels.values() for c in same]
            low = min(float(c.values.min()) for c in every)
            high = max(float(c.values.max()) for c in every)
            rows.append((quantity, ", ".join(channels), rate, f"{low:.4g} to {high:.4g}", unit))
        console.print(table_of("", ("channel", "of", ">rate", ">range", "unit"), rows))


def _kind(channel: Channel) -> tuple[str, str, str, str]:
    """Quantity, unit and rate, which make a row of the table, and label."""
    parsed = split_name(channel.name)
    rate = f"{1 / channel.interval:.3g} Hz" if len(channel.time) > 1 else "-"
    if parsed is None:
        return channel.name, channel.unit, rate, ""
    return parsed.quantity, channel.unit, rate, quoted(parsed.label)


def print_discovery(found: Discovery, console: Console) -> None:
    """What was found, in words."""
    for sentence in found.sentences():
        console.print(sentence, soft_wrap=True)


def _print_errors(result: Result, console: Console) -> None:
    """Errors before and after; with grafts also what the parameters alone leave."""
    alone = {e.channel: e for e in result.physics}
    rows = []
    for e in result.errors:
        numbers = []
        for which in ("train", "heldout"):
            numbers.append(getattr(e, f"{which}_before"))
            if alone:
                numbers.append(getattr(alone[e.channel], f"{which}_after"))
            numbers.append(getattr(e, f"{which}_after"))
        shown = (f"{x:.3g}" if math.isfinite(x) else "-" for x in numbers)
        rows.append((e.channel, *shown, e.unit))
    stages = (">physics alone", ">with grafts") if alone else (">after",)
    head = ("channel", ">fitted: before", *stages, ">held out: before", *stages, "unit")
    console.print(table_of("Error (RMS)", head, rows))


def _print_grafts(result: Result, console: Console) -> None:
    """What each graft gives, beside the variable it acts on, and its inputs by reach."""
    rows = []
    for g in result.grafts:
        for r, row in enumerate(g.rows):
            for m, output in enumerate(g.outputs):
                given, value = float(g.output_rms[r, m]), float(g.value_rms[r, m])
                size = given if g.mode == "scale" else given / value if value > 0 else math.nan
                order = sorted(range(len(g.columns)), key=lambda k: -g.reach[r, m, k])
                own = [with_row(c, row) for c in g.columns]
                reach = ", ".join(f"{own[k]} {g.reach[r, m, k]:.2g}" for k in order[:3])
                share = f"{100 * size:.3g} %" if math.isfinite(size) else "-"
                name = with_row(output, row)
                unit = g.output_units[m] if g.output_units[m] != "1" else ""
                rows.append((g.label, name, f"{given:.3g}", share, unit, reach))
    if rows:
        head = ("graft", "output", ">RMS", ">of the variable", "unit", "inputs by reach")
        console.print(table_of("Grafts", head, rows))
