"""Writing a report's folder: report.html, fit.json, robot.xml, grafts.safetensors."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graftsim.check import Finding
from graftsim.errors import GraftsimError
from graftsim.identify.discover.findings import Discovery
from graftsim.identify.results.result import Result
from graftsim.report.page import SECTIONS, render
from graftsim.report.section import Extras, Section
from graftsim.viewer.files import check_folder, write_atomically
from graftsim.viewer.libraries import require

if TYPE_CHECKING:
    from graftsim.viewer import ReplayPage


def write_report(
    outcome: Result | Discovery,
    folder: str | Path,
    *,
    sections: tuple[Section, ...] = SECTIONS,
    findings: Sequence[Finding] | None = None,
) -> Path:
    """Write `report.html`, `fit.json` and `robot.xml` into a folder; returns the page's path.

    outcome: what `fit` or `discover` returned; a discovery goes to the top of the page, grafts to
    `grafts.safetensors`. The page holds all it shows and asks no network for anything. Each file is
    put in place whole. Without viser the 3-D replay is left out, and the page says so. sections: of
    the page, in order. findings: what `check` found in the recordings, for the page and fit.json.

    Raises GraftsimError: as `check_report`. What cannot be expressed or drawn beside the numbers (a
    robot file, the replay) is left out, and the page says why.
    """
    discovery = outcome if isinstance(outcome, Discovery) else None
    result = outcome.result if isinstance(outcome, Discovery) else outcome
    check_report(folder)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(facts(outcome, findings), indent=2, allow_nan=False) + "\n"
    write_atomically(folder / "fit.json", text)
    weights = _write_grafts(result, folder / "grafts.safetensors")
    lost, robot_note = _write_robot(result, folder / "robot.xml")
    replay, replay_note = _replay(result)
    extras = Extras(
        replay=replay,
        replay_note=replay_note,
        robot=not robot_note,
        robot_note=robot_note,
        not_expressed=tuple(lost),
        weights=weights,
        findings=None if findings is None else tuple(findings),
    )
    return write_atomically(folder / "report.html", render(result, extras, discovery, sections))


def facts(outcome: Result | Discovery, findings: Sequence[Finding] | None = None) -> dict[str, Any]:
    """What `fit.json` holds: the outcome, and the findings of a check of the recordings if any."""
    found = {} if findings is None else {"findings": [f.as_json() for f in findings]}
    return outcome.as_json() | found


def check_report(folder: str | Path) -> None:
    """Make sure that a report can be written into a folder, before what it is about is computed.

    Raises GraftsimError: Matplotlib or Jinja is not installed; FileError: the folder is a file,
    cannot be made or cannot be written into.
    """
    require("The report", "matplotlib", "jinja2")
    check_folder(folder)


def _in_place(target: Path, write: Any) -> Any:
    """Let `write` make a file beside the target, then put it there."""
    partial = target.with_name(f".{target.stem}-{os.getpid()}{target.suffix}")
    try:
        outcome = write(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return outcome


def _write_grafts(result: Result, target: Path) -> bool:
    """Save the trained grafts; False when there are none. An old file does not stay."""
    target.unlink(missing_ok=True)
    if result.simulator.grafts is None:
        return False
    from graftsim.graft.store import save_grafts

    save_grafts(result.simulator, target)
    return True


def _write_robot(result: Result, target: Path) -> tuple[list[str], str]:
    """What the robot file could not express, and why there is none, if so."""
    if importlib.util.find_spec("graftsim.io.mjcf.write") is None:
        return [], "No robot file was written: this version cannot write MJCF."
    from graftsim.io.write import write_mjcf

    try:
        return list(_in_place(target, lambda path: write_mjcf(result.model, path)) or ()), ""
    except Exception as e:  # of any kind: the numbers took minutes, the page is to have them
        return [], f"The robot file could not be written: {_said(e)}"


def _said(error: Exception) -> str:
    """The message of an error; its kind too where it was not raised for readers."""
    return str(error) if isinstance(error, GraftsimError) else f"{type(error).__name__}: {error}"


def _replay(result: Result) -> tuple[ReplayPage | None, str]:
    """The replay, or why there is none."""
    if not result.replays:
        return None, "The fit kept no motion to replay."
    from graftsim.viewer import replay_page

    try:
        page = replay_page(result.model, result.replays)
    except Exception as e:  # as above
        return None, f"The 3-D replay was left out. {_said(e)}"
    if not page.scenes:
        return None, "The simulated motion is not finite, so there is nothing to replay."
    return page, ""
