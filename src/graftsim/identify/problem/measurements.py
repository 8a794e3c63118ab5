"""What a problem is measured by: its recordings, channels, their noise, and what is held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError, suggest
from graftsim.identify.problem.windows import control_channels
from graftsim.recordings.channels import spelling
from graftsim.recordings.recording import Recording
from graftsim.sensors.sensor import KINDS


def deviation(channel: str, given: Any, width: int) -> np.ndarray:
    """Noise of a channel that was given, [width]. ProblemError: not one positive number or each."""
    try:
        value = np.broadcast_to(np.asarray(given, float), (width,)).copy()
    except (TypeError, ValueError):
        value = np.array([np.nan])
    if not np.all((value > 0) & (value < np.inf)):
        each = f", or {width}" if width > 1 else ""
        raise ProblemError(f"noise of {channel} must be a positive number{each}, got {given}.")
    return value


def several(recordings: Recording | Sequence[Recording]) -> tuple[Recording, ...]:
    """Recordings in a row, of one or several."""
    return (recordings,) if isinstance(recordings, Recording) else tuple(recordings)


def channels_of(
    simulator: Simulator,
    recordings: Sequence[Recording],
    sensors: Mapping[str, Mapping[str, Any]] | Sequence[str] | None,
) -> tuple[list[str], dict[str, Any]]:
    """Channels to explain, and their options."""
    recorded = dict.fromkeys(n for r in recordings for n in r.names)
    driving = control_channels(simulator.model, recordings)
    if sensors is not None:
        if isinstance(sensors, Mapping):
            sensors = {spelling(name): options for name, options in sensors.items()}
        else:
            sensors = [spelling(name) for name in sensors]
        for name in sensors:
            if name not in recorded:
                raise ProblemError(f"Sensor {name} is not recorded. {suggest(name, recorded)}")
        options = dict(sensors) if isinstance(sensors, Mapping) else {}
        return list(sensors), options
    channels = [n for n in recorded if n.split("[")[0] in KINDS and n not in driving]
    if not channels:
        raise ProblemError(
            f"None of the recorded channels is a sensor: {', '.join(recorded)}. "
            f"Sensors: {', '.join(KINDS)}, each with a label in brackets."
        )
    return channels, {}


def held_out(
    recordings: Sequence[Recording], share: float
) -> tuple[tuple[Recording, ...], tuple[Recording, ...]]:
    """The end of each recording is held out; a stretch too short to be cut stays whole."""
    if share == 0:
        return tuple(recordings), ()
    train, held = [], []
    for r in recordings:
        start, end = r.overlap
        middle = end - share * (end - start)
        train.append(r.trim(None, middle))
        held.append(r.trim(middle, None))
    return tuple(train), tuple(held)
