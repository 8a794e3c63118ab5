"""`--effort current`: efforts that are proportional to torque, by factors that the fit finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from graftsim.check import Robot
from graftsim.check.explained import explained
from graftsim.cli.inputs import Inputs
from graftsim.identify.problem.domains import Bounds, Domain, Unbounded
from graftsim.identify.problem.measurements import channels_of
from graftsim.model.catalogue import acts_on
from graftsim.model.model import Model
from graftsim.recordings.channels import split_name
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name

# Factors are sought within so many times their start.
RANGE = 100.0
# The start is what the file's model says where that is known to this share, else 1.
KNOWN = 0.3
TORQUE = "torque"


def as_current(read: Inputs) -> tuple[Inputs, dict[str, Domain]]:
    """Inputs with effort taken as a current, and what is free in them for that.

    Torques that would drive the simulation become commands of torque actuators. Of commands the
    gains are free (N m for one unit), of torques measured beside them scale and offset of the
    sensor.
    """
    model, recordings = read.simulator.model, [*read.recordings, *read.heldout]
    if not any(name.startswith("control[") for r in recordings for name in r.names):
        recordings = [_commanded(r, model) for r in recordings]
    scales = _scales(model, recordings)
    gains, free = _gains(model, recordings, scales)
    simulator = eqx.tree_at(lambda s: s.model.actuator.gain, read.simulator, gains)
    channels, options = channels_of(simulator, recordings, read.options["sensors"])
    options = {name: dict(options.get(name, {})) for name in channels}
    for name in channels:
        split = split_name(name)
        if split is None or split.quantity != "joint.tau":
            continue
        start = options[name].setdefault("scale", scales.get(name, 1.0))
        label = f"{split.quantity}:{split.label}"
        free[row_name("sensor.scale", label)] = _near(float(start))
        free[row_name("sensor.offset", label)] = Unbounded()
    n = len(read.recordings)
    changed: dict[str, Any] = {"sensors": options}
    if n < len(recordings):
        changed["holdout"] = recordings[n:]
    return Inputs(simulator, recordings[:n], recordings[n:], read.options | changed), free


def _commanded(recording: Recording, model: Model) -> Recording:
    """Measured efforts as commands: half a sample earlier, as those are held and these are not."""
    a = model.actuator
    acting = zip(a.names, acts_on(model), a.kinds, strict=True)
    names = {joint: n for n, joint, k in acting if k == TORQUE}
    renamed = {}
    for name in recording.names:
        split = split_name(name)
        if split is not None and split.quantity == "joint.tau" and split.label in names:
            renamed[name] = row_name("control", names[split.label])
            c = recording[name]
            notes = (*c.notes, "effort as a command, half a sample earlier")
            early = c.replace(time=c.time - c.interval / 2, notes=notes)
            recording = recording.with_channel(early)
    return recording.rename(renamed)


def _scales(model: Model, recordings: Sequence[Recording]) -> dict[str, float]:
    """Effort over the torque of the file's model, by channel, where recordings tell."""
    robot, found = Robot(model), {}
    for recording in recordings:
        for e in explained(robot, recording):
            if e.scale > 0 and e.scale_std < KNOWN * e.scale:
                found.setdefault(e.channel.name, []).append(e.scale)
    return {name: float(np.median(scales)) for name, scales in found.items()}


def _gains(
    model: Model, recordings: Sequence[Recording], scales: dict[str, float]
) -> tuple[jnp.ndarray, dict[str, Domain]]:
    """Gains of all actuators, and domains of those of torque actuators that have commands."""
    a, gains, free = model.actuator, np.array(model.actuator.gain), {}
    for i, (label, kind) in enumerate(zip(a.names, a.kinds, strict=True)):
        channel = row_name("control", label)
        if kind == TORQUE and any(channel in r for r in recordings):
            gains[i] /= scales.get(channel, 1.0)
            free[row_name("actuator.gain", label)] = _near(float(gains[i]))
    return jnp.asarray(gains), free


def _near(start: float) -> Domain:
    return Bounds(*sorted((start / RANGE, start * RANGE)))
