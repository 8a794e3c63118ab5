"""What a fit achieved, in sentences: plain where it worked, and plain where it did not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graftsim.identify.results.result import ErrorRow, ParameterRow, Result
from graftsim.optim.outcome import Outcome
from graftsim.report.numbers import decimal, duration, percent, places_for, rounded, times, unit

SAME = 1.05
"""Errors within this factor count as unchanged."""
KNOWN = 0.1
"""A parameter whose 95 % interval is narrower than +-10 % counts as known."""

OUTCOMES = {
    Outcome.CONVERGED: "The fit converged",
    Outcome.ITERATION_LIMIT: (
        "The fit stopped at its limit of iterations, so a better fit may exist,"
    ),
    Outcome.STALLED: (
        "The fit stalled: no step lowered the cost any more, without meeting the tolerance,"
    ),
    Outcome.NON_FINITE: "The fit broke off because the simulation stopped being finite,",
}


@dataclass(frozen=True)
class Headline:
    """The title of the page, whether it is good news ("good", "flat", "bad"), and what follows."""

    title: str
    mood: str
    sentences: tuple[str, ...]


def headline(result: Result) -> Headline:
    """Title and opening sentences of a report."""
    held = [r for r in result.errors if _pair(r.heldout_before, r.heldout_after)]
    train = [r for r in result.errors if _pair(r.train_before, r.train_after)]
    sentences = []
    if held:
        title, mood = _error_title("Held-out error", held, "heldout")
        sentences += _by_channel(held, "heldout", mood)
        if train and mood != "good" and mean_ratio(train, "train") > SAME:
            sentences.append(
                f"On the windows it was fitted to, the error fell "
                f"{times(mean_ratio(train, 'train'))} times: what the fit learnt there does not "
                "carry over to windows it has not seen."
            )
    elif train:
        title, mood = _error_title("Training error", train, "train")
        mood = "flat" if mood == "good" else mood
        sentences += _by_channel(train, "train", mood)
        sentences.append(
            "Nothing was held out, so this says how well the model repeats the data it was fitted "
            "to, not how well it predicts."
        )
    else:
        title, mood = "No error could be computed", "bad"
    forces = result.forces
    if forces is not None and forces.leads:
        sentences.insert(0, forces.text)
        # What is known only up to a factor is no good news, however small the error.
        mood = "flat" if forces.unknown and mood == "good" else mood
    known = _knowledge(result.parameters)
    if known:
        sentences.append(known)
    sentences.append(_outcome(result))
    if result.outcome == Outcome.NON_FINITE:
        mood = "bad"
    return Headline(title, mood, tuple(sentences))


def ratio(before: float, after: float) -> float:
    """How many times smaller the error became; NaN if that cannot be said."""
    if not _pair(before, after) or (before == 0 and after == 0):
        return math.nan
    return math.inf if after == 0 else before / after


def change(before: float, after: float) -> str:
    """The change of one error for a cell of a table."""
    r = ratio(before, after)
    if math.isnan(r):
        return "\N{EN DASH}"
    if 1 / SAME <= r <= SAME:
        return "unchanged"
    return f"{times(r)} × smaller" if r > 1 else f"{times(1 / r)} × larger"


def relative(row: ParameterRow) -> float:
    """Half the 95 % interval over the size of the value; NaN where it is undetermined."""
    half = (row.high - row.low) / 2
    return half / abs(row.value) if row.value and math.isfinite(half) else math.nan


def relative_with_file(row: ParameterRow) -> float:
    """The same if what was not free may be wrong; NaN where that was not tried."""
    half = (row.high_with_file - row.low_with_file) / 2
    return half / abs(row.value) if row.value and math.isfinite(half) else math.nan


def _error_title(what: str, rows: list[ErrorRow], which: str) -> tuple[str, str]:
    mean = mean_ratio(rows, which)
    mood = "good" if mean > SAME else "flat" if mean >= 1 / SAME else "bad"
    verb = {"good": "fell", "flat": "hardly changed", "bad": "rose"}[mood]
    if len(rows) > 1:
        many = f"over {len(rows)} channels"
        if mood == "flat":
            return f"{what} hardly changed {many}", mood
        size = times(mean) if mood == "good" else times(1 / mean)
        return f"{what} {verb} {size}-fold, on average {many}", mood
    before, after = (getattr(rows[0], f"{which}_{k}") for k in ("before", "after"))
    span = f"from {rounded(before)} to {rounded(after)} {unit(rows[0].unit)}".rstrip()
    if mood == "flat":
        return f"{what} hardly changed: {span}", mood
    size = times(mean) if mood == "good" else times(1 / mean)
    return f"{what} {verb} {span} ({size} times {'smaller' if mood == 'good' else 'larger'})", mood


def _by_channel(rows: list[ErrorRow], which: str, mood: str) -> list[str]:
    if len(rows) == 1:
        return []
    found = []
    pairs = [(getattr(r, f"{which}_before"), getattr(r, f"{which}_after")) for r in rows]
    shown = [
        f"{r.channel} from {rounded(b)} to {rounded(a)} {unit(r.unit)}".rstrip()
        for r, (b, a) in list(zip(rows, pairs, strict=True))[:3]
    ]
    rest = len(rows) - len(shown)
    more = f"; {rest} more in the table below" if rest else ""
    found.append(f"Root-mean-square error: {'; '.join(shown)}{more}.")
    worse = [r.channel for r, (b, a) in zip(rows, pairs, strict=True) if ratio(b, a) < 1 / SAME]
    if worse and mood != "bad":
        found.append(f"It rose in {len(worse)} of {len(rows)} channels: {', '.join(worse[:6])}.")
    return found


def mean_ratio(rows: list[ErrorRow], which: str) -> float:
    """Geometric mean over the channels, which have different units."""
    ratios = [ratio(getattr(r, f"{which}_before"), getattr(r, f"{which}_after")) for r in rows]
    logs = [math.log(min(max(r, 1e-12), 1e12)) for r in ratios if not math.isnan(r)]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def _knowledge(rows: tuple[ParameterRow, ...]) -> str:
    if not rows:
        return ""
    widths = {r.name: relative(r) for r in rows}
    open_ = [name for name, w in widths.items() if math.isnan(w)]
    known = [name for name, w in widths.items() if w <= KNOWN]
    count = len(rows)
    start = (
        "The one fitted parameter is" if count == 1 else f"{len(known)} of {count} parameters are"
    )
    if count == 1:
        row = rows[0]
        if open_:
            return f"The data do not determine the one fitted parameter, {row.name}."
        return (
            f"{start} {row.name} = {decimal(row.value, places_for(row.std, row.value))} "
            f"{unit(row.unit)} (±{percent(widths[row.name])}, 95 % interval).".replace("  ", " ")
        )
    text = f"{start} known to within ±{percent(KNOWN)} (95 % interval)"
    doubted = [relative_with_file(r) for r in rows]
    sure = sum(w <= KNOWN for w in doubted)
    if sure < len(known) and not all(map(math.isnan, doubted)):
        text += f" if the file is right, {sure} if it may be off"
    finite = {k: w for k, w in widths.items() if not math.isnan(w) and w > KNOWN}
    if open_:
        text += f"; the data do not determine {', '.join(open_[:4])}"
        text += f" and {len(open_) - 4} more" if len(open_) > 4 else ""
    elif finite:
        worst = max(finite, key=lambda k: finite[k])
        text += f"; the least certain is {worst} at ±{percent(finite[worst])}"
    return text + "."


def _outcome(result: Result) -> str:
    lead = OUTCOMES.get(result.outcome, f"The fit ended ({result.outcome})")
    count = len(result.history)
    steps = f"after {count} iteration{'s' if count != 1 else ''} and {duration(result.seconds)}"
    return f"{lead} {steps}."


def _pair(before: float, after: float) -> bool:
    return math.isfinite(before) and math.isfinite(after)
