"""What the commands print: plain text and tables, for a terminal or a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graftsim.identify.result import Result

# Of tables that do not go to a terminal: wide enough for names to stay in one piece.
WIDTH = 160


def terminal(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console that prints names with brackets as they are."""
    console = Console(stderr=stderr, quiet=quiet, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    return console


def table_of(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of text; headings that start with '>' are of numbers and stand on the right."""
    table = Table(title=title, title_justify="left")
    for heading in head:
        right = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
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
        rows.append((r.name, f"{r.start:.4g}", value, shown, r.unit, r.status))
    head = ("name", ">start", ">value", "95 % interval", "unit", "status")
    console.print(table_of("Parameters", head, rows))
    rows = []
    for e in result.errors:
        numbers = (e.train_before, e.train_after, e.heldout_before, e.heldout_after)
        shown = (f"{x:.3g}" if math.isfinite(x) else "-" for x in numbers)
        rows.append((e.channel, *shown, e.unit))
    head = ("channel", ">fitted: before", ">after", ">held out: before", ">after", "unit")
    console.print(table_of("Error (RMS)", head, rows))
    for weak in result.weak:
        console.print(f"weak: {weak.text}", soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", style="yellow", soft_wrap=True)
    console.print(f"{result.outcome}, {len(result.history)} iterations, {result.seconds:.1f} s")
