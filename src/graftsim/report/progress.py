"""Progress of a fit: a bar on a terminal and in a notebook, a line a stage elsewhere."""

from __future__ import annotations

from html import escape
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from graftsim.identify.results.result import Iteration

# Iterations that a horizon usually takes, for the estimate; the bar stretches when it takes more.
USUAL = 12


class FitProgress:
    """Shows what a fit does while it is open, with stage, cost and an estimate of the time left.

    `with gs.FitProgress() as progress: gs.fit(problem, progress=progress)`. console: of rich, by
    default that of the standard output. limit: the solver's iterations, if they are few.
    """

    def __init__(self, console: Console | None = None, limit: int = USUAL) -> None:
        self.console = console or Console(highlight=False, markup=False)
        self.usual = min(USUAL, limit)
        self.bar: _Bar = _Cell() if self.console.is_jupyter else _Line(self.console)
        self.lines = not (self.console.is_jupyter or self.console.is_terminal)
        self.stage = -1

    def __enter__(self) -> FitProgress:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Show what is going on now."""
        self.bar.show(text, "", None)

    def tasks(self, done: int, total: int) -> None:
        """So many tasks of a search's round are done, by whichever worker."""
        self.say(f"searching, {done} of {total} tasks")

    def __call__(self, entry: Iteration, stage: int, stages: int) -> None:
        """One iteration is done."""
        where = f"horizon {entry.horizon:.3g} s"
        if self.lines and stage != self.stage:
            self.console.print(f"{where} ({stage + 1} of {stages}), cost {entry.cost:.4g}")
        self.stage = stage
        done = stage * self.usual + min(entry.iteration, self.usual - 1)
        share = done / (self.usual * stages)
        self.bar.show(f"{where}, {stage + 1} of {stages}", f"cost {entry.cost:.4g}", share)


class _Bar(Protocol):
    """A bar, from its start to its stop."""

    def start(self) -> None: ...

    def show(self, text: str, cost: str, share: float | None) -> None:
        """What goes on, and which share is done; None leaves it."""

    def stop(self) -> None: ...


class _Line:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, console: Console) -> None:
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[cost]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("compiling", total=1.0, cost="")

    def start(self) -> None:
        self.bar.start()

    def show(self, text: str, cost: str, share: float | None) -> None:
        self.bar.update(self.task, description=text, cost=cost, completed=share)

    def stop(self) -> None:
        self.bar.stop()


class _Cell:
    """A bar below a notebook's cell, which needs no widgets: its HTML is replaced."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.share = 0.0

    def start(self) -> None:
        from IPython.display import HTML, display

        self.handle = display(HTML(self._html("compiling", "")), display_id=True)

    def show(self, text: str, cost: str, share: float | None) -> None:
        from IPython.display import HTML

        self.share = self.share if share is None else share
        self.handle.update(HTML(self._html(text, cost)))

    def stop(self) -> None:
        from IPython.display import HTML

        self.handle.update(HTML(""))

    def _html(self, text: str, cost: str) -> str:
        bar = f'<progress max="1" value="{self.share:.3f}"></progress>'
        return f"<div>{escape(text)} {bar} {escape(cost)}</div>"
