"""Figures of an experiment or benchmark: measured value beside its target, as a table and as JSON.

figures = Figures("E5 real double pendulum", seed=0)
figures.at_most("run 0, RMS over 0.5 s", 0.03, 0.05, "rad")
figures.finish()        # prints; writes the file of --json
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import time
from dataclasses import asdict, dataclass, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from graftsim._version import __version__


def write_json(path: str | Path, content: Any) -> None:
    """Writes figures: arrays as lists, data classes as tables, what is not finite as null."""
    text = json.dumps(_plain(content), indent=2, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def _plain(x: Any) -> Any:
    """What JSON knows."""
    if is_dataclass(x) and not isinstance(x, type):
        x = asdict(x)
    if isinstance(x, dict):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple | set):
        return [_plain(v) for v in x]
    if isinstance(x, np.ndarray | np.generic):
        return _plain(x.tolist())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    return x if isinstance(x, int | str | None) else str(x)


@dataclass(frozen=True)
class Figure:
    """One measured number. `holds` is None where there is no target."""

    name: str
    value: float
    target: str
    unit: str
    holds: bool | None


class Figures:
    """Collects figures; `finish` prints the table and writes JSON when `--json FILE` was given."""

    def __init__(
        self, title: str, *, seed: int | None = None, json_path: str | None = None
    ) -> None:
        self.title, self.seed, self.json_path = title, seed, json_path
        self.began = time.perf_counter()
        self.rows: list[Figure] = []

    @staticmethod
    def arguments(description: str) -> argparse.ArgumentParser:
        """A parser with the options that every experiment has: --json, --seed and --quick."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--json", metavar="FILE", help="write the figures to this file")
        parser.add_argument("--seed", type=int, default=0, help="seed of everything random")
        parser.add_argument(
            "--quick", action="store_true", help="see that it runs: the figures mean little then"
        )
        return parser

    def at_most(self, name: str, value: float, target: float, unit: str = "") -> None:
        """A number that should not exceed its target."""
        self._add(name, value, f"<= {target:g}", unit, math.isfinite(value) and value <= target)

    def at_least(self, name: str, value: float, target: float, unit: str = "") -> None:
        """A number that should reach its target."""
        self._add(name, value, f">= {target:g}", unit, math.isfinite(value) and value >= target)

    def note(self, name: str, value: float, unit: str = "") -> None:
        """A number without a target."""
        self._add(name, value, "", unit, None)

    def _add(self, name: str, value: float, target: str, unit: str, holds: bool | None) -> None:
        self.rows.append(Figure(name, float(value), target, unit, holds))

    def finish(self) -> bool:
        """Print the table, write the file; returns whether every target holds."""
        seconds = time.perf_counter() - self.began
        width = max([len(r.name) for r in self.rows] + [6])
        print(f"\n{self.title}")
        print(f"{'figure':<{width}}  {'value':>12}  {'target':>12}  unit")
        for r in self.rows:
            mark = {True: "holds", False: "FAILS", None: ""}[r.holds]
            print(f"{r.name:<{width}}  {r.value:>12.5g}  {r.target:>12}  {r.unit:<8} {mark}")
        print(f"{seconds:.1f} s")
        if self.json_path:
            content = {"figures": self.rows, "seconds": seconds, "seed": self.seed}
            write_json(self.json_path, {"title": self.title, **content, **_circumstances()})
        return all(r.holds is not False for r in self.rows)


def _circumstances() -> dict[str, Any]:
    """Where and when figures were made."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = {name: version(name) for name in ("jax", "numpy")}
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {cores} core{'s' * (cores != 1)}",
        "versions": {"graftsim": __version__, "python": platform.python_version(), **libraries},
    }
