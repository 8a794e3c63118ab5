"""The picture of a cost over two parameters: a map with its wells, the start and the fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graftsim.identify.results.result import Landscape
from graftsim.report.figures import ACCENT, COLOURS, INK, WARM, new_figure, plain, to_svg

PAPER = {"--fg": "#1d2430", "--muted": "#5b6472", "--line": "#d5dae1",
         "--after": "#1f6fb5", "--before": "#c8502d"}  # fmt: skip


def picture(found: Landscape) -> str:
    """The map as an element for a page: logarithm of the cost, dark is low."""
    figure, axes = new_figure(6.2, 5.0)
    figure.subplots_adjust(left=0.14, right=0.98, bottom=0.12, top=0.9)
    with np.errstate(divide="ignore"):
        height = np.log10(np.where(found.cost > 0, found.cost, np.nan))
    height = np.where(np.isfinite(height), height, np.nan)
    low, high = np.nanmin(height), np.nanmax(height)
    drawn = axes.pcolormesh(found.x, found.y, height, cmap="viridis", shading="nearest",
                            rasterized=True)  # fmt: skip
    if high > low:
        axes.contour(found.x, found.y, height, levels=12, colors="white", linewidths=0.5, alpha=0.5)
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label("cost, power of ten", color=INK)
    bar.ax.tick_params(labelcolor=INK, labelsize=9)
    bar.outline.set_visible(False)
    axes.plot(*found.start, "o", markersize=8, markerfacecolor="none", markeredgecolor=WARM,
              markeredgewidth=2, clip_on=False)  # fmt: skip
    if found.found is not None:
        axes.plot(*found.found, "o", markersize=7, color="white", markeredgecolor=ACCENT,
                  markeredgewidth=2, clip_on=False)  # fmt: skip
    for set_label, name, unit in zip(
        (axes.set_xlabel, axes.set_ylabel), found.names, found.units, strict=True
    ):
        set_label(plain(f"{name} ({unit})" if unit else name))
    wells = found.wells
    axes.set_title(f"{wells} {'well' if wells == 1 else 'wells'}", fontsize=10, color=INK)
    return to_svg(figure, "landscape", scale=True)


def write_landscape(found: Landscape, path: str | Path) -> None:
    """The map as an SVG file of its own, on white."""
    text = picture(found)
    for variable in COLOURS.values():
        text = text.replace(variable, PAPER[variable[4:-1]])
    text = text.replace("<svg ", '<svg style="background:white" ', 1) + "\n"
    Path(path).write_text(text, encoding="utf-8")
