"""Progress: a bar for fits with stage, cost and an estimate of the time left, lines for others."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from graftsim.identify.results.result import Iteration

# Iterations that a horizon usually takes, for the estimate; the bar stretches when it takes more.
USUAL = 12


class FitProgress:
    """Shows what the solver does; on anything but a terminal it prints a line a stage."""

    def __init__(self, console: Console, stages: int, limit: int) -> None:
        self.console = console
        self.usual = min(USUAL, limit)
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
        self.task = self.bar.add_task("compiling", total=self.usual * stages, cost="")
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
        self.bar.update(self.task, description=text, cost="")

    def tasks(self, done: int, total: int) -> None:
        """So many tasks of a search's round are done, by whichever worker."""
        self.bar.update(self.task, description=f"searching, {done} of {total} tasks", cost="")

    def update(self, entry: Iteration, stage: int, stages: int) -> None:
        """One iteration is done."""
        if stage != self.stage:
            self.stage = stage
            if not self.console.is_terminal:
                where = f"horizon {entry.horizon:.3g} s ({stage + 1} of {stages})"
                self.console.print(f"{where}, cost {entry.cost:.4g}")
        done = stage * self.usual + min(entry.iteration, self.usual - 1)
        self.bar.update(
            self.task,
            description=f"horizon {entry.horizon:.3g} s, {stage + 1} of {stages}",
            completed=done,
            cost=f"cost {entry.cost:.4g}",
        )


class LineProgress:
    """Says line by line what was done; on a terminal a spinner shows what is going on now."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.status = console.status("starting") if console.is_terminal else None

    def __enter__(self) -> LineProgress:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is not None:
            self.status.stop()

    def say(self, text: str) -> None:
        """One more line."""
        self.console.print(text, soft_wrap=True)
        if self.status is not None:
            self.status.update(text)
