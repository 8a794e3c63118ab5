"""The sensors of a problem: what each channel should have read, given the simulated motion.

A sensor is named by its channel (`joint.q[elbow]`, `link.heading[tip]`). Its reading is
scale * value + offset, taken `delay` seconds late; all three can be fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import graftsim.sensors.kinds  # noqa: F401 (defines the kinds)
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.errors import ProblemError, suggest
from graftsim.model.model import Model
from graftsim.selectors import Selector
from graftsim.sensors.sensor import KINDS, Instant, Sensor
from graftsim.spatial import rotation


class Sensors(eqx.Module):
    """The sensors of a problem: static descriptions, and the numbers of each as leaves [ns]."""

    specs: tuple[Sensor, ...] = eqx.field(static=True)
    scale: Float[Array, " ns"]
    offset: Float[Array, " ns"]
    delay: Float[Array, " ns"]

    @property
    def labels(self) -> tuple[str, ...]:
        """Row labels for selectors: `joint.q:elbow`."""
        return tuple(f"{s.kind}:{s.label}" for s in self.specs)

    @property
    def needs(self) -> tuple[str, ...]:
        """Variables to record for these sensors."""
        return tuple(dict.fromkeys(v for s in self.specs for v in s.needs))


def make_sensors(
    model: Model, channels: Sequence[str], options: Mapping[str, Any] | None = None
) -> Sensors:
    """Sensors for the given channels, checked against the model.

    `options[channel]` may set `scale`, `offset`, `delay`, and what the kind of sensor takes (`axis`
    of a heading). Raises ProblemError: unknown kind or label, options for a channel that is not
    there.
    """
    options = dict(options or {})
    specs, numbers = [], []
    for name in channels:
        given = options.pop(name, {})
        if not isinstance(given, Mapping):
            raise ProblemError(f"Sensor {name}: {given!r} is no table of options.")
        given = dict(given)
        sensor = _sensor(Selector.parse(name), given)
        sensor.check(model)
        row = [given.pop(k, d) for k, d in (("scale", 1.0), ("offset", 0.0), ("delay", 0.0))]
        for value in row:
            if not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise ProblemError(f"Sensor {name}: {value!r} is not a finite number.")
        numbers.append(row)
        if given:
            raise ProblemError(f"Sensor {name}: unknown options {sorted(given)}.")
        specs.append(sensor)
    if options:
        raise ProblemError(
            f"Options for sensors that are not recorded: {', '.join(options)}. "
            f"Recorded: {', '.join(channels)}."
        )
    table = jnp.asarray(np.array(numbers, float).reshape(-1, 3), model.link.mass.dtype)
    return Sensors(tuple(specs), table[:, 0], table[:, 1], table[:, 2])


def _sensor(selector: Selector, given: dict[str, Any]) -> Sensor:
    """The sensor of a channel; takes its own options out of those given."""
    if selector.name not in KINDS:
        raise ProblemError(
            f"Channel {selector}: no sensor explains '{selector.name}'. "
            f"{suggest(selector.name, KINDS)}"
        )
    kind = KINDS[selector.name]
    own = {k: given.pop(k) for k in kind.options if k in given}
    return kind(selector.label, **own)


def readings(
    sensors: Sensors,
    m: Mechanism,
    q: Float[Array, "t nq"],
    qd: Float[Array, "t nv"],
    recorded: Mapping[str, Array],
    *,
    one_by_one: bool = False,
) -> list[Float[Array, "t d"]]:
    """What each sensor reads at each instant of a motion, before its delay.

    The instants go side by side, or `one_by_one` as kernels want them. `recorded` has the
    variables of `Sensors.needs`, on the same instants.
    """

    def instant(q: Array, qd: Array, recorded: Mapping[str, Array]) -> list[Array]:
        motion = joint_motion(m, q, qd)
        X = world_transforms(m.tree, motion)
        v = link_velocity(m.tree, motion)
        at = Instant(m, q, qd, rotation.transpose(X.E), X.r, v, recorded)
        return [
            s.read(at) * sensors.scale[i] + sensors.offset[i] for i, s in enumerate(sensors.specs)
        ]

    if one_by_one:
        once = jax.checkpoint(instant)
        return jax.lax.map(lambda each: once(*each), (q, qd, dict(recorded)))
    return jax.vmap(instant)(q, qd, dict(recorded))
