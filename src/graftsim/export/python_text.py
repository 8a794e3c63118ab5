"""Python text of numbers with comments, as the formats of learning programs write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from graftsim._version import __version__
from graftsim.export.fitted import Fitted, Known
from graftsim.export.servos import Servo

DIGITS = 6


def number(value: float) -> str:
    """A literal of a number, infinity included."""
    if not math.isfinite(value):
        return f'float("{value}")'
    text = f"{value:.{DIGITS}g}"
    return text if set(text) & set(".e") else f"{text}.0"


def text(value: str) -> str:
    """A string literal, in double quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if value.isprintable() else repr(value)


def pattern(name: str) -> str:
    """A literal of the regular expression that matches a name alone."""
    return text(re.escape(name))


def comment(said: str) -> str:
    """A text in one line, for behind a `#`."""
    return " ".join(said.split())


def heading(fit: Fitted, program: str, uses: str) -> list[str]:
    """Docstring of a module: what it is, of which robot, how it was made, how it is used."""
    made = f"graftsim {__version__}" + (f", from: {fit.command}" if fit.command else "")
    name = comment(fit.model.name)
    lines = [f"Actuators of {name} as they were fitted, for {program}.", "", f"By {made}", "", uses]
    body = "\n".join(lines).replace("\\", "\\\\").replace('"', "'")
    return [f'"""{body}', '"""', ""]


def ranges(found: Sequence[Servo]) -> list[str]:
    """`RANGES`, by quantity and joint: where each number may lie, and why."""
    lines = ["RANGES = {"]
    for quantity, of in QUANTITIES.items():
        lines.append(f"    {text(quantity)}: {{")
        for servo in found:
            x = of(servo)
            interval = f"({number(x.low)}, {number(x.high)})"
            lines.append(f"        {pattern(servo.joint)}: {interval},  # {comment(x.remark)}")
        lines.append("    },")
    return [*lines, "}"]


QUANTITIES: dict[str, Callable[[Servo], Known]] = {
    "stiffness": lambda s: s.stiffness,
    "damping": lambda s: s.damping,
    "armature": lambda s: s.armature,
    "static_friction": lambda s: s.breakaway,
    "dynamic_friction": lambda s: s.friction,
    "viscous_friction": lambda s: s.viscous,
    "encoder_zero": lambda s: s.zero,
    "delay_seconds": lambda s: s.delay,
}


def zeros(found: Sequence[Servo]) -> list[str]:
    """`ENCODER_ZERO` by joint."""
    lines = [f"    {pattern(s.joint)}: {number(s.zero.value)}," for s in found]
    return ["ENCODER_ZERO = {", *lines, "}"]


def notes(said: Iterable[str]) -> list[str]:
    """Sentences as comments."""
    return [f"# {comment(line)}" for line in said]
