"""What a network learned of one input: a small figure with its 95 % band, a formula drawn over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graftsim.identify.results.result import Curve, GraftSummary
from graftsim.report.figures import ACCENT, LINE, WARM, new_figure, plain, to_svg
from graftsim.report.numbers import rounded, unit
from graftsim.selectors import with_row

MOST = 12
"""So many figures a section shows."""


def figure(curve: Curve, salt: str, formula: np.ndarray | None = None) -> dict[str, str]:
    """Title and SVG of a curve; `formula` [n] is drawn over it, dashed. `salt` is the page's own
    name of the figure, so that no two share an id.
    """
    title = with_row(curve.output, curve.row)
    return {"title": title, "svg": _svg(curve, salt, formula)}


def largest(summaries: Iterable[GraftSummary], limit: int = MOST) -> tuple[list[Curve], int]:
    """Curves of the inputs with the largest reach, as a share of the variable, first; and how many
    are left out.
    """
    found: list[tuple[float, Curve]] = []
    for s in summaries:
        for c in s.curves:
            r = s.rows.index(c.row) if c.row in s.rows else slice(None)
            m, k = s.outputs.index(c.output), s.columns.index(c.column)
            size = np.maximum(s.value_rms[r, m], 1e-300)
            found.append((float(np.max(s.reach[r, m, k] / size)), c))
    found.sort(key=lambda x: -x[0])
    return [c for _, c in found[:limit]], max(len(found) - limit, 0)


def _svg(curve: Curve, salt: str, formula: np.ndarray | None) -> str:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    drawn, axes = new_figure(3.7, 2.55)
    drawn.subplots_adjust(left=0.19, right=0.975, bottom=0.215, top=0.965)
    low, high = _limits(curve, formula)
    axes.axhline(0, color=LINE, linewidth=1)
    band = np.clip([curve.low, curve.high], low - (high - low), high + (high - low))
    axes.fill_between(curve.x, *band, color=ACCENT, alpha=0.2, linewidth=0)
    axes.plot(curve.x, curve.y, color=ACCENT, linewidth=1.7)
    if formula is not None:
        axes.plot(curve.x, formula, color=WARM, linewidth=1.5, dashes=(4, 2.2))
    axes.set_ylim(low, high)
    if curve.x[-1] > curve.x[0]:
        axes.set_xlim(curve.x[0], curve.x[-1])
    labels: tuple[tuple[Any, float, float], ...] = (
        (axes.xaxis, float(curve.x[0]), float(curve.x[-1])), (axes.yaxis, low, high),
    )  # fmt: skip
    for axis, start, end in labels:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        # Rounding noise near zero is a zero of this axis.
        tiny = 1e-9 * (end - start)
        axis.set_major_formatter(
            FuncFormatter(lambda x, _, tiny=tiny: "0" if abs(x) <= tiny else _short(x))
        )
    axes.tick_params(labelsize=8.5)
    column = with_row(curve.column, curve.row)
    axes.set_xlabel(plain(_with_unit(column, curve.x_unit)), fontsize=8.5)
    axes.set_ylabel(plain(unit(curve.y_unit) or "factor"), fontsize=8.5)
    return to_svg(drawn, salt)


def _limits(curve: Curve, formula: np.ndarray | None) -> tuple[float, float]:
    """Limits of the output: the curves in full, the band up to twice their span more."""
    lines = [curve.y] if formula is None else [curve.y, formula]
    values = np.concatenate([np.asarray(x, float) for x in lines])
    values = values[np.isfinite(values)]
    if not len(values):
        return -1.0, 1.0
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    span = high - low or 1.0
    band = np.concatenate([curve.low, curve.high])
    band = band[np.isfinite(band)]
    if len(band):
        low = max(min(low, float(band.min())), low - 2 * span)
        high = min(max(high, float(band.max())), high + 2 * span)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _short(x: float) -> str:
    text = rounded(x, 3)
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def _with_unit(name: str, text: str) -> str:
    shown = unit(text)
    return f"{name} ({shown})" if shown else name
