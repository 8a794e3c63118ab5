"""A net that gives an actuator's torque, and the plain servo that it is measured beside.

Inputs, as Isaac Lab, mjlab and Newton have them in common: errors of position and velocities at
the present and the two samples before, newest first, errors first, each times a scale; the output
times a scale is the torque (Hwangbo et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from graftsim.export.chain import HISTORY, Samples
from graftsim.graft.perceptron import MLP, Perceptron
from graftsim.optim.first_order import LBFGS, Scaled

WIDTHS = (32, 32)
# Of samples and iterations of a training at most.
SAMPLES, ITERATIONS = 8000, 300


@dataclass(frozen=True)
class ActuatorNet:
    """A trained net: inputs times their scales go in, its output times `torque_scale` is N m, N."""

    network: Perceptron
    pos_scale: float
    vel_scale: float
    torque_scale: float

    def inputs(self, of: Samples) -> Float[np.ndarray, "n 6"]:
        """What goes into the network."""
        return np.concatenate([of.error * self.pos_scale, of.velocity * self.vel_scale], 1)

    def __call__(self, of: Samples) -> Float[np.ndarray, " n"]:
        """Torques."""
        y = jax.vmap(self.network)(jnp.asarray(self.inputs(of)))
        return self.torque_scale * np.asarray(y)[:, 0]


def train(of: Samples, seed: int = 0) -> ActuatorNet:
    """A net with two hidden layers, by least squares (L-BFGS) of torques in units of their size."""
    rows = np.random.default_rng(seed).permutation(len(of))[:SAMPLES]
    of = of.only(rows)
    sizes = [float(np.sqrt(np.mean(x**2))) or 1.0 for x in (of.error, of.velocity, of.torque)]
    start = MLP(*WIDTHS).build(2 * HISTORY, 1, jax.random.key(seed), jnp.float64)
    net = ActuatorNet(start, 1 / sizes[0], 1 / sizes[1], sizes[2])
    x, y = jnp.asarray(net.inputs(of)), jnp.asarray(of.torque / sizes[2])
    flat, unflat = ravel_pytree(start)

    @jax.jit
    @jax.value_and_grad
    def cost(weights: Array) -> Array:
        return jnp.mean((jax.vmap(unflat(weights))(x)[:, 0] - y) ** 2)

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = cost(jnp.asarray(weights))
        return float(value), np.asarray(slope)

    free = np.full(len(flat), np.inf)
    problem = Scaled(evaluate, np.asarray(flat), np.ones(len(flat)), -free, free)
    found = LBFGS(ITERATIONS).descend(problem, lambda *_: None)
    return ActuatorNet(unflat(jnp.asarray(found.x)), net.pos_scale, net.vel_scale, net.torque_scale)


@dataclass(frozen=True)
class PlainServo:
    """tau = kp (target(t - delay) - q) - kd qd: what a simulator has without a net (s, N m)."""

    kp: float
    kd: float
    delay: float

    def __call__(self, of: Samples, dt: float) -> Float[np.ndarray, " n"]:
        """Torques."""
        k = min(int(self.delay / dt + 1e-9), HISTORY - 2)
        share = self.delay / dt - k
        late = (1 - share) * of.late[:, k] + share * of.late[:, k + 1]
        return self.kp * late - self.kd * of.velocity[:, 0]

    @classmethod
    def fit(cls, of: Samples, dt: float) -> PlainServo:
        """By least squares. A delay of k to k + 1 steps mixes two held commands, so that torque is
        linear in both gains and the share of the later one.
        """
        found = []
        for k in range(HISTORY - 1):
            terms = np.stack([of.late[:, k], of.late[:, k + 1], -of.velocity[:, 0]], 1)
            (a, b, kd), *_ = np.linalg.lstsq(terms, of.torque, rcond=None)
            share = float(np.clip(b / (a + b), 0, 1)) if a + b > 0 else 0.0
            # Where the share had to be clipped, the gains are those beside it.
            mixed = np.stack([(1 - share) * terms[:, 0] + share * terms[:, 1], terms[:, 2]], 1)
            (kp, kd), *_ = np.linalg.lstsq(mixed, of.torque, rcond=None)
            servo = cls(float(kp), float(kd), float((k + share) * dt))
            found.append((float(np.mean((servo(of, dt) - of.torque) ** 2)), servo))
        return min(found, key=lambda pair: pair[0])[1]
