"""What is said of numbers that hang on what was not free: how well they are known, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol


class Doubt(Protocol):
    """Of a number that was not free: how wrong it may be, how well the data would know it."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def size(self) -> float: ...
    @property
    def std(self) -> float: ...


class Known(Protocol):
    """Of a parameter: value, deviations if the file is right, if it may be wrong, and if it may be
    but for the number `measure`.
    """

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def std_with_file(self) -> float: ...
    @property
    def measure(self) -> str: ...
    @property
    def std_if_measured(self) -> float: ...


# Data that know a number to this share of how wrong it may be know it; beyond, only hardly better.
WELL = 0.5
# A measurement is named if it makes deviations smaller than this share of what they were.
HELPS = 0.9
# What to do about an effect that a fit does not know by this name, where the data tell its size.
INSTEAD = {
    "effect.load_friction": "Free joint.load_friction",
    "effect.clock": "Compare the log's clock with another",
}
DISCOVER = "graftsim discover finds the form of what the model has no number for"


def conditional(rows: Sequence[Known], quantity: str, doubts: Sequence[Doubt]) -> str:
    """Of parameters that numbers of a quantity, which were not free, could move."""
    names = [row.name for row in rows]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    right, wrong = (_shares([(x, r.value) for x, r in zip(stds, rows, strict=True)]) for stds in (
        [r.std for r in rows], [r.std_with_file for r in rows]))  # fmt: skip
    which = doubts[0].name if len(doubts) == 1 else f"the {len(doubts)} numbers {quantity}"
    most = f"{which}, not free, which may be {_range([d.size for d in doubts])}{_unit(doubts)} off"
    return (
        f"{shown}: known to {right} if the file is right, to {wrong} if it may be wrong, most of "
        f"all in {most}. {_advice(quantity, doubts)}{_measured(rows)}"
    )


def _advice(quantity: str, doubts: Sequence[Doubt]) -> str:
    """What to do about numbers, by how well the data know them."""
    effect, many = quantity.startswith("effect."), len(doubts) > 1
    it = "them" if many else "it"
    told = [d.std for d in doubts if d.std < d.size]
    within = f"to ±{_range(told)}{_unit(doubts)}" if told else ""
    if not told and effect:
        held = "no number of the model stands for it" if not many else "the model has none of them"
        return (
            f"These data do not tell {it}, and {held}: the wider interval is the one to rely on, "
            "until a recording shows more."
        )
    if not told:
        return f"These data do not tell {it}: measure {it}, or record what does."
    if effect:
        what = INSTEAD.get(quantity, DISCOVER)
        return f"These data tell {'their sizes' if many else 'its size'} {within}. {what}."
    if len(told) < len(doubts):
        count = f"{len(told)} of them" if len(told) > 1 else "one of them"
        return f"These data tell {count}, {within}: free that much, and measure the others."
    if max(d.std / d.size for d in doubts) > WELL:
        return (
            f"These data hardly tell {it}, {within}: free {it} with what is known as a prior, or "
            f"measure {it}."
        )
    return f"Free {it}: these data know {it} {within}."


def _measured(rows: Sequence[Known]) -> str:
    """Which one number is worth measuring, and what that would be worth."""
    helped = [r for r in rows if r.measure and r.std_if_measured < HELPS * r.std_with_file]
    if not helped:
        return ""
    name = Counter(r.measure for r in helped).most_common(1)[0][0]
    own = [r for r in helped if r.measure == name]
    left = _shares([(r.std_if_measured, r.value) for r in own])
    of = own[0].name if len(own) == 1 else f"{len(own)} of these"
    whose = "" if len(rows) == 1 else f" {of}"
    return f" {name} alone, measured, would leave{whose} {left}."


def _unit(doubts: Sequence[Doubt]) -> str:
    return f" {doubts[0].unit}" if doubts[0].unit not in ("", "1") else ""


def _shares(of: Sequence[tuple[float, float]]) -> str:
    """Deviations as shares of their values."""
    found = [100 * std / abs(value) for std, value in of if value]
    return f"{_range(found)} %" if found else "no share of zero"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"
