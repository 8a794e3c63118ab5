"""Figures that are not zoomed: Matplotlib's, as SVG for both a light and a dark page.

They are drawn with stand-in colours, which are then exchanged for the page's own variables.
"""

from __future__ import annotations

import io
import re

import numpy as np

from graftsim.identify.results.result import Iteration
from graftsim.report.numbers import decimal, rounded

INK, MUTED, LINE, ACCENT, WARM = "#010203", "#020304", "#030405", "#040506", "#050607"
COLOURS = {
    INK: "var(--fg)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    ACCENT: "var(--after)",
    WARM: "var(--before)",
}
NEGATIVE, POSITIVE = (0.13, 0.42, 0.75), (0.80, 0.29, 0.16)
NUMBERED = 14
"""Up to this many parameters a correlation is also written as a number."""
LABELLED = 60


def convergence(history: tuple[Iteration, ...]) -> str:
    """Cost of each iteration, stage after stage, on a logarithmic scale; "" if there is none."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    cost = np.array([h.cost for h in history], float)
    usable = np.isfinite(cost) & (cost > 0)
    if not usable.any():
        return ""
    figure, axes = new_figure(10.6, 3.0)
    place = np.arange(len(history))
    stages = [i for i in place if i == 0 or history[i].stage != history[i - 1].stage]
    for first, end in zip(stages, [*stages[1:], len(history)], strict=True):
        rows = place[first:end][usable[first:end]]
        axes.plot(rows, cost[rows], color=ACCENT, marker="o", markersize=3.2, linewidth=1.6)
        if len(stages) > 1:
            if first:
                axes.axvline(first - 0.5, color=LINE, linewidth=1)
            text = f"horizon {history[first].horizon:.3g} s"
            x = (first + end - 1) / 2
            wide = (end - first) / len(history) > 0.09
            axes.annotate(
                text if wide else f"{history[first].horizon:.3g} s",
                (x, 1.03),
                xycoords=("data", "axes fraction"),
                ha="center",
                color=MUTED,
                fontsize=9,
            )
    axes.set_yscale("log")
    decades = np.log10(cost[usable].max() / cost[usable].min())
    subs = (1.0,) if decades > 4 else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: rounded(x, 1)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(-0.5, max(len(history) - 0.5, 0.6))
    axes.set_xlabel("iteration")
    axes.set_ylabel("cost")
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axes.grid(True, axis="y", color=LINE, linewidth=0.8)
    return to_svg(figure, "convergence")


def correlation(names: tuple[str, ...], matrix: np.ndarray) -> str:
    """Correlations of the parameters as coloured cells; undetermined ones are hatched."""
    from matplotlib.patches import Rectangle

    n = len(names)
    widest = max(map(len, names), default=1) * 0.078
    cell = min(0.62, max(0.17, 7.0 / max(n, 1)))
    figure, axes = new_figure(widest + cell * n + 0.4, widest * 0.62 + cell * n + 0.25)
    figure.subplots_adjust(
        left=(widest + 0.1) / figure.get_figwidth(),
        right=1 - 0.2 / figure.get_figwidth(),
        bottom=(widest * 0.62 + 0.15) / figure.get_figheight(),
        top=1 - 0.05 / figure.get_figheight(),
    )
    for i in range(n):
        for j in range(n):
            rho = float(matrix[i, j])
            if np.isfinite(rho):
                strength = min(abs(rho), 1.0)
                face = (*(POSITIVE if rho > 0 else NEGATIVE), strength * 0.9)
                face = LINE if i == j else face
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor=face, edgecolor="none"))
                if n <= NUMBERED and i != j:
                    axes.text(
                        j + 0.5,
                        i + 0.5,
                        decimal(rho, 2),
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color="white" if strength > 0.6 else INK,
                    )
            else:
                hatched = Rectangle((j, i), 1, 1, facecolor="none", edgecolor=LINE, linewidth=0)
                hatched.set_hatch("////")
                axes.add_patch(hatched)
    axes.set_xlim(0, n)
    axes.set_ylim(n, 0)
    middle = np.arange(n) + 0.5
    size = 9.5 if n <= 30 else 7
    axes.set_yticks(middle, [plain(x) for x in names], fontsize=size)
    axes.set_xticks(middle, [plain(x) for x in names], fontsize=size, rotation=45, ha="right")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(True)
    return to_svg(figure, "correlation", scale=True)


def new_figure(width: float, height: float):
    """A figure (inches) and its axes, in the stand-in colours."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=None)
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    figure.subplots_adjust(left=0.07, right=0.99, bottom=0.17, top=0.9)
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    axes.tick_params(which="both", color=LINE, labelcolor=MUTED, labelsize=9.5)
    axes.xaxis.label.set_color(MUTED)
    axes.yaxis.label.set_color(MUTED)
    for name, side in axes.spines.items():
        side.set_color(LINE)
        side.set_visible(name in ("left", "bottom"))
    return figure, axes


def to_svg(figure, salt: str, *, scale: bool = False) -> str:
    """The figure as an element for a page, without prologue, in the page's colours and font."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    # Ids are kept where they are pointed at: those are hashes with the salt.
    used = set(re.findall(r"(?:#|url\(#)([\w-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    for colour, variable in COLOURS.items():
        text = text.replace(colour, variable)
    size = figure.get_figwidth() * 100
    style = f"width:{size:.0f}px;max-width:100%;height:auto" if scale else "width:100%;height:auto"
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*"', rf'<svg style="{style}" \1', text, count=1
    ).replace(f' height="{figure.get_figheight() * 72:g}pt"', "", 1)


def plain(name: str) -> str:
    """A name that Matplotlib does not take for mathematics."""
    return name.replace("$", r"\$")
