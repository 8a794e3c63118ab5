"""The picture of a screening: which variable asks for which input, as a map of coloured cells."""

from __future__ import annotations

import math

from graftsim.identify.discover.findings import Discovery
from graftsim.report.figures import ACCENT, INK, LINE, WARM, new_figure, plain, to_svg
from graftsim.report.numbers import THIN, percent

MOST = 36
"""Up to so many rows and columns; those with the largest scores are kept."""
NUMBERED = 12
FAINTEST = 1e-4
"""The share of the remaining cost at which a cell has no colour any more."""


def legend() -> list[tuple[str, float]]:
    """Words and strengths of a few colours."""
    rows = [(f"{100 * 10.0**-k:g}{THIN}%", _strength(10.0**-k)) for k in range(4)]
    return [*rows, (f"≤ {100 * FAINTEST:g}{THIN}%", 0.0)]


def table(found: Discovery) -> tuple[list[str], list[str], dict[tuple[str, str], float], int]:
    """Variables, inputs, shares of the remaining cost by both, and how many cells are left out."""
    shares: dict[tuple[str, str], float] = {}
    for group, score in found.scores.items():
        share = score / found.remaining if found.remaining > 0 else 0.0
        key = (found.pair(group)[0], group.column)
        shares[key] = max(shares.get(key, 0.0), share)

    def chosen(axis: int) -> list[str]:
        best: dict[str, float] = {}
        for key, share in shares.items():
            best[key[axis]] = max(best.get(key[axis], 0.0), share)
        kept = sorted(best, key=lambda n: -best[n])[:MOST]
        return [n for n in best if n in kept]

    rows, columns = chosen(0), chosen(1)
    inside = {k: v for k, v in shares.items() if k[0] in rows and k[1] in columns}
    return rows, columns, inside, len(shares) - len(inside)


def heat_map(found: Discovery) -> str:
    """Cells of the table; those of the findings are framed, what was not tried is hatched."""
    from matplotlib.patches import Rectangle

    rows, columns, shares, _ = table(found)
    framed = {(f.target, text) for f in found.findings for text in f.inputs}
    numbered = max(len(rows), len(columns)) <= NUMBERED
    height = 0.36 if numbered else 0.21
    cell = 0.74 if numbered else max(0.21, min(0.4, 7 / len(columns)))
    left = max(map(len, rows)) * 0.078 + 0.15
    bottom = max(max(map(len, columns)) * 0.078 * 0.5, 0.2) + 0.15
    right = 0.2
    figure, axes = new_figure(left + cell * len(columns) + right, bottom + height * len(rows) + 0.1)
    width, tall = figure.get_figwidth(), figure.get_figheight()
    figure.subplots_adjust(left=left / width, right=1 - right / width, bottom=bottom / tall,
                           top=1 - 0.1 / tall)  # fmt: skip
    for i, row in enumerate(rows):
        own = row[row.index("[") :]
        for j, column in enumerate(columns):
            if (row, column) not in shares:
                empty = Rectangle((j, i), 1, 1, facecolor="none", edgecolor=LINE, linewidth=0)
                empty.set_hatch("////")
                axes.add_patch(empty)
                continue
            share = shares[row, column]
            strength = _strength(share)
            axes.add_patch(
                Rectangle((j, i), 1, 1, facecolor=ACCENT, alpha=strength, edgecolor="none")
            )
            if numbered:
                axes.text(j + 0.5, i + 0.52, percent(share) if share >= FAINTEST else "0",
                          ha="center", va="center", fontsize=8.5,
                          color="white" if strength > 0.6 else INK)  # fmt: skip
            if (row, column.replace("[*]", own)) in framed:
                axes.add_patch(
                    Rectangle((j + 0.03, i + 0.05), 0.94, 0.9, fill=False, edgecolor=WARM,
                              linewidth=2, zorder=3)
                )  # fmt: skip
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    size = 9 if numbered else 7.5
    axes.set_yticks([i + 0.5 for i in range(len(rows))], map(plain, rows), fontsize=size)
    axes.set_xticks([j + 0.5 for j in range(len(columns))], map(plain, columns), fontsize=size,
                    rotation=30, ha="right", rotation_mode="anchor")  # fmt: skip
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(True)
    return to_svg(figure, "screening", scale=True)


def _strength(share: float) -> float:
    """Opacity from 0 at the faintest share to 1 at all of the cost, logarithmic."""
    if share <= FAINTEST:
        return 0.0
    return min(1.0, 1 - math.log10(share) / math.log10(FAINTEST))
