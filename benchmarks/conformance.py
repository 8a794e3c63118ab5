"""Contact, gradients included: who has it right? graftsim's three contact models and other engines.

A line is a case whose right answer is known from a closed form or from an event-driven reference,
`tests/oracles/event_driven.py` or `impacts.py`; rows are numbered as in the conformance list. Every
cell says ok or NO and what was found; for more than two numbers, their distance from the right
ones, of impacts (I1 to I11) at each length of step. What an engine cannot run is NO with its reason
below the table.

    python benchmarks/conformance.py [--rows G4 ...] [--rivals PYTHON] [--no-graftsim]

The other engines' answers are read from `rivals/contact_rivals.json`, the last run, or computed
anew by the interpreter given with --rivals, which takes an hour or more and renews that file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

from conformance_rows import ROWS

from graftsim.targets import write_json

RIVALS = Path(__file__).resolve().parent / "rivals" / "contact_rivals.py"
KEPT = RIVALS.with_suffix(".json")
Cells = dict[tuple[str, str], tuple[bool, str]]  # of row and column: right, and what was found


def ours(rows: list[str]) -> tuple[Cells, list[str]]:
    """graftsim's cells and its contact models; an error is an answer that is not right."""
    from conformance_cases import CASES, MODELS, impacts_in_single

    cells: Cells = {}
    for row in rows:
        if row not in CASES:
            continue
        began = time.perf_counter()
        try:
            answers = CASES[row]()
        except Exception as error:
            answers = [(m, f"{type(error).__name__}: {error}", False) for m in MODELS]
        for model, text, right in answers:
            cells[row, model] = right, text
        wrong = [model for model, _, right in answers if not right]
        said = f"not right: {', '.join(wrong)}" if wrong else "right"
        print(f"{row}: {said} ({time.perf_counter() - began:.0f} s)", file=sys.stderr, flush=True)
    single = impacts_in_single(rows)
    cells |= {(row, model): (right, text) for row, (model, text, right) in single.items()}
    return cells, [*MODELS, *{model for model, *_ in single.values()}]


def theirs(rows: list[str]) -> tuple[Cells, dict[str, str]]:
    """Other engines' cells, and the version and day of each engine."""
    cells: Cells = {}
    about: dict[str, set[str]] = {}
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else []
    for found in kept:
        about.setdefault(found["engine"], set()).add(f"{found['version']}, {found['date']}")
        row, values = found["row"], found["values"]
        if row in rows and values is None:
            cells[row, found["engine"]] = False, found["text"]
        elif row in rows:
            cells[row, found["engine"]] = bool(ROWS[row].right(values)), ROWS[row].text(values)
    return cells, {engine: "; ".join(sorted(lines)) for engine, lines in about.items()}


def table(rows: list[str], columns: list[str], cells: Cells) -> str:
    """As Markdown, long texts as notes."""
    notes: list[str] = []

    def cell(row: str, column: str) -> str:
        if (row, column) not in cells:
            return ""
        right, text = cells[row, column]
        if len(text) > 24:
            if text not in notes:
                notes.append(text)
            text = f"[{notes.index(text) + 1}]"
        return f"{'ok' if right else 'NO'} {text}"

    lines = [["row", "case", "right answer", *columns]]
    for row in rows:
        known = ROWS[row]
        lines.append([row, known.case, known.answer, *(cell(row, c) for c in columns)])
    count = ["", "right", ""]
    for column in columns:
        asked = [cells[row, column][0] for row in rows if (row, column) in cells]
        count.append(f"{sum(asked)} of {len(asked)}")
    lines.append(count)
    wide = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * w for w in wide])
    text = [
        "| " + " | ".join(x.ljust(w) for x, w in zip(l, wide, strict=True)) + " |" for l in lines
    ]
    return "\n".join([*text, "", *(f"[{i}] {note}" for i, note in enumerate(notes, 1))])


def main() -> int:
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW",
                   help=f"of {', '.join(ROWS)}")  # fmt: skip
    p.add_argument("--rivals", metavar="PYTHON", help="interpreter that has the other engines")
    p.add_argument("--no-graftsim", action="store_true", help="only the other engines")
    p.add_argument("--json", metavar="FILE", help="write the answers to this file")
    options = p.parse_args()
    if options.rivals:
        subprocess.run([options.rivals, str(RIVALS), "--json", str(KEPT)], check=True)
    cells, about = theirs(options.rows)
    columns = list(about)
    if not options.no_graftsim:
        own, models = ours(options.rows)
        cells, columns = cells | own, [*models, *columns]
    print(table(options.rows, columns, cells))
    if options.json:
        answers = {
            row: {c: dict(zip(("right", "text"), cells[row, c], strict=True)) for c in columns
                  if (row, c) in cells}
            for row in options.rows
        }  # fmt: skip
        write_json(options.json, {"rows": answers, "engines": about})
    print(
        "\nncp, compliant, lcp and ncp float32 are graftsim's.",
        *(f"{k}: {v}." for k, v in about.items()),
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
