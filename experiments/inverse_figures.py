"""Figures that the experiments on inverse dynamics share: errors of joint forces, beside the plain
regression; bodies that can exist; the time it took.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from plain_regression import Plain

import graftsim as gs
from graftsim.targets import Figures

# Seconds of a fit, letters of a name.
LIMIT, LONGEST = 10.0, 50


def files_of(folder: str | Path) -> list[Path]:
    """The arrays of a folder, each a recording; an error ends the program."""
    found = sorted(Path(folder).glob("*.npz"))
    if not found:
        sys.exit(f"{folder}: there is no .npz file with the arrays of the recording in it.")
    return found


def fitted(model: gs.Model, recordings: Sequence[gs.Recording], **options: Any) -> gs.InverseFit:
    """The fit; its warnings are printed with the figures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        return gs.inverse_fit(model, recordings, **options)


def force_figures(figures: Figures, fit: gs.InverseFit, plain: np.ndarray) -> None:
    """Held-out errors of each joint and of all, ours and those of the plain regression [nv]."""
    for error, other in zip(fit.errors, plain, strict=True):
        figures.note(f"{error.channel}, held out, file", error.heldout_before, error.unit)
        figures.note(f"{error.channel}, held out, plain regression", other, error.unit)
        figures.note(f"{error.channel}, held out, base parameters", error.heldout_base, error.unit)
        figures.note(f"{error.channel}, held out, consistent", error.heldout_after, error.unit)
    ours = together([e.heldout_after for e in fit.errors])
    file = together([e.heldout_before for e in fit.errors])
    figures.note("all joints, held out, file", file, "N m")
    base = together([e.heldout_base for e in fit.errors])
    figures.note("all joints, held out, base parameters", base, "N m")
    figures.note("all joints, held out, plain regression", together(plain), "N m")
    figures.at_most("all joints, held out, consistent", ours, together(plain), "N m")
    share = [e.heldout_after / o for e, o in zip(fit.errors, plain, strict=True)]
    figures.note("joints, mean share of the plain regression's error", float(np.mean(share)))


def quarter_figures(
    figures: Figures, model: gs.Model, given: gs.Recording, plain: Plain, **options: Any
) -> None:
    """Each quarter of a recording held out in turn, the others fitted."""
    start, end = given.overlap
    cuts = np.linspace(start, end, 5)
    for k in range(4):
        before = [given.trim(None, cuts[k])] if k > 0 else []
        after = [given.trim(cuts[k + 1], None)] if k < 3 else []
        held = [given.trim(cuts[k], cuts[k + 1])]
        fit = fitted(model, before + after, holdout=held, **options)
        ours = together([e.heldout_after for e in fit.errors])
        other = together(plain.errors(before + after, held, fit.filtering))
        figures.at_most(f"quarter {k + 1} held out, consistent, <= plain", ours, other, "N m")


def together(errors: Sequence[float] | np.ndarray) -> float:
    """Root mean square over joints."""
    return float(np.sqrt(np.mean(np.square(errors))))


def base_figures(figures: Figures, fit: gs.InverseFit) -> None:
    """Base parameters of the links: as measured, how well, and in the file."""
    for row in fit.base:
        if row.name.startswith("link."):
            name = row.name if len(row.name) < LONGEST else _short(row.name)
            figures.note(f"{name}, file", row.start, row.unit)
            figures.note(name, row.value, row.unit)
            figures.note(f"{name}, standard deviation", row.std, row.unit)


def _short(name: str) -> str:
    """The number that leads a sum, and how many are added to it."""
    lead, *others = name.replace(" - ", " + ").split(" + ")
    return f"{lead} and {len(others)} more"


def body_figures(figures: Figures, model: gs.Model) -> None:
    """Is every inertia one of a body: principal values positive, none above the others' sum?"""
    worst = np.inf
    for mass, six in zip(np.asarray(model.link.mass), np.asarray(model.link.inertia), strict=True):
        if mass > 0:
            xx, yy, zz, xy, xz, yz = six
            a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            worst = min(worst, a / c, (a + b - c) / c)
    figures.at_least("least share of an inertia that is left to the triangle inequality", worst, 0)


def finish(figures: Figures, fit: gs.InverseFit) -> int:
    """Time, then what the fit says in words."""
    figures.note("samples", fit.samples)
    figures.at_most("time of the fit", fit.seconds, LIMIT, "s")
    for sentence in (fit.filtering.text, fit.verdict, *fit.warnings, *fit.notes):
        print(sentence)
    return 0 if figures.finish() else 1
