"""Writing what was found, so that nothing that took minutes is lost."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from graftsim.check import Finding
from graftsim.errors import GraftsimError
from graftsim.identify.discover.findings import Discovery
from graftsim.identify.results.result import Result
from graftsim.report import write_report
from graftsim.report.write import facts


def write(
    outcome: Result | Discovery,
    folder: str,
    console: Console,
    findings: Sequence[Finding] | None = None,
) -> bool:
    """Write a report and say where it is; whether it could be written.

    findings: of the check of the recordings, None if there was none.

    Where it cannot (a full disk, a folder that is gone), the numbers go to a file in the system's
    folder for temporary files.
    """
    try:
        page = write_report(outcome, folder, findings=findings)
    except (GraftsimError, OSError) as error:
        console.print(f"warning: the report could not be written: {error}", style="yellow")
        try:
            spare = Path(tempfile.mkdtemp(prefix="graftsim-")) / "fit.json"
            text = json.dumps(facts(outcome, findings), indent=2) + "\n"
            spare.write_text(text, encoding="utf-8")
            console.print(f"The numbers are in {spare}", soft_wrap=True)
        except OSError:
            console.print("The numbers could not be written anywhere else.")
        return False
    console.print(f"report: {page}", soft_wrap=True)
    return True
