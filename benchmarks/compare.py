"""Figures of two runs beside each other: what changed by more than a share of its size.

    python benchmarks/compare.py BEFORE AFTER [--share 0.01] [--json FILE]

BEFORE and AFTER are files that experiments or benchmarks wrote with --json, or folders of them with
the same names. Exit code 1: a figure changed by more, is missing, or no longer holds.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import NamedTuple

from graftsim.targets import write_json


class Change(NamedTuple):
    """A figure in both runs; NaN where it is not a number or not there."""

    where: str
    before: float
    after: float
    holds: bool | None

    @property
    def share(self) -> float:
        """Change over the size of the figure before; infinite where it came or went."""
        if math.isnan(self.before) and math.isnan(self.after):
            return 0.0
        if math.isnan(self.before) or math.isnan(self.after):
            return math.inf
        size = max(abs(self.before), abs(self.after))
        return abs(self.after - self.before) / size if size else 0.0


def read(path: Path) -> dict[str, tuple[float, bool | None]]:
    """Figures of a file by name; those of the same name in a row get a number."""
    content = json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, tuple[float, bool | None]] = {}
    for row in content["figures"]:
        name, k = row["name"], 2
        while name in found:
            name, k = f"{row['name']} ({k})", k + 1
        value = math.nan if row["value"] is None else float(row["value"])
        found[name] = value, row["holds"]
    return found


def pairs(before: Path, after: Path) -> dict[str, tuple[Path, Path]]:
    """Files of both, by name."""
    if before.is_file():
        return {after.stem: (before, after)}
    names = sorted({p.name for folder in (before, after) for p in folder.glob("*.json")})
    return {name.removesuffix(".json"): (before / name, after / name) for name in names}


def changes(before: Path, after: Path) -> list[Change]:
    """Every figure that is in one of them."""
    found = []
    for name, (old, new) in pairs(before, after).items():
        one, two = (read(p) if p.exists() else {} for p in (old, new))
        for figure in dict.fromkeys((*one, *two)):
            nothing = math.nan, None
            (a, _), (b, holds) = one.get(figure, nothing), two.get(figure, nothing)
            found.append(Change(f"{name}: {figure}", a, b, holds))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--share", type=float, default=0.01, help="change that counts as none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    options = parser.parse_args()
    found = changes(options.before, options.after)
    changed = [c for c in found if c.share > options.share]
    for c in sorted(changed, key=lambda c: -c.share):
        fails = "  FAILS" if c.holds is False else ""
        print(f"{c.where:<76} {c.before:>12.5g} {c.after:>12.5g}  {c.share:8.1%}{fails}")
    print(f"{len(found)} figures, {len(changed)} changed by more than {options.share:.2g}")
    if options.json:
        write_json(options.json, {"figures": found, "share": options.share})
    return int(bool(changed) or any(c.holds is False for c in found))


if __name__ == "__main__":
    raise SystemExit(main())
