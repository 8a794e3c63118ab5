"""The vocabulary of recorded channels, `family.quantity[label]`: widths, dimensions, parts.

It is the vocabulary of the simulator's named variables, so that a channel lines up with what
the simulator computes without a second table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graftsim.errors import LogError, suggest
from graftsim.recordings.units import si_symbol
from graftsim.selectors import row_name, unquoted
from graftsim.spatial.components import POSE, VECTOR

# A dimension per column; several where the log alone cannot tell (a joint turns or slides).
_Columns = tuple[tuple[str, ...], ...]
_POSITION: _Columns = (("length",),) * 3
_QUATERNION: _Columns = (("number",),) * 4
_Q = (("angle", "length"),)
_QD = (("angular velocity", "velocity"),)
_QDD = (("angular acceleration", "acceleration"),)
_TAU = (("torque", "force"),)

# Rows of a joint follow its type: 1 revolute or prismatic, 3 planar or spherical, 4 spherical
# position (quaternion), 6 and 7 free (linear part first, as in MuJoCo).
LAYOUTS: dict[str, tuple[_Columns, ...]] = {
    "joint.q": (_Q, (("length",), ("length",), ("angle",)), _QUATERNION, _POSITION + _QUATERNION),
    "joint.qd": (_QD, _QD * 3, (("velocity",),) * 3 + (("angular velocity",),) * 3),
    "joint.qdd": (_QDD, _QDD * 3, (("acceleration",),) * 3 + (("angular acceleration",),) * 3),
    "joint.tau": (_TAU, _TAU * 3, (("force",),) * 3 + (("torque",),) * 3),
    "link.pose": (_POSITION + _QUATERNION,),
    "link.position": (_POSITION,),
    "link.heading": ((("number",),) * 3,),
    "link.angular_velocity": ((("angular velocity",),) * 3,),
    "link.linear_acceleration": ((("acceleration",),) * 3,),
    "link.force": ((("force",),) * 3,),
}
# An actuator command may be a torque, a current, a duty cycle; any width, any unit.
_OPEN = ("control", "signal")

_NAME = re.compile(r"(?P<quantity>[a-z_]+(?:\.[a-z_]+)?)\[(?P<label>.+)\]", re.DOTALL)
_NO_LABEL = set("[]*?")
# Names of the columns of a link's quantities, by their number.
_PARTS = {len(parts): parts for parts in (VECTOR, POSE)}


def quantities() -> tuple[str, ...]:
    """All that a channel may be."""
    return (*LAYOUTS, *_OPEN)


def declare(quantity: str, dimensions: tuple[str, ...]) -> None:
    """A quantity that recordings shall know, by the dimensions of its columns (`units`)."""
    LAYOUTS.setdefault(quantity, (tuple((d,) for d in dimensions),))


@dataclass(frozen=True)
class ChannelName:
    """A channel name taken apart: `joint.q[elbow]` is quantity `joint.q`, label `elbow`."""

    quantity: str
    label: str

    def __str__(self) -> str:
        return row_name(self.quantity, self.label)


def split_name(name: str) -> ChannelName | None:
    """Quantity and label of a name of the form `family.quantity[label]`, else None.

    The quantity may be one that is not in the vocabulary. A label that holds brackets or wildcards
    stands in quotes (`selectors`).
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    label = unquoted(match["label"])
    if label == match["label"] and _NO_LABEL & set(label):
        return None
    return ChannelName(match["quantity"], label)


def spelling(name: str) -> str:
    """The one spelling of a channel name: quotes only where a label needs them."""
    parsed = split_name(name)
    return name if parsed is None else str(parsed)


def parse_name(name: str) -> ChannelName:
    """Quantity and label of a channel name of the vocabulary.

    Raises: LogError for another form, a wildcard label, or a quantity not in the vocabulary.
    """
    parsed = split_name(name)
    if parsed is None:
        meanings = ", ".join(f"{each}[NAME]" for each in quantities())
        raise LogError(f"{name!r} is not a channel name. Write one of {meanings}.")
    if parsed.quantity not in quantities():
        raise LogError(
            f"{name!r}: there is no recorded quantity {parsed.quantity!r}. "
            f"{suggest(parsed.quantity, quantities(), limit=len(quantities()))} "
            "Use signal[NAME] for anything else."
        )
    return parsed


def column_dimensions(name: ChannelName, width: int) -> _Columns | None:
    """Dimensions each of the `width` columns may have; None where any is accepted.

    Raises: LogError when the quantity does not come in that many columns.
    """
    if name.quantity in _OPEN:
        return None
    layouts = LAYOUTS[name.quantity]
    for layout in layouts:
        if len(layout) == width:
            return layout
    wanted = " or ".join(str(len(layout)) for layout in layouts)
    parts = _parts(name.quantity, len(layouts[0]))
    order = f" ({' '.join(parts)})" if parts else ""
    raise LogError(f"{name}: takes {wanted} columns{order}, not {width}.")


def part_names(name: str, width: int) -> tuple[str, ...]:
    """Suffixes of the columns of a channel in a file: x, y, z ...; or 0, 1, 2 ...; or ("",)."""
    if width == 1:
        return ("",)
    parsed = split_name(name)
    parts = _parts(parsed.quantity, width) if parsed else ()
    return parts or tuple(str(i) for i in range(width))


def _parts(quantity: str, width: int) -> tuple[str, ...]:
    """Names of the columns, if the quantity is one of a link."""
    of_link = quantity in LAYOUTS and quantity.startswith("link.")
    return _PARTS.get(width, ()) if of_link else ()


def default_unit(dimensions: tuple[str, ...]) -> str:
    """SI unit of a column whose unit was not stated, such as "rad or m"."""
    return " or ".join(si_symbol(dimension) for dimension in dimensions)


def quaternion_columns(name: str, width: int) -> slice | None:
    """Which columns of the channel hold a unit quaternion w, x, y, z."""
    parsed = split_name(name)
    if parsed is None or (parsed.quantity, width) not in {
        ("link.pose", 7),
        ("joint.q", 7),
        ("joint.q", 4),
    }:
        return None
    return slice(width - 4, width)
