"""What `view` takes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import tyro

from graftsim.cli.options import (
    Base,
    Count,
    FileOptions,
    Flag,
    IntegratorName,
    Step,
    Strings,
    TouchOptions,
    shown,
)

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Speed = Annotated[float, msgspec.Meta(ge=1e-4, le=1e3)]


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Watch a robot live in the browser: stop it, slow it down, drag it, move joints, see forces.

    Example: graftsim view arm.urdf --q elbow=0.5 --plot joint.qd
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")]
    """Robot file, URDF or MJCF."""
    host: Annotated[str, shown("ADDRESS")] = "127.0.0.1"
    """Address to serve at; default: this machine alone. 0.0.0.0: whoever can reach it."""
    port: Annotated[Port, shown("N")] = 8080
    """Port to serve at; default: 8080. 0: any that is free."""
    speed: Annotated[Speed, shown("FACTOR")] = 1.0
    """Simulated seconds a second; default: 1."""
    paused: Flag = False
    """Begin with time standing still."""
    plot: Annotated[str | None, shown("VARIABLE")] = None
    """Variable to plot, such as joint.qd; the window has a list."""
    dt: Annotated[Step, shown("S")] = 0.002
    """Step of the simulation; default: 0.002 s."""
    substeps: Annotated[Count | None, shown("N")] = None
    """Integrator steps in each dt; default: 1 for rk4, else so many that a step is at most 1 ms."""
    integrator: IntegratorName = "implicit_damping"
    """rk4 is the most exact for smooth systems; implicit_damping stands any friction."""
    q: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Initial positions (rad, m), 'elbow=0.5'; default: as the file draws the robot."""
    key: Annotated[str | None, shown("NAME")] = None
    """Start from this key frame of an MJCF file, and hold its commands."""
    qd: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Initial velocities (rad/s, m/s), 'elbow=0.1'; default: at rest."""
    set: Annotated[Strings, shown("SELECTOR=VALUE...")] = ()
    """Parameter values, 'joint.damping[*]=0.1', instead of the robot file's."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""
    file: FileOptions = FileOptions()
    touch: TouchOptions = TouchOptions(contact="complementarity")

    @property
    def record(self) -> Strings:
        """Variables that the simulation must have."""
        return () if self.plot is None else (self.plot,)
