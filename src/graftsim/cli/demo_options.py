"""What `demo` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import tyro

from graftsim.cli.options import Flag, Seconds, shown
from graftsim.cli.view_options import Port, Speed

# Names of the package's demos; they import the engine, which reading flags must not.
NAMES = ("laikago",)
if TYPE_CHECKING:
    DemoName = str
else:
    DemoName = Literal[NAMES]


class DemoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Watch a robot that comes with the package, live in the browser or as a page.

    Example: graftsim demo laikago
    """

    name: Annotated[DemoName, tyro.conf.Positional] = "laikago"
    """laikago: a quadruped that trots under model-predictive control. Pull at it."""
    out: Annotated[str | None, shown("FILE")] = None
    """Write a replay to this HTML file, instead of serving it live."""
    seconds: Annotated[Seconds, shown("S")] = 6.0
    """Simulated time of the replay; default: 6 s."""
    host: Annotated[str, shown("ADDRESS")] = "127.0.0.1"
    """Address to serve at; default: this machine alone. 0.0.0.0: whoever can reach it."""
    port: Annotated[Port, shown("N")] = 8080
    """Port to serve at; default: 8080. 0: any that is free."""
    speed: Annotated[Speed, shown("FACTOR")] = 1.0
    """Simulated seconds a second; default: 1."""
    paused: Flag = False
    """Begin with time standing still."""
