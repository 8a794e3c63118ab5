"""Progress of what is not a fit: lines. Fits have `graftsim.report.progress`."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console


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
