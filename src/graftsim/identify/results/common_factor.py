"""Does any channel measure a force? If none does, all forces and masses share an unknown factor.

Newton's law is homogeneous in them: multiply every mass, inertia, gain, stiffness, damping and dry
friction by one number, and the motion stays. So along the direction

    v_i = n_i theta_i,   n_i: the power of mass in the unit of theta_i,

the residuals of a problem do not change, unless a channel measures a force or a number is held.
Data tell by v^T S v, with S the normal matrix of the data without priors, initial states
eliminated: the factor is known to a share of s / sqrt(v^T S v), the other directions held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftsim.identify import words
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.linearisation import Linearisation
from graftsim.model.catalogue import PARAMETERS, labels, leaf
from graftsim.optim.arrowhead import reduced
from graftsim.selectors import Selector
from graftsim.sensors.sensors import Sensors

# A factor known to no better than this share is not known.
UNKNOWN = 0.1
# Sensors that read forces or torques.
FORCES = ("joint.tau", "link.force", "link.com_force")
# Held numbers of these anchor a factor, if anything does: what every robot has.
ANCHORS = (
    "link.mass", "link.inertia", "joint.armature", "joint.damping", "joint.stiffness",
    "joint.friction", "actuator.gain", "actuator.kp", "actuator.kd",
)  # fmt: skip
_MASS = ("kg", "N")


@dataclass(frozen=True)
class CommonFactor:
    """The factor that all forces and masses share: known to a share `relative_std` by the data.

    measured: a channel measures a force. held: numbers by selector that fix the factor instead, as
    do parameters that ended `on_bound`, other than zero. parameters: those that it would multiply.
    """

    relative_std: float
    measured: bool
    held: tuple[str, ...]
    parameters: tuple[str, ...]
    on_bound: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Are forces and masses known only up to a common factor?"""
        return not self.measured and not self.relative_std < UNKNOWN

    @property
    def leads(self) -> bool:
        """Does it belong into the first lines of a report? Not where only friction is free."""
        scale = ("link.mass", "link.inertia", "actuator.", "sensor.scale")
        sought = any(name.startswith(scale) for name in self.parameters)
        return self.unknown or (sought and not self.measured)

    @property
    def text(self) -> str:
        """A sentence, "" if a channel measures a force."""
        if self.unknown:
            return words.only_ratios(self.relative_std, self.parameters)
        return "" if self.measured else words.scale_held(self.held, self.on_bound)


def common_factor(
    problem: Problem, at: Linearisation, held: np.ndarray, variance_ratio: float
) -> CommonFactor | None:
    """What the data say of the factor at a minimum; None where no mass or force is free.

    held: mask [p] of numbers on their bounds and of those without effect.
    """
    p = problem.parameters
    powers = np.array([power(n, u) for n, u in zip(p.names, p.units, strict=True)])
    v = np.where(p.physical, powers * at.theta, 0.0)
    logs = np.array([".log_d" in n and n.startswith("link.inertial[") for n in p.names], bool)
    v[logs & p.physical] = 0.5
    v[held] = 0.0
    free = [n for n, x in zip(p.names, v, strict=True) if x]
    if not free or problem.grafted:
        return None
    S, _ = reduced(at.without_prior().normal())
    known = float(v @ S @ v) if np.isfinite(S).all() else float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        std = float(np.sqrt(max(variance_ratio, 1.0) / np.maximum(known, 0.0)))
    measured = _measured(problem, free) and std < UNKNOWN
    scales = held & p.physical & (powers != 0)
    ended = [n for n, x in zip(p.names, scales, strict=True) if x]
    low, high = at.theta <= p.lower, at.theta >= p.upper
    bound = scales & (low | high) & (at.theta != 0)
    return CommonFactor(
        std,
        measured,
        _held(problem, free + ended),
        tuple(free),
        tuple(n for n, x in zip(p.names, bound, strict=True) if x),
    )


def power(name: str, unit: str) -> float:
    """How a parameter goes with the factor: its power of mass (1 of a stiffness, -1 of the scale of
    a torque sensor, a half of the logarithms and roots of `link.inertial`).
    """
    if name.startswith("link.inertial["):
        return 0.5
    if name.startswith("sensor.scale["):
        return -1.0 if _reads_force(name.removeprefix("sensor.scale[")) else 0.0
    if name.startswith("sensor."):
        return 0.0
    if unit.startswith("1/"):
        return -1.0 if unit[2:].startswith(_MASS) else 0.0
    return 1.0 if unit.startswith(_MASS) else 0.0


def _reads_force(label: str) -> bool:
    return label.lstrip("\"'").startswith(tuple(f"{kind}:" for kind in FORCES))


def _measured(problem: Problem, free: list[str]) -> bool:
    """Is there a force sensor of known scale, or a commanded torque of known gain?"""
    sensors: Sensors = problem.setup.sensors
    scales = [label for label in sensors.labels if _reads_force(label)]
    return any(not _is_free("sensor.scale", label, free) for label in scales) or any(
        not _is_free("actuator.gain", name, free) for name in _commanded(problem)
    )


def _commanded(problem: Problem) -> list[str]:
    """Torque actuators that have commands."""
    a, controls = problem.simulator.model.actuator, problem.train_windows().controls
    return [
        name
        for i, (name, kind) in enumerate(zip(a.names, a.kinds, strict=True))
        if kind == "torque" and np.ptp(controls[..., i]) > 0
    ]


def _held(problem: Problem, free: list[str]) -> tuple[str, ...]:
    """Families of which some number is not zero and was not free."""
    model, commanded = problem.simulator.model, _commanded(problem)
    found = []
    for family in ANCHORS:
        values = np.asarray(leaf(model, family), float)
        for i, label in enumerate(labels(model, PARAMETERS[family].rows)):
            acts = family != "actuator.gain" or label in commanded
            body = family.startswith("link.") and _is_free("link.inertial", label, free)
            if np.any(values[i]) and acts and not body and not _is_free(family, label, free):
                found.append(family)
                break
    return tuple(found)


def _is_free(family: str, label: str, free: list[str]) -> bool:
    """Does a name of a parameter, of one row or of several that share it, stand for this row?"""
    for name in free:
        head, _, rest = name.partition("[")
        if head == family and Selector(head, rest.rpartition("]")[0]).rows((label,)):
            return True
    return False
