"""The forces of the standing feet as a quadratic program: a single body over a short horizon.

Di Carlo et al., Dynamic locomotion in the MIT Cheetah 3 through convex model-predictive control
(2018), with Euler angles and their rates as the state, in the frame that yaws with the trunk:

    xi = (roll, pitch, yaw; x, y, z),   nu = d xi / dt,   d nu / dt = W f + (0, 0, 0; 0, 0, -g).

W is kept over the horizon, so a step is exactly xi + dt nu + dt^2/2 a and nu + dt a: what the matrix
exponential of the usual 13 states gives. Forces f are in units of the body's weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.dynamics.crba import mass_matrix
from graftsim.errors import ModelError
from graftsim.model.model import Links, Model
from graftsim.spatial import rotation


class SingleBody(eqx.Module):
    """What the prediction takes for the robot: mass (kg), inertia (kg m^2, axes of the trunk), and
    where the centre of mass is in the trunk (m).
    """

    mass: Float[Array, ""]
    inertia: Float[Array, "3 3"]
    com: Float[Array, " 3"]

    @staticmethod
    def of(model: Model, q: Float[Array, " nq"], turning: Sequence[int]) -> SingleBody:
        """Mass and centre of all links in the pose q (the trunk level, its joint the first), and
        the inertia of those that turn with the trunk while feet stand still.
        """
        mass, com, _ = _composite(model, q)
        link = model.link
        part = np.isin(np.arange(model.tree.nl), turning)
        some = Links(
            mass=jnp.where(part, link.mass, 0.0),
            com=link.com,
            inertia=jnp.where(part[:, None], link.inertia, 0.0),
        )
        _, _, inertia = _composite(replace(model, link=some), q)
        return SingleBody(*(jnp.asarray(x, link.mass.dtype) for x in (mass, inertia, com)))


def _composite(model: Model, q: Float[Array, " nq"]) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass (kg), centre (m) and inertia about it (kg m^2), in the trunk, of all links as one."""
    H = np.asarray(mass_matrix(model, q), float)
    mass = H[0, 0]
    # Linear momentum is m (v - c x omega).
    c = -np.array([H[2, 4], H[0, 5], H[1, 3]]) / mass
    return mass, c, H[3:6, 3:6] - mass * (c @ c * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True)
class Prediction:
    """Horizon and weights: the cost is the sum of weight x error^2 over all steps, plus that of
    forces.

    dt (s), steps; attitude, position, turning, velocity: weights of errors of roll, pitch, yaw
    (rad); x, y, z (m); angular velocity (rad/s); velocity (m/s). force: weight of each force (1/N^2).
    A standing foot pushes with `least` to `greatest` of the body's weight, and sideways with at most
    `friction` of that along x and along y.
    """

    steps: int = 10
    dt: float = 0.025
    attitude: tuple[float, float, float] = (5.0, 5.0, 0.2)
    position: tuple[float, float, float] = (0.0, 0.0, 10.0)
    turning: tuple[float, float, float] = (0.0, 0.0, 1.0)
    velocity: tuple[float, float, float] = (1.0, 1.0, 0.0)
    force: float = 1e-5
    friction: float = 0.45
    least: float = 0.1
    greatest: float = 10.0
    gravity: float = 9.8

    def __post_init__(self) -> None:
        """Raises ModelError: a horizon of no steps, constraints that no force can meet."""
        if self.steps < 1 or not self.dt > 0:
            raise ModelError(
                f"A prediction has at least one step of positive length, got {self.steps} of "
                f"{self.dt} s."
            )
        if not self.least < self.greatest:
            raise ModelError(
                f"No force of a standing foot is feasible: constraint fz >= {self.least:g} m g "
                f"(least) against fz <= {self.greatest:g} m g (greatest). Give least < greatest."
            )
        if not (self.friction > 0 and self.greatest > 0):
            raise ModelError(
                "No force of a standing foot is feasible inside the pyramid |fx|, |fy| <= friction"
                f" fz: friction is {self.friction:g}, fz at most {self.greatest:g} m g. Both must "
                "be positive."
            )
        if not self.force > 0:
            raise ModelError(f"The weight of forces must be positive, got {self.force:g}.")


class Posture(eqx.Module):
    """What is known of the trunk: roll, pitch, yaw (rad), height over the standing feet (m), and in
    the axes that yaw with it, angular velocity (rad/s) and velocity (m/s).
    """

    angles: Float[Array, " 3"]
    height: Float[Array, ""]
    turning: Float[Array, " 3"]
    velocity: Float[Array, " 3"]


