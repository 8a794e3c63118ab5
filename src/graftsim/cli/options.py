"""What commands take: frozen structs that flags and TOML run files fill alike, strictly."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import tyro

from graftsim.errors import ProblemError

Strings = tuple[str, ...]


class FitOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fit a robot file to recordings, and write a report, the numbers and the fitted robot.

    Example: graftsim fit arm.urdf run1.csv run2.csv --free 'joint.damping[*]' 'link.mass[arm]=0.1:5'

    Columns of a log are taken by their header when it is a channel name (time, joint.q[elbow],
    joint.tau[elbow], control[motor], link.position[tip]); otherwise map them with --columns.
    Anything longer than a line goes into a TOML file given by --run; flags override it.
    """

    robot: Annotated[str, tyro.conf.Positional] = ""
    """Robot file, URDF or MJCF."""
    logs: Annotated[Strings, tyro.conf.Positional] = ()
    """Recordings: CSV, Parquet or NPZ; patterns such as 'logs/*.csv' are expanded."""
    run: str | None = None
    """TOML file with any of these options (and tables for free, columns, noise, sensors, start)."""
    out: str = "fit-out"
    """Folder for report.html, fit.json and the fitted robot."""
    free: Strings = ()
    """What to fit: 'joint.damping[*]', with bounds 'link.mass[arm]=0.1:5'; default: link masses
    (held near the file's values), joint damping and friction."""
    start: Strings = ()
    """Starting values, 'joint.damping[*]=0.1', instead of the robot file's."""
    columns: Strings = ()
    """Channels by column, 'joint.q[elbow]=pos2' or with a unit 'joint.q[elbow]=pos2:deg'."""
    noise: Strings = ()
    """Sensor noise, 'joint.q[elbow]=0.001' (standard deviation); estimated where not given."""
    heldout: Strings = ()
    """Recordings kept for judgement; default: the last quarter of each recording."""
    holdout: float = 0.25
    """Share of each recording that is held out when --heldout is not given."""
    dt: float | None = None
    """Simulation step (s); default: the logs' sample interval, at most 5 ms."""
    substeps: int = 1
    """Integrator steps in each dt."""
    integrator: Literal["semi_implicit_euler", "implicit_damping", "rk4"] = "implicit_damping"
    """rk4 is the most exact for smooth systems; implicit_damping stands any friction."""
    horizon: float | None = None
    """Length of the windows that are simulated (s); default: 0.5, shorter for short logs."""
    growth: tuple[float, ...] = (0.25, 1.0)
    """Shorter horizons to go through first, as shares of the last."""
    initial: Literal["free", "measured"] = "free"
    """Whether the initial state of each window is fitted or taken from the data."""
    loss: Literal["squared", "huber", "one_step"] = "squared"
    """huber forgives outliers; one_step compares single steps from measured states."""
    solver: Literal["levenberg_marquardt", "lbfgs", "adam"] = "levenberg_marquardt"
    """Local optimiser."""
    iterations: int = 50
    """At most so many iterations a horizon."""
    base: Literal["auto", "fixed", "free"] = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: bool = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    missing: Literal["error", "gap"] = "error"
    """What to do with empty or non-finite cells of a log: refuse, or leave a gap."""
    resume: bool = False
    """Go on from the checkpoint in the output folder."""
    json: bool = False
    """Print the result as JSON on standard output, and nothing else there."""
    quiet: bool = False
    """No progress bar and no tables."""


class InspectOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Print what is in a robot file: tree, masses, joints, actuators, what was skipped and why."""

    robot: Annotated[str, tyro.conf.Positional]
    """Robot file, URDF or MJCF."""
    base: Literal["auto", "fixed", "free"] = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: bool = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    variables: bool = False
    """Also list the named variables of a simulation: what can be recorded."""
    parameters: bool = False
    """Also list the parameters that can be fitted, with their values."""
    json: bool = False
    """Print JSON instead of tables."""


class SimulateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Simulate a robot and write the motion as a log that `graftsim fit` reads.

    Example: graftsim simulate arm.urdf --seconds 5 --q elbow=0.5 --out motion.csv
    """

    robot: Annotated[str, tyro.conf.Positional]
    """Robot file, URDF or MJCF."""
    seconds: float = 5.0
    """Simulated time."""
    dt: float = 0.002
    """Step (s), also the sample interval of the log."""
    substeps: int = 1
    """Integrator steps in each dt."""
    integrator: Literal["semi_implicit_euler", "implicit_damping", "rk4"] = "semi_implicit_euler"
    """Integrator."""
    q: Strings = ()
    """Initial positions by joint, 'elbow=0.5'."""
    qd: Strings = ()
    """Initial velocities by joint, 'elbow=0.1'."""
    set: Strings = ()
    """Parameter values, 'joint.damping[*]=0.1'."""
    controls: str | None = None
    """Log with control[...] channels to play."""
    record: Strings = ()
    """Also write named variables, such as joint.tau_passive[*]."""
    noise: float = 0.0
    """Standard deviation of white noise added to positions and velocities."""
    seed: int = 0
    """Seed of the noise."""
    base: Literal["auto", "fixed", "free"] = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    out: str = "motion.csv"
    """Log to write."""
    view: str | None = None
    """Also write a 3-D replay to this HTML file."""


def parse_fit(args: Sequence[str]) -> tuple[FitOptions, dict[str, Any]]:
    """Options of `fit` and the tables of its run file (free, columns, noise, sensors, start)."""
    tables: dict[str, Any] = {}
    default = FitOptions()
    path = _run_file(args)
    if path is not None:
        default, tables = read_run_file(path)
    options = tyro.cli(FitOptions, prog="graftsim fit", args=args, default=default)
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

    Paths in it are relative to the file.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProblemError(f"Run file {path}: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ProblemError(f"Run file {path}: {error}.") from error
    tables = {
        k: content.pop(k)
        for k in ("free", "columns", "noise", "sensors", "start")
        if isinstance(content.get(k), dict)
    }
    try:
        options = msgspec.convert(content, FitOptions)
    except msgspec.ValidationError as error:
        raise ProblemError(f"Run file {path}: {error}.") from error

    def near(name: str) -> str:
        return name if Path(name).is_absolute() or not name else str(path.parent / name)

    return (
        msgspec.structs.replace(
            options,
            run=str(path),
            robot=near(options.robot),
            logs=tuple(near(x) for x in options.logs),
            heldout=tuple(near(x) for x in options.heldout),
        ),
        tables,
    )


def assignments(items: Sequence[str], what: str) -> dict[str, str]:
    """`name=value` pairs; ProblemError shows the form."""
    pairs = {}
    for item in items:
        name, sep, value = item.rpartition("=")
        if not sep or not name or not value:
            raise ProblemError(f"{what}: '{item}' is not of the form NAME=VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def number(text: str, what: str) -> float:
    """A float; ProblemError names the place."""
    try:
        return float(text)
    except ValueError:
        raise ProblemError(f"{what}: '{text}' is not a number.") from None
