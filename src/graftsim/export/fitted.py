"""What a fit knows of each number, in terms that other programs take: a value and a range."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError, VariableError
from graftsim.identify.results.result import Result
from graftsim.identify.words import Status
from graftsim.io.load import load
from graftsim.model.catalogue import PARAMETERS, labels, leaf, row_unit
from graftsim.model.model import Model
from graftsim.selectors import Selector

# Half of a range, in standard deviations.
WIDTH = 2.0
NOT_FITTED = "not fitted"


@dataclass(frozen=True)
class Known:
    """A number: its value, where it may lie, and in words how that is known.

    The range is one point where nothing says how wide it is.
    """

    value: float
    low: float
    high: float
    unit: str
    remark: str = NOT_FITTED

    @classmethod
    def exactly(cls, value: float, unit: str, remark: str = NOT_FITTED) -> Known:
        """A number without a range."""
        return cls(value, value, value, unit, remark)

    def times(self, factor: float) -> Known:
        """Times a number that is known."""
        low, high = sorted((self.low * factor, self.high * factor))
        return replace(self, value=self.value * factor, low=low, high=high)

    def plus(self, other: Known) -> Known:
        """The sum of two numbers of one unit; its range goes from both lows to both highs."""
        if other == Known.exactly(0.0, other.unit):
            return self
        remarks = dict.fromkeys((self.remark, other.remark))
        return Known(
            self.value + other.value, self.low + other.low, self.high + other.high,
            self.unit, "; ".join(remarks),
        )  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """A fit for export: its robot, and the rows of its parameters as fit.json has them.

    command: that made it, "" for a fit from Python. folder: where it lies, None for one in memory.
    grafts: labels of its networks, which are in no robot.
    """

    model: Model
    rows: tuple[Mapping[str, Any], ...]
    command: str = ""
    folder: Path | None = None
    grafts: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: str | Path) -> Fitted:
        """The fit in a folder, of its fit.json and robot.xml.

        Raises FileError: one of them is missing or was not written by a fit.
        """
        folder = Path(folder)
        path = folder / "fit.json"
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(_checked(row) for row in facts["parameters"])
            command = str(facts.get("command", ""))
            grafts = tuple(str(g["label"]) for g in facts.get("grafts", ()))
        except OSError as error:
            raise FileError(
                f"{path}: {error.strerror or error}. The folder of graftsim fit (--out), or of "
                "write_report, is expected."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileError(f"{path}: not a fit.json of graftsim fit ({error!r}).") from error
        robot = folder / "robot.xml"
        if not robot.is_file():
            raise FileError(
                f"{robot}: no such file. The fit could not write its robot as MJCF; its report "
                "says why. From Python, graftsim.export takes the result itself."
            )
        return cls(load(robot), rows, command, folder, grafts)

    @classmethod
    def of(cls, result: Result) -> Fitted:
        """What `fit` returned."""
        facts = result.as_json()
        grafts = tuple(g.label for g in result.grafts)
        rows = tuple(_checked(row) for row in facts["parameters"])
        return cls(result.model, rows, result.command, grafts=grafts)

    @property
    def remarks(self) -> list[str]:
        """What no export of this fit has."""
        names = ", ".join(self.grafts)
        return [f"The networks of this fit are not in it: {names}."] if names else []

    @cached_property
    def _row_of(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Row of each number that was free, by quantity and label."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for row in self.rows:
            try:
                chosen = Selector.parse(row["name"])
            except VariableError:  # one component of a vector, `link.com[arm].x`
                continue
            if chosen.name in PARAMETERS:
                names = labels(self.model, PARAMETERS[chosen.name].rows)
                found |= {(chosen.name, names[i]): row for i in chosen.rows(names)}
        return found

    def known(self, quantity: str, index: int) -> Known:
        """Value and range of one row of a leaf of the model, such as ("joint.damping", 2)."""
        label = labels(self.model, PARAMETERS[quantity].rows)[index]
        value = float(np.asarray(leaf(self.model, quantity))[index])
        unit = row_unit(self.model, quantity, index)
        row = self._row_of.get((quantity, label))
        return Known.exactly(value, unit) if row is None else known(row, value, unit)


def known(row: Mapping[str, Any], value: float, unit: str) -> Known:
    """Value and range of a number that was free.

    Where the data tell it: two standard deviations to each side, within its bounds; of one that
    hangs on a number that was not free, those that it has with that one free. Else the range that
    it was given, or none.
    """
    lower, upper, std, status = (row[k] for k in ("lower", "upper", "std", "status"))
    told = status in (Status.IDENTIFIED, Status.CONDITIONAL, Status.WEAK, Status.FROM_PRIOR)
    if not told or not math.isfinite(std):
        remark = str(status)
        if status != Status.ON_BOUND:
            remark = f"{remark}: the log does not tell it"
        if math.isfinite(lower) and math.isfinite(upper):
            return Known(value, lower, upper, unit, f"{remark}; the range it was given")
        return Known.exactly(value, unit, f"{remark}, and it was given no range")
    remark = f"fitted, +- {std:.2g}"
    if status == Status.CONDITIONAL:
        freed = row["std_with_file"]
        cause = next(iter(row["causes"]), "the file")
        remark = f"fitted, +- {std:.2g} if {cause} is right"
        if freed > std:
            std, remark = freed, f"{remark}, else {freed:.2g}"
    elif status != Status.IDENTIFIED:
        remark = f"{remark}; {status}"
    low, high = max(value - WIDTH * std, lower), min(value + WIDTH * std, upper)
    return Known(value, min(low, value), max(high, value), unit, remark)


def _checked(row: Any) -> Mapping[str, Any]:
    """What is read of a row of fit.json; an error where it is of another form."""
    numbers = {k: _number(row.get(k)) for k in ("std", "std_with_file")}
    bounds = {"lower": _number(row.get("lower"), -math.inf)}
    bounds |= {"upper": _number(row.get("upper"), math.inf)}
    words = {k: str(row[k]) for k in ("name", "status")}
    return {**words, **numbers, **bounds, "causes": dict(row.get("causes") or {})}


def _number(value: Any, default: float = math.nan) -> float:
    return default if value is None else float(value)
