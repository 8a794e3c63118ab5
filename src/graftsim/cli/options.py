"""What commands take: frozen structs that flags fill, and how flags are read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
import tyro

from graftsim.cli.choices import names
from graftsim.errors import ProblemError
from graftsim.selectors import outside, unquoted
from graftsim.strategies import CONTACT_LAWS, INTEGRATORS

Strings = tuple[str, ...]
Base = Literal["auto", "fixed", "free"]
if TYPE_CHECKING:
    IntegratorName = ContactName = str
else:
    IntegratorName = names(strategies=INTEGRATORS)
    ContactName = names("none", strategies=CONTACT_LAWS)
Flag = Annotated[bool, tyro.conf.arg(help_behavior_hint="")]
Options = TypeVar("Options", bound=msgspec.Struct)

# Numbers within what makes sense, by flag and by run file alike; NaN is in none of them.
Step = Annotated[float, msgspec.Meta(ge=1e-9, le=10.0)]
Seconds = Annotated[float, msgspec.Meta(ge=1e-6, le=1e7)]
Frequency = Annotated[float, msgspec.Meta(ge=1e-3, le=1e6)]
Height = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
Deviation = Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]
Holdout = Annotated[float, msgspec.Meta(ge=0.0, lt=0.9)]
Share = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10**6)]
Number = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]

# Flags of nested structs without the struct's name, --json without --no-json, no {None} in help.
STYLE = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)


def shown(metavar: str, help: str | None = None) -> Any:
    """What stands for a value in the help; the text says what holds by default. help: instead of
    the field's docstring.
    """
    return tyro.conf.arg(metavar=metavar, help=help, help_behavior_hint="")


class TouchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on what touches."""

    contact: ContactName = "none"
    """Law of contact. complementarity and lcp are rigid, with Coulomb's cone and with a pyramid;
    spring-damper gives way."""
    ground: Annotated[Height | None, shown("HEIGHT")] = None
    """Put a floor, a plane named 'ground', at this height (m); default: what the file has."""
    self_collision: Literal["auto", "on", "off"] = "auto"
    """Whether links of one robot touch each other; auto: as an MJCF file says, not in a URDF."""


class FileOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on how a robot file is read."""

    package_dir: Annotated[Strings, shown("FOLDER...")] = ()
    """Where package:// meshes and $(find ...) of a URDF are: packages, or folders of packages."""
    without: Annotated[Strings, shown("KIND...")] = ()
    """Leave out what has no counterpart here, instead of refusing the file: tendons, actuators,
    equality, meshes, ... (the error of a file names the word)."""


class InspectOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Print what is in a robot file: tree, masses, joints, actuators, what was skipped and why.

    Example: graftsim inspect arm.urdf --parameters
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")]
    """Robot file, URDF or MJCF."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    variables: Flag = False
    """Also list the named variables of a simulation: what can be recorded."""
    parameters: Flag = False
    """Also list the parameters that can be fitted, with their values."""
    json: Flag = False
    """Print JSON instead of tables."""
    file: FileOptions = FileOptions()
    touch: TouchOptions = TouchOptions()


class SimulateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Simulate a robot and write the motion as a log that `graftsim fit` reads.

    Example: graftsim simulate arm.urdf --seconds 5 --q elbow=0.5 --out motion.csv
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")]
    """Robot file, URDF or MJCF."""
    out: Annotated[str, shown("FILE")] = "motion.csv"
    """Log to write; default: motion.csv."""
    view: Annotated[str | None, shown("FILE")] = None
    """Also write a 3-D replay to this HTML file."""
    seconds: Annotated[Seconds, shown("S")] = 5.0
    """Simulated time; default: 5 s."""
    dt: Annotated[Step, shown("S")] = 0.002
    """Step, also the sample interval of the log; default: 0.002 s."""
    substeps: Annotated[Count | None, shown("N")] = None
    """Integrator steps in each dt; default: 1 for rk4, else so many that a step is at most 1 ms."""
    integrator: IntegratorName = "semi_implicit_euler"
    """rk4 is the most exact for smooth systems; implicit_damping stands any friction."""
    q: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Initial positions (rad, m), 'elbow=0.5'; names with , = [ ] in quotes; default: as the file
    draws the robot."""
    key: Annotated[str | None, shown("NAME")] = None
    """Start from this key frame of an MJCF file, and hold its commands if there are no others."""
    qd: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Initial velocities (rad/s, m/s), 'elbow=0.1'; default: at rest."""
    set: Annotated[Strings, shown("SELECTOR=VALUE...")] = ()
    """Parameter values, 'joint.damping[*]=0.1' or 'joint.damping["a,b"]=0.1', instead of the robot
    file's."""
    controls: Annotated[str | None, shown("LOG")] = None
    """Log with control[...] channels to play; default: no commands."""
    record: Annotated[Strings, shown("VARIABLE...")] = ()
    """Also write named variables, such as 'joint.tau_passive[*]' (see inspect --variables)."""
    noise: Annotated[Deviation, shown("STD")] = 0.0
    """Standard deviation of white noise added to positions and velocities; default: none."""
    seed: Annotated[Seed, tyro.conf.arg(metavar="N")] = 0
    """Seed of the noise."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    file: FileOptions = FileOptions()
    touch: TouchOptions = TouchOptions()


def parse(kind: type[Options], command: str, args: Sequence[str], default: Any = None) -> Options:
    """Options of a command from its flags; SystemExit 2 with a message when they are wrong.

    Raises ProblemError: a number out of its range.
    """
    start = {} if default is None else {"default": default}
    found = tyro.cli(kind, prog=f"graftsim {command}", args=args, config=STYLE, **start)
    try:
        return msgspec.convert(msgspec.to_builtins(found), kind)
    except msgspec.ValidationError as error:
        raise ProblemError(_out_of_range(str(error), found)) from None


def _out_of_range(said: str, found: Any) -> str:
    """In words of flags, of "Expected `float` >= 0.0 - at `$.networks.sparsity`"."""
    expected, _, place = said.replace("`", "").partition(" - at $.")
    path = re.findall(r"\w+", place)
    value = found
    for key in path:
        value = value[int(key)] if key.isdigit() else getattr(value, key)
    flag = [key for key in path if not key.isdigit()][-1].replace("_", "-")
    words = {"float": "a number", "int": "a whole number", "array of length >= 1": "a value"}
    for name, word in words.items():
        expected = expected.replace(f"Expected {name}", word)
    return f"--{flag}: {expected} is expected, not {value}."


def assignments(items: Sequence[str], what: str) -> dict[str, str]:
    """`name=value` pairs; ProblemError shows the form."""
    pairs = {}
    for item in items:
        name, *rest = outside(item, "=")
        value = "=".join(rest).strip()
        if not name.strip() or not value:
            raise ProblemError(
                f"{what}: '{item}' is not of the form NAME=VALUE. A name that holds = or , stands "
                "in quotes: '\"a=b\"=0.1'."
            )
        pairs[unquoted(name)] = value
    return pairs


def number(value: Any, what: str) -> float:
    """A float of a flag's text or of a run file's value; ProblemError names the place."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        raise ProblemError(f"{what}: {value!r} is not a number.")
    return found
