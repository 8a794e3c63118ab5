"""Pictures of experiments: Matplotlib figures with one look, written where `--pictures` says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

TRUTH, HYBRID, PLAIN, NETWORK = "#1a1a1a", "#c8502d", "#8a8f98", "#2f6db3"


def add_option(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds `--pictures FOLDER`."""
    parser.add_argument("--pictures", metavar="FOLDER", help="write pictures (SVG) to this folder")
    return parser


def axes(columns: int, rows: int = 1, width: float = 4.0, height: float = 3.0) -> Any:
    """A figure and its axes in a grid, without a display."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasSVG(figure)
    grid = figure.subplots(rows, columns, squeeze=False)
    for a in grid.flat:
        a.spines[["top", "right"]].set_visible(False)
        a.grid(alpha=0.25, linewidth=0.6)
    return figure, grid


def save(figure: Any, folder: str | None, name: str) -> None:
    """Write the figure; nothing without a folder."""
    if folder is None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    print(f"picture: {path}")
