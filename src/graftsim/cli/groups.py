"""Groups of options that several commands take."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import tyro

from graftsim.cli.options import (
    Base,
    Count,
    FileOptions,
    Flag,
    Holdout,
    IntegratorName,
    Seconds,
    Step,
    Strings,
    shown,
)

EffortName = Literal["torque", "current"]


class DataOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the recordings."""

    columns: Annotated[Strings, shown("CHANNEL=COLUMN...")] = ()
    """Channels by column, 'joint.q[elbow]=pos2' or with a unit 'joint.q[elbow]=pos2:deg'; for all
    that fit, 'joint.q[joint{n}]=q_{n}'; the clock 'time=COLUMN', or 'time=0.01' (s apart)."""
    sensors: Annotated[Strings, shown("CHANNEL...")] = ()
    """Channels to explain; default: all that a sensor explains, commands excepted."""
    noise: Annotated[Strings, shown("CHANNEL=STD...")] = ()
    """Sensor noise, 'joint.q[elbow]=0.001'; default: estimated from the data."""
    missing: Literal["error", "gap"] = "error"
    """Empty or non-finite cells of a log: refuse them, or leave a gap."""
    duplicates: Literal["error", "keep_first", "average"] = "error"
    """Samples of one time: refuse them, keep the first, or take their mean."""
    sort: Flag = False
    """Sort samples by time, where a log was written out of order."""
    merge: Literal["auto", "clock", "align", "no"] = "auto"
    """Logs that are parts of one run: auto merges one that has only commands with the one that has
    only the motion; clock merges all, on one clock; align first finds the offsets of their clocks
    (of logs that have both, the offset of the commands in each).
    """
    heldout: Annotated[Strings, shown("LOG...")] = ()
    """Recordings kept for judgement; default: the end of each recording."""
    holdout: Annotated[Holdout, tyro.conf.arg(metavar="SHARE")] = 0.25
    """Share of each recording that is held out when --heldout is not given."""
    scale: Annotated[Strings, shown("CHANNEL=FACTOR|UNIT...")] = ()
    """Factors for channels, 'joint.qd[elbow]=-1', or the unit they are in, 'joint.q[*]=deg'."""
    offset: Annotated[Strings, shown("CHANNEL=VALUE...")] = ()
    """Added to channels (SI), 'joint.q[elbow]=0.12'."""
    rename: Annotated[Strings, shown("CHANNEL=CHANNEL...")] = ()
    """Other names for channels, 'joint.q[elbw]=joint.q[elbow]'; a signal[...] is not used."""
    unwrap: Annotated[Strings, shown("CHANNEL...")] = ()
    """Angles that jump by full turns."""
    distinct: Annotated[Strings, shown("CHANNEL...")] = ()
    """Sensors slower than the log: leave out the samples that repeat the last."""
    trim: Annotated[str, shown("START:END")] = ""
    """Use only this time of each recording (s); either may be left out."""
    clock: Annotated[str, shown("even|UNIT|CHANNEL")] = ""
    """Put samples equally far apart, or read the clock in ms, us or ns, or take the time from a
    channel 'signal[stamp]'."""


class SimulationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the model and how it is simulated."""

    start: Annotated[Strings, shown("SELECTOR=VALUE...")] = ()
    """Starting values, 'joint.damping[*]=0.1', instead of the robot file's."""
    dt: Annotated[Step | None, shown("S")] = None
    """Simulation step; default: the logs' sample interval, at most 5 ms."""
    substeps: Annotated[Count | None, shown("N")] = None
    """Integrator steps in each dt; default: 1 for rk4, else so many that a step is at most 1 ms."""
    integrator: IntegratorName = "implicit_damping"
    """rk4 is the most exact for smooth systems; implicit_damping stands any friction."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    actuators: Literal["file", "torque"] = "file"
    """torque: put a torque on every hinge and slide in place of the file's actuators, for logs of
    measured torques."""
    file: FileOptions = FileOptions()


class ComparisonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on the comparison with the data."""

    horizon: Annotated[Seconds | None, shown("S")] = None
    """Length of the windows that are simulated; default: 0.5 s, shorter for short logs."""
    initial: Literal["free", "measured"] = "free"
    """Whether the initial state of each window is fitted or taken from the data."""
