"""The drives of the package."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.model.drive_type import DriveType, Row, Signal


@dataclass(frozen=True)
class Path(DriveType):
    """A joint whose motion is known: at the end of each step it is where the command says.

    Its velocity there is the input `velocity`, or the mean one of the step. It has no force of its
    own; what the motion takes is `joint.reaction`.
    """

    name = "path"
    inputs = ("velocity",)
    prescribes = True

    def force(self, at: Signal) -> Row:
        """None: the motion is known, not the force."""
        return jnp.zeros_like(at.command)

    def command(self, force: Row, at: Signal) -> Row:
        """Where it is: no command gives a force."""
        return at.length


def _divisor(x: Row) -> Row:
    return jnp.where(x != 0, x, 1.0)


@dataclass(frozen=True)
class Torque(DriveType):
    """f = gain u: a motor whose controller keeps a current or a torque."""

    name = "torque"
    inputs = ("gain",)
    commands_force = True

    def force(self, at: Signal) -> Row:
        """In proportion to the command."""
        return at.gain * at.command

    def command(self, force: Row, at: Signal) -> Row:
        """Its inverse."""
        return force / _divisor(at.gain)


@dataclass(frozen=True)
class Position(DriveType):
    """f = kp (u + zero - length) + kd (u_velocity - rate) + u_torque: a PD servo.

    zero: what the servo's own encoder reads too much.
    """

    name = "position"
    inputs = ("velocity", "torque", "kp", "kd")

    def force(self, at: Signal) -> Row:
        """From the errors of position and velocity."""
        return _proportional(at) + at.kd * (at.velocity - at.rate) + at.torque

    def command(self, force: Row, at: Signal) -> Row:
        """Its inverse."""
        return _setpoint(force - at.kd * (at.velocity - at.rate) - at.torque, at)


@dataclass(frozen=True)
class Velocity(DriveType):
    """f = kd (u - rate) + u_torque."""

    name = "velocity"
    inputs = ("torque", "kd")

    def force(self, at: Signal) -> Row:
        """From the error of velocity."""
        return at.kd * (at.command - at.rate) + at.torque

    def command(self, force: Row, at: Signal) -> Row:
        """Its inverse."""
        return at.rate + (force - at.torque) / _divisor(at.kd)


@dataclass(frozen=True)
class PID(DriveType):
    """The PD servo with ki times the integral of its error of position.

    The integral (rad s, m s) is kept within +- integral_limit.
    """

    name = "pid"
    inputs = ("velocity", "torque", "kp", "kd", "ki")
    memory = True

    def force(self, at: Signal) -> Row:
        """From the errors of position and velocity and the integral."""
        return (
            _proportional(at)
            + at.kd * (at.velocity - at.rate)
            + at.ki * at.memory
            + at.torque
        )  # fmt: skip

    def command(self, force: Row, at: Signal) -> Row:
        """Its inverse, at the present integral."""
        damping = at.kd * (at.velocity - at.rate)
        return _setpoint(force - damping - at.ki * at.memory - at.torque, at)

    def memory_rate(self, at: Signal) -> Row:
        """The error of position."""
        return at.command + at.zero - at.length

    def memory_limit(self, at: Signal) -> Row:
        """Against winding up."""
        return at.integral_limit


@dataclass(frozen=True)
class Voltage(DriveType):
    """f = k/R (u - k rate): a DC motor at a voltage, back-EMF included; its inductance is left out.

    k: motor constant (N m/A, V s/rad), R: resistance (ohm), both as seen behind the gear.
    """

    name = "voltage"
    inputs = ("resistance",)

    def force(self, at: Signal) -> Row:
        """Of the current that flows at this speed."""
        return _motor(at.command, at)

    def command(self, force: Row, at: Signal) -> Row:
        """The voltage."""
        return _voltage(force, at)


@dataclass(frozen=True)
class VoltageServo(DriveType):
    """A servo that sets the duty of its voltage, as hobby and smart servos do.

    duty = kp (u + zero - length) + kd (u_velocity - rate), kept within +- duty_limit; the motor is
    at duty times the supply's voltage: f = k/R (duty supply - k rate).
    """

    name = "voltage_servo"
    inputs = ("velocity", "supply", "kp", "kd")

    def force(self, at: Signal) -> Row:
        """Of the current that flows at this duty and speed."""
        duty = _proportional(at) + at.kd * (at.velocity - at.rate)
        return _motor(jnp.clip(duty, -at.duty_limit, at.duty_limit) * at.supply, at)

    def command(self, force: Row, at: Signal) -> Row:
        """The set position, if the duty is within its limit."""
        duty = _voltage(force, at) / _divisor(at.supply)
        return _setpoint(duty - at.kd * (at.velocity - at.rate), at)


def _proportional(at: Signal) -> Row:
    return at.kp * (at.command + at.zero - at.length)


def _setpoint(force: Row, at: Signal) -> Row:
    return at.length - at.zero + force / _divisor(at.kp)


def _motor(voltage: Float[Array, " k"], at: Signal) -> Row:
    return at.motor_constant / at.resistance * (voltage - at.motor_constant * at.rate)


def _voltage(force: Row, at: Signal) -> Row:
    return force * at.resistance / _divisor(at.motor_constant) + at.motor_constant * at.rate


DRIVES: dict[str, DriveType] = {
    x.name: x for x in (Torque(), Position(), Velocity(), PID(), Voltage(), VoltageServo(), Path())
}