class StanceProblem(eqx.Module):
    """min sum_k e_k^T diag(Q) e_k + force f_k^T f_k, e = free + (what the forces do), over feasible f.

    W [6, 12]: acceleration of xi per force of the feet (x, y, z of FR, FL, RR, RL); free [n, 12]:
    errors of xi and nu after each step without forces; Q_xi [6], Q_nu [6, 6]; force: the weight;
    stands [4]: which feet may push; friction [4]; least, greatest: of fz. Forces are in units of
    the body's weight, `unit` (N).
    """

    W: Float[Array, "6 12"]
    free: Float[Array, "n 12"]
    Q_xi: Float[Array, " 6"]
    Q_nu: Float[Array, "6 6"]
    force: Float[Array, ""]
    stands: Bool[Array, " 4"]
    friction: Float[Array, " 4"]
    least: Float[Array, ""]
    greatest: Float[Array, ""]
    unit: Float[Array, ""]
    dt: float = eqx.field(static=True)


def stance_problem(
    prediction: Prediction,
    body: SingleBody,
    at: Posture,
    feet: Float[Array, "4 3"],
    stands: Bool[Array, " 4"],
    aim: tuple[Float[Array, " 3"], Float[Array, ""]],
) -> StanceProblem:
    """The program of an instant.

    feet (m): from the centre of mass, axes that yaw with the trunk. aim: (forward and left speed
    (m/s), yaw rate (rad/s)) and height (m).
    """
    dtype = feet.dtype
    roll, pitch, _ = at.angles
    R = rotation.matrix(rotation.rpy(jnp.stack([roll, pitch, 0.0 * roll])))
    # Rates of roll, pitch, yaw from the angular velocity, where yaw is zero.
    c, t = jnp.cos(pitch), jnp.tan(pitch)
    o, one = jnp.zeros_like(c), jnp.ones_like(c)
    T = jnp.stack([jnp.stack([1 / c, o, o]), jnp.stack([o, one, o]), jnp.stack([t, o, one])])
    back = jnp.stack(
        [jnp.stack([c, o, o]), jnp.stack([o, one, o]), jnp.stack([-jnp.sin(pitch), o, one])]
    )
    lever = T @ R @ jnp.linalg.inv(body.inertia) @ R.T
    unit = body.mass * prediction.gravity
    turn = jnp.concatenate([lever @ rotation.skew(r) for r in feet], -1)
    push = jnp.tile(jnp.eye(3, dtype=dtype) / body.mass, (1, 4))
    Q_w, Q_v = (jnp.asarray(x, dtype) for x in (prediction.turning, prediction.velocity))
    zero = jnp.zeros((3, 3), dtype)
    return StanceProblem(
        W=unit * jnp.concatenate([turn, push]),
        free=_free(prediction, at, T, *aim),
        Q_xi=jnp.asarray(prediction.attitude + prediction.position, dtype),
        Q_nu=jnp.block([[back.T @ (Q_w[:, None] * back), zero], [zero, jnp.diag(Q_v)]]),
        force=prediction.force * unit**2,
        stands=stands,
        friction=jnp.full(4, prediction.friction, dtype),
        least=jnp.asarray(prediction.least, dtype),
        greatest=jnp.asarray(prediction.greatest, dtype),
        unit=unit,
        dt=prediction.dt,
    )


def _free(
    prediction: Prediction,
    at: Posture,
    T: Float[Array, "3 3"],
    command: Float[Array, " 3"],
    height: Float[Array, ""],
) -> Float[Array, "n 12"]:
    """Errors without forces: a free fall against a level walk at the commanded speed."""
    dtype, o = at.angles.dtype, jnp.zeros_like(height)
    t = prediction.dt * jnp.arange(1, prediction.steps + 1, dtype=dtype)[:, None]
    xi = jnp.stack([at.angles[0], at.angles[1], o, o, o, at.height])
    nu = jnp.concatenate([T @ at.turning, at.velocity])
    fall = jnp.array([0.0, 0, 0, 0, 0, -prediction.gravity], dtype)
    level = jnp.stack([o, o, o, o, o, height])
    rates = jnp.stack([o, o, command[2], command[0], command[1], o])
    return jnp.concatenate(
        [xi + t * nu + t * t / 2 * fall - level - t * rates, nu + t * fall - rates], -1
    )


def dense(problem: StanceProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H [12 n, 12 n], g [12 n], and the map G [12 n, 12 n] from forces to errors: the program is
    min f^T H f / 2 + g^T f, and e = free + G f.
    """
    n, dt = len(problem.free), problem.dt
    after = np.subtract.outer(np.arange(n), np.arange(n))
    far = np.where(after >= 0, dt * dt * (after + 0.5), 0.0)
    near = np.where(after >= 0, dt, 0.0)
    W = np.asarray(problem.W, float)
    G = np.stack([np.kron(far, W).reshape(n, 6, -1), np.kron(near, W).reshape(n, 6, -1)], 1)
    G = G.reshape(12 * n, 12 * n)
    Q = np.zeros((12, 12))
    Q[:6, :6], Q[6:, 6:] = np.diag(problem.Q_xi), problem.Q_nu
    QG = (Q @ G.reshape(n, 12, -1)).reshape(12 * n, -1)
    H = 2 * (G.T @ QG + float(problem.force) * np.eye(12 * n))
    return H, 2 * QG.T @ np.asarray(problem.free, float).ravel(), G
