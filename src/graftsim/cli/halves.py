"""--halves: the fit to two halves of the data, as a table and in the warnings."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from graftsim.cli.tables import significant, table_of
from graftsim.identify import Problem, Result, words
from graftsim.identify.evidence.bootstrap import FEW_BLOCKS
from graftsim.identify.evidence.certainty import FAILURES
from graftsim.identify.fit.halves import HalfRow, halves, split


def with_halves(problem: Problem, result: Result, console: Console) -> Result:
    """The result with a warning for each parameter on which the halves disagree."""
    try:
        rows = halves(problem)
    except FAILURES as error:
        said = f"The fits to halves of the data failed: {error}"
        return replace(result, warnings=(*result.warnings, said))
    head = ("name", ">first half", ">second half", ">apart (deviations)", "with the file")
    console.print(table_of("Halves of the data", head, [_cells(row) for row in rows]))
    said = [row.text for row in rows if not row.agree]
    few = min(map(len, split(problem.given))) < FEW_BLOCKS
    if said and few and problem.simulator.contact is not None:
        said.append(words.ROUGH)
    count = sum(row.agree for row in rows)
    agree = f"{count} of {len(rows)} intervals of disjoint halves of the data agree."
    return replace(result, warnings=(*result.warnings, *said, *([agree] if rows else [])))


def _cells(row: HalfRow) -> tuple[str, ...]:
    values = (significant(v, s) for v, s in zip(row.values, row.stds, strict=True))
    return row.name, *values, f"{row.apart:.1f}", "agree" if row.overlap else "disagree"
