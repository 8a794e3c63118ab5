"""Measured against simulated over time, as SVG with the residual underneath.

The curves stand in inner drawings whose view box is a part of the data: the page's script zooms by
changing it. Without a script the figures are complete, at full range.
"""

from __future__ import annotations

from html import escape

import numpy as np

from graftsim.report.curves import Plot, Stretch, share, thin
from graftsim.report.numbers import MINUS, exponent, unit

WIDTH, LEFT, RIGHT = 1080, 74, 12
TOP, SIGNAL, GAP, RESIDUAL, BOTTOM = 8, 168, 14, 72, 34
HEIGHT = TOP + SIGNAL + GAP + RESIDUAL + BOTTOM
GRID_X, GRID_Y = 20000, 10000
"""Whole units that a curve is drawn with, across and down."""
CURVES = {
    "measured": "measured",
    "before": "simulated before the fit",
    "after": "simulated after the fit",
}


def svg(plot: Plot, group: int) -> str:
    """The figure of one plot; figures with the same `group` are zoomed in time together."""
    start = min(float(s.time[0]) for s in plot.stretches)
    end = max(float(s.time[-1]) for s in plot.stretches)
    span = (start, end if end > start else start + 1e-3)
    label = " ".join(filter(None, (plot.channel, plot.component)))
    signals = {k: [getattr(s, k) for s in plot.stretches] for k in CURVES}
    residuals = {
        k: [getattr(s, k) - s.measured for s in plot.stretches] for k in ("before", "after")
    }
    upper = _range([*signals["measured"], *signals["after"]], signals["before"], 1.0)
    lower = _range(residuals["after"], residuals["before"], 2.0, about_zero=True)
    bottom = TOP + SIGNAL + GAP
    axis = "time, windows set side by side" if plot.laid_out else "time"
    parts = [
        f'<svg class="series" viewBox="0 0 {WIDTH} {HEIGHT}" data-group="{group}" '
        f'data-t0="{span[0]!r}" data-t1="{span[1]!r}" role="img" '
        f'aria-label="{escape(f"{label}: measured and simulated over time")}">',
        _panel(plot, span, upper, signals, TOP, SIGNAL, plot.unit, ""),
        _panel(plot, span, lower, residuals, bottom, RESIDUAL, plot.unit, "residual"),
        f'<g class="tx" data-y="{bottom + RESIDUAL}">{_time_ticks(span, bottom + RESIDUAL)}</g>',
        f'<text class="axis" x="{LEFT + _inner() / 2}" y="{HEIGHT - 3}">{axis} (s)</text>',
        '<line class="cursor" hidden="" y1="8" y2="262"/></svg>',
    ]
    return "".join(parts)


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers (1, 2, 5 times a power of ten) inside a range, about `count` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / max(count, 1)
    power = 10.0 ** exponent(raw)
    step = next((k * power for k in (1, 2, 5) if k * power >= raw * (1 - 1e-9)), 10 * power)
    first = int(np.ceil(low / step - 1e-9))
    return [i * step for i in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def label(x: float, step: float) -> str:
    """A tick's label: as many decimals as the step needs."""
    size = max(abs(x), step)
    if exponent(step) < -4 or exponent(size) > 5:
        return f"{x:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("-", MINUS)
    return f"{x:.{max(0, -exponent(step * 1.0000001))}f}".replace("-", MINUS)


def _inner() -> int:
    return WIDTH - LEFT - RIGHT


def _range(
    main: list[np.ndarray], extra: list[np.ndarray], most: float, *, about_zero: bool = False
) -> tuple[float, float]:
    """Limits that hold the main curves and, up to `most` times their span more, the extra ones."""
    values = _finite(main)
    others = _finite(extra)
    if not len(values):
        values = others if len(others) else np.array([-1.0, 1.0])
    low, high = float(values.min()), float(values.max())
    if about_zero:
        high = max(abs(low), abs(high))
        low = -high
    span = high - low or max(abs(high), 1e-9) * 0.1
    if len(others):
        low = max(min(low, float(others.min())), low - most * span)
        high = min(max(high, float(others.max())), high + most * span)
    if about_zero:
        high = max(-low, high)
        low = -high
    margin = 0.06 * (high - low or max(abs(high), 1e-9))
    return low - margin, high + margin


def _finite(curves: list[np.ndarray]) -> np.ndarray:
    values = np.concatenate(curves) if curves else np.zeros(0)
    return values[np.isfinite(values)]


def _panel(
    plot: Plot,
    span: tuple[float, float],
    limits: tuple[float, float],
    curves: dict[str, list[np.ndarray]],
    top: int,
    height: int,
    text: str,
    what: str,
) -> str:
    """Frame, tick labels and curves of one of the two panels."""
    middle = top + height / 2
    total = sum(len(s.time) for s in plot.stretches)
    drawn = []
    for name, columns in curves.items():
        d = "".join(
            _path(*thin(s.time, x, share(s, total)), span, limits)
            for s, x in zip(plot.stretches, columns, strict=True)
        )
        drawn.append(f'<path class="{name}" d="{d}"/>')
    zero = f'<line class="zero" x1="0" x2="{GRID_X}" y1="{GRID_Y // 2}" y2="{GRID_Y // 2}"/>'
    shades = "".join(_shade(s, span) for s in plot.stretches)
    return (
        f'<g class="ty" data-y="{top}" data-h="{height}">{_value_ticks(limits, top, height)}</g>'
        f'<rect class="frame" x="{LEFT}" y="{top}" width="{_inner()}" height="{height}"/>'
        f'<svg class="view" x="{LEFT}" y="{top}" width="{_inner()}" height="{height}" '
        f'viewBox="0 0 {GRID_X} {GRID_Y}" preserveAspectRatio="none" '
        f'data-v0="{limits[0]!r}" data-v1="{limits[1]!r}">{shades}{zero if what else ""}'
        f"{''.join(drawn)}</svg>"
        f'<text class="axis" transform="translate(13 {middle}) rotate(-90)">'
        f"{escape(what or unit(text))}</text>"
    )


def _shade(stretch: Stretch, span: tuple[float, float]) -> str:
    """Where a window begins; a held-out one has its two halves shaded, the scored one darker."""
    x0, x1 = (_across(float(stretch.time[i]), span) for i in (0, -1))
    if not stretch.heldout:
        return f'<line class="start" x1="{x0}" x2="{x0}" y1="0" y2="{GRID_Y}"/>'
    half = (x0 + x1) // 2
    return (
        f'<rect class="settle" x="{x0}" y="0" width="{half - x0}" height="{GRID_Y}"/>'
        f'<rect class="held" x="{half}" y="0" width="{x1 - half}" height="{GRID_Y}"/>'
    )


def _across(t: float, span: tuple[float, float]) -> int:
    return round((t - span[0]) / (span[1] - span[0]) * GRID_X)


def _path(
    time: np.ndarray, values: np.ndarray, span: tuple[float, float], limits: tuple[float, float]
) -> str:
    """Path data in whole units, each point relative to the last; a NaN lifts the pen."""
    x = np.round((time - span[0]) / (span[1] - span[0]) * GRID_X)
    y = np.round((limits[1] - values) / (limits[1] - limits[0]) * GRID_Y)
    good = np.isfinite(y)
    y = np.clip(np.where(good, y, 0), -50 * GRID_Y, 50 * GRID_Y)
    out: list[str] = []
    down = False
    last = (0, 0)
    for a, b, ok in zip(x.astype(int).tolist(), y.astype(int).tolist(), good.tolist(), strict=True):
        if not ok:
            down = False
            continue
        if not down:
            out.append(f"M{a} {b}l")
        else:
            out.append(f"{a - last[0]} {b - last[1]} ")
        down, last = True, (a, b)
    # A lone point is drawn as a line to itself, which round caps make visible.
    return "".join(f"{p}0 0 " if p.endswith("l") else p for p in out)


def _time_ticks(span: tuple[float, float], y: int) -> str:
    marks = ticks(*span, 9)
    step = marks[1] - marks[0] if len(marks) > 1 else span[1] - span[0]
    places = [LEFT + (t - span[0]) / (span[1] - span[0]) * _inner() for t in marks]
    return "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}"/>'
        f'<text x="{x:.1f}" y="{y + 16}">{label(t, step)}</text>'
        for x, t in zip(places, marks, strict=True)
    )


def _value_ticks(limits: tuple[float, float], top: int, height: int) -> str:
    marks = ticks(*limits, 4 if height > 100 else 5)
    step = marks[1] - marks[0] if len(marks) > 1 else limits[1] - limits[0]
    rows = [top + (limits[1] - v) / (limits[1] - limits[0]) * height for v in marks]
    return "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 7}" y="{y + 4:.1f}">{label(v, step)}</text>'
        for y, v in zip(rows, marks, strict=True)
    )
