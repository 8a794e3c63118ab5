"""One door for exports: a fit, a format by its name, a place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graftsim.errors import ProblemError, suggest
from graftsim.export.fitted import Fitted
from graftsim.export.format import PHYSICS_DT, ExportFormat, Logs
from graftsim.export.formats import EXPORT_FORMATS
from graftsim.identify.results.result import Result
from graftsim.recordings.recording import Recording


class Exported(NamedTuple):
    """Where an export lies, and what was measured or could not be said."""

    path: Path
    notes: tuple[str, ...]


def export(
    fit: Result | str | Path,
    form: str | ExportFormat,
    out: str | Path | None = None,
    *,
    dt: float = PHYSICS_DT,
    recordings: Sequence[Recording] = (),
    heldout: Sequence[Recording] = (),
) -> Exported:
    """Write a fit for another program.

    fit: what `fit` returned, or the folder of its report. form: "mjcf", "urdf", "isaac", "mjlab",
    "onnx-actuator", or an `ExportFormat` of your own. out: file or folder; default: in the fit's
    folder, for a result in the present one, under the format's own name. dt: step of the other
    program's physics (s), in which delays are counted. recordings, heldout: of the fit, for formats
    that learn from them.

    Raises ProblemError: no such format, no recordings for one that needs them; FileError: a folder
    without a fit; GraftsimError: the format cannot have this fit; OSError.
    """
    chosen = form_of(form)
    found = Fitted.of(fit) if isinstance(fit, Result) else Fitted.read(fit)
    if not dt > 0:
        raise ProblemError(f"dt, the step of the other program, must be positive, got {dt} s.")
    if chosen.reads_logs and not recordings:
        raise ProblemError(
            f"'{chosen.name}' learns from the recordings of the fit: recordings=[...]."
        )
    path = Path(out) if out is not None else (found.folder or Path()) / chosen.target
    said = found.remarks + chosen.write(
        found, path, float(dt), Logs(tuple(recordings), tuple(heldout))
    )
    return Exported(path, tuple(said))


def form_of(form: str | ExportFormat) -> ExportFormat:
    """A format by its name. Raises ProblemError: there is none."""
    if isinstance(form, ExportFormat):
        return form
    names = {f.name: f for f in EXPORT_FORMATS}
    if form not in names:
        raise ProblemError(f"There is no export '{form}'. {suggest(form, names)}")
    return names[form]
