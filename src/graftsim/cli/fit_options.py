"""What `graftsim fit` takes: groups of options, filled by flags and strictly read TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import tyro

from graftsim.cli.options import Base, Flag, IntegratorName, Strings, parse, shown
from graftsim.errors import ProblemError, suggest

TABLES = ("free", "columns", "noise", "sensors", "start")


class DataOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the recordings."""

    columns: Annotated[Strings, shown("CHANNEL=COLUMN...")] = ()
    """Channels by column, 'joint.q[elbow]=pos2' or with a unit 'joint.q[elbow]=pos2:deg'."""
    sensors: Annotated[Strings, shown("CHANNEL...")] = ()
    """Channels to explain; default: all that a sensor explains, commands excepted."""
    noise: Annotated[Strings, shown("CHANNEL=STD...")] = ()
    """Sensor noise, 'joint.q[elbow]=0.001'; default: estimated from the data."""
    missing: Literal["error", "gap"] = "error"
    """Empty or non-finite cells of a log: refuse them, or leave a gap."""
    heldout: Annotated[Strings, shown("LOG...")] = ()
    """Recordings kept for judgement; default: the end of each recording."""
    holdout: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.25
    """Share of each recording that is held out when --heldout is not given."""


class SimulationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the model and how it is simulated."""

    start: Annotated[Strings, shown("SELECTOR=VALUE...")] = ()
    """Starting values, 'joint.damping[*]=0.1', instead of the robot file's."""
    dt: Annotated[float | None, shown("S")] = None
    """Simulation step; default: the logs' sample interval, at most 5 ms."""
    substeps: Annotated[int | None, shown("N")] = None
    """Integrator steps in each dt; default: 1 for rk4, else so many that a step is at most 1 ms."""
    integrator: IntegratorName = "implicit_damping"
    """rk4 is the most exact for smooth systems; implicit_damping stands any friction."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""


class SolverOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the comparison with the data and the search."""

    horizon: Annotated[float | None, shown("S")] = None
    """Length of the windows that are simulated; default: 0.5 s, shorter for short logs."""
    growth: Annotated[tuple[float, ...], tyro.conf.arg(metavar="SHARE...")] = (0.25, 1.0)
    """Shorter horizons to go through first, as shares of the last."""
    initial: Literal["free", "measured"] = "free"
    """Whether the initial state of each window is fitted or taken from the data."""
    loss: Literal["squared", "huber", "one_step"] = "squared"
    """huber forgives outliers; one_step compares single steps from measured states."""
    solver: Literal["levenberg_marquardt", "lbfgs", "adam"] = "levenberg_marquardt"
    """Local optimiser."""
    iterations: Annotated[int, tyro.conf.arg(metavar="N")] = 50
    """At most so many iterations a horizon."""


class FitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Fit a robot file to recordings, and write a report, the numbers and the fitted robot.

    Example: graftsim fit arm.urdf run*.csv --free 'joint.damping[*]' 'link.mass[arm]=0.1:5'

    Columns of a log are taken by their header when it is a channel name (time, joint.q[elbow],
    joint.tau[elbow], control[motor], link.position[tip]); otherwise map them with --columns.
    Anything longer than a line goes into a TOML file given by --run; flags override it.
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")] = ""
    """Robot file, URDF or MJCF."""
    logs: Annotated[Strings, tyro.conf.Positional, shown("LOG...")] = ()
    """Recordings: CSV, Parquet or NPZ; patterns such as 'logs/*.csv' are expanded."""
    free: Annotated[Strings, shown("SELECTOR[=LOW:HIGH]...")] = ()
    """What to fit: 'joint.damping[*]', with bounds 'link.mass[arm]=0.1:5'; default: link masses
    (held near the file's values), joint damping and friction."""
    out: Annotated[str, shown("FOLDER")] = "fit-out"
    """Folder for report.html, fit.json and the fitted robot; default: fit-out."""
    run: Annotated[str | None, shown("FILE")] = None
    """TOML file with any of these options by the names of their flags (repair_inertia = true), and
    tables for free, columns, noise, sensors and start."""
    resume: Flag = False
    """Go on from the checkpoint in the output folder."""
    json: Flag = False
    """Print the result as JSON on standard output, and nothing else there."""
    quiet: Flag = False
    """No progress bar and no tables."""
    data: DataOptions = DataOptions()
    simulation: SimulationOptions = SimulationOptions()
    solver: SolverOptions = SolverOptions()


GROUPS: dict[str, type[msgspec.Struct]] = {
    "data": DataOptions,
    "simulation": SimulationOptions,
    "solver": SolverOptions,
}


def parse_fit(args: Sequence[str]) -> tuple[FitOptions, dict[str, Any]]:
    """Options of `fit` and the tables of its run file (free, columns, noise, sensors, start).

    Raises ProblemError: a run file that is wrong, no robot, no recording.
    """
    default, tables = FitOptions(), {}
    path = _run_file(args)
    if path is not None:
        default, tables = read_run_file(path)
    options = parse(FitOptions, "fit", args, default)
    if not options.robot:
        raise ProblemError(
            "Which robot? graftsim fit ROBOT LOG..., or robot = '...' in --run FILE."
        )
    if not options.logs:
        raise ProblemError("Which recordings? graftsim fit ROBOT LOG..., or logs = [...] in --run.")
    return options, tables


def _run_file(args: Sequence[str]) -> str | None:
    for i, arg in enumerate(args):
        if arg == "--run" and i + 1 < len(args):
            return args[i + 1]
        if arg.startswith("--run="):
            return arg[len("--run=") :]
    return None


def read_run_file(path: str | Path) -> tuple[FitOptions, dict[str, Any]]:
    """A TOML run file, checked strictly: an unknown key or a wrong type is an error with its place.

    Keys are the names of the flags, without groups. Paths in it are relative to the file.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProblemError(f"Run file {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProblemError(f"Run file {path}: {error}.") from error
    tables = {k: content.pop(k) for k in TABLES if isinstance(content.get(k), dict)}
    known = _keys()
    values: dict[str, dict[str, Any]] = {group: {} for group in ("", *GROUPS)}
    for key, value in content.items():
        if key not in known:
            raise ProblemError(f"Run file {path}: unknown key '{key}'. {suggest(key, known)}")
        group, kind = known[key]
        try:
            values[group][key] = msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ProblemError(f"Run file {path}: {key} = {value!r}: {error}.") from error

    def near(name: str) -> str:
        return name if Path(name).is_absolute() else str(path.parent / name)

    top, data = values[""], values["data"]
    if "robot" in top:
        top["robot"] = near(top["robot"])
    for place, key in ((top, "logs"), (data, "heldout")):
        place[key] = tuple(near(x) for x in place.get(key, ()))
    nested = top | {group: values[group] for group in GROUPS} | {"run": str(path)}
    return msgspec.convert(nested, FitOptions), tables


def _keys() -> dict[str, tuple[str, Any]]:
    """Keys of a run file: the group of each ("" for none), and its type."""
    keys = {f.name: ("", f.type) for f in msgspec.structs.fields(FitOptions)}
    for name, kind in GROUPS.items():
        del keys[name]
        keys |= {f.name: (name, f.type) for f in msgspec.structs.fields(kind)}
    del keys["run"]
    return keys
