"""Results as tables for a terminal."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graftsim.identify.result import Result


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
    table = Table(title="Parameters", title_justify="left")
    for name, side in (("name", "left"), ("start", "right"), ("value", "right")):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for name in ("95 % interval", "unit", "status"):
        table.add_column(name)
    for r in result.parameters:
        band = f"{significant(r.low, r.std)} to {significant(r.high, r.std)}"
        shown = band if math.isfinite(r.std) else "-"
        row = (r.name, f"{r.start:.4g}", significant(r.value, r.std), shown, r.unit, r.status)
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    table = Table(title="Error (RMS)", title_justify="left")
    table.add_column("channel")
    for name in ("fitted: before", "after", "held out: before", "after"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    for e in result.errors:
        numbers = (e.train_before, e.train_after, e.heldout_before, e.heldout_after)
        shown = (f"{x:.3g}" if math.isfinite(x) else "-" for x in numbers)
        table.add_row(Text(e.channel), *shown, e.unit)
    console.print(table)
    for weak in result.weak:
        console.print(Text(f"weak: {weak.text}"))
    for warning in result.warnings:
        console.print(Text(f"note: {warning}", style="yellow"))
    console.print(f"{result.outcome}, {len(result.history)} iterations, {result.seconds:.1f} s")
