"""Numbers of a log in SI units: stated units, unwrapped angles, vectors of norm 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graftsim.errors import LogError
from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.tables import Table
from graftsim.recordings.channels import (
    column_dimensions,
    default_unit,
    parse_name,
    quaternion_columns,
)
from graftsim.recordings.units import Unit, unit

Floats = NDArray[np.float64]
UNIT_TOLERANCE = 0.01
"""A logged quaternion or direction further than this from norm 1 is another quantity."""


def to_si(
    channel: str, spec: ColumnSpec, values: Floats, table: Table
) -> tuple[Floats, tuple[str, ...]]:
    """`(scale * cell + offset)` in the stated units, converted to SI; the SI symbols.

    Raises: LogError for an unknown unit, or one that the channel cannot have.
    """
    width = values.shape[1]
    try:
        dimensions = column_dimensions(parse_name(channel), width)
        stated = spec.each("unit", width)
        scale, offset = np.array(spec.each("scale", width)), np.array(spec.each("offset", width))
        known = [None if text is None else unit(text) for text in stated]
    except LogError as error:
        raise LogError(f"{table.at(None, *spec.columns)}: {error}") from None
    factors, symbols = np.ones(width), []
    for k, one in enumerate(known):
        allowed = None if dimensions is None else dimensions[k]
        if one is not None and (allowed is None or one.dimension in allowed):
            factors[k] = one.factor
            symbols.append(one.si)
        elif one is None or (not isinstance(spec.unit, tuple) and _fits_some(one, dimensions)):
            # One unit for a pose in mm is meant for its position, not for its quaternion.
            symbols.append("SI" if allowed is None else default_unit(allowed))
        else:
            raise LogError(
                f"{table.at(None, spec.columns[k])}: {channel} cannot be in {stated[k]!r}, "
                f"a unit of {one.dimension}; it is a {' or '.join(allowed or ())}."
            )
    return (values * scale + offset) * factors, tuple(symbols)


def _fits_some(one: Unit, dimensions: tuple[tuple[str, ...], ...] | None) -> bool:
    return dimensions is not None and any(one.dimension in allowed for allowed in dimensions)


def unwrapped(
    channel: str, spec: ColumnSpec, values: Floats, units: tuple[str, ...], table: Table
) -> Floats:
    """Columns that are angles, joined across jumps by full turns.

    Raises: LogError when no column is an angle.
    """
    angles = [k for k, symbol in enumerate(units) if symbol.startswith("rad") and "/" not in symbol]
    if not angles:
        raise LogError(
            f"{table.at(None, *spec.columns)}: unwrap=True, but {channel} is in "
            f"{', '.join(units)} and only angles can be unwrapped; state unit='deg' or 'rad'."
        )
    values = values.copy()
    values[:, angles] = np.unwrap(values[:, angles], axis=0)
    return values


def unit_vectors(
    channel: str,
    spec: ColumnSpec,
    values: Floats,
    rows: NDArray[np.int64],
    table: Table,
    notes: list[str],
) -> Floats:
    """Quaternions and headings have norm 1; rounding in the log is taken out, with a note.

    Raises: LogError, with the row, for a norm that rounding does not explain.
    """
    part = quaternion_columns(channel, values.shape[1])
    what = "quaternion (w, x, y, z)"
    if part is None and channel.startswith("link.heading["):
        part, what = slice(0, 3), "heading"
    if part is None:
        return values
    norm = np.linalg.norm(values[:, part], axis=1)
    bad = np.flatnonzero(np.abs(norm - 1) > UNIT_TOLERANCE)
    if bad.size:
        i = int(bad[0])
        raise LogError(
            f"{table.at(int(rows[i]), *spec.columns[part])}: the {what} of {channel} has norm "
            f"{norm[i]:.4g}, not 1 ({bad.size} such rows). Are these the right columns, in this "
            "order?"
        )
    worst = float(np.abs(norm - 1).max())
    if worst < 1e-9:
        return values
    values = values.copy()
    values[:, part] /= norm[:, None]
    notes.append(f"{what} normalised: its norm was off by up to {worst:.2g}")
    return values
