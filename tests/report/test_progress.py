"""Progress: a line a stage in a file, a bar on a terminal and in a notebook."""

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

import graftsim as gs
from graftsim.identify.results.result import Iteration


def iteration(stage: int, k: int) -> Iteration:
    """Iteration k of a stage whose cost falls."""
    return Iteration(stage, 0.25 * (stage + 1), k, 100.0 / (k + 1), 1.0, 0.0, 0.1 * k)


def go(progress: gs.FitProgress) -> None:
    """Two stages of four iterations."""
    with progress:
        for stage in range(2):
            for k in range(4):
                progress(iteration(stage, k), stage, 2)


def test_a_file_has_a_line_a_stage():
    """No bar, and no line for each iteration."""
    out = io.StringIO()
    go(gs.FitProgress(Console(file=out, highlight=False)))
    assert out.getvalue().splitlines() == [
        "horizon 0.25 s (1 of 2), cost 100",
        "horizon 0.5 s (2 of 2), cost 100",
    ]


def test_a_terminal_has_a_bar_that_goes():
    """Stage and cost stand beside the bar, and no line stays."""
    out = io.StringIO()
    progress = gs.FitProgress(Console(file=out, force_terminal=True, width=100))
    with progress:
        progress(iteration(1, 3), 1, 2)
        progress.bar.bar.refresh()
        shown = out.getvalue()
    assert "horizon 0.5 s, 2 of 2" in shown and "cost 25" in shown
    assert progress.bar.bar.tasks[0].percentage == pytest.approx(100 * (12 + 3) / 24)


def test_a_notebook_has_a_bar_in_its_cell(monkeypatch):
    """One display is made and replaced, and is empty in the end."""
    shown = []
    handle = SimpleNamespace(update=shown.append)
    fake = ModuleType("IPython.display")
    fake.HTML = str
    fake.display = lambda html, display_id: shown.append(html) or handle
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    go(gs.FitProgress(Console(file=io.StringIO(), force_jupyter=True)))
    assert "compiling" in shown[0] and shown[-1] == ""
    assert "horizon 0.5 s, 2 of 2" in shown[-2] and 'value="0.625"' in shown[-2]
