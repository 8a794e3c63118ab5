"""The engine inside a jitted network: Equinox around a roll-out on kernels, trained by Optax.

A picture of where a ball must land goes through a convolution; the network says how to throw.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import graftsim as gs

PIXELS, BATCH = 16, 64  # float32, as networks like it

b = gs.Builder("ball")
b.link("x", joint="prismatic", axis=(1, 0, 0))
b.link("ball", "x", joint="prismatic", axis=(0, 0, 1), mass=0.3, inertia=1e-3)
court = gs.Simulator(b.build(), dt=0.01)


class Thrower(eqx.Module):
    """From a picture to a velocity (m/s)."""

    see: eqx.nn.Conv2d
    decide: eqx.nn.MLP

    def __init__(self, key):
        one, two = jax.random.split(key)
        self.see = eqx.nn.Conv2d(1, 4, 5, stride=2, key=one)
        self.decide = eqx.nn.MLP(4 * 6 * 6, 2, 32, 1, jax.nn.tanh, key=two)

    def __call__(self, image):
        return 5 * self.decide(jax.nn.relu(self.see(image[None])).ravel())


def picture(target):
    """A disc of 10 cm at the target, on two metres by two."""
    disc = gs.vision.discs(target[None], 0.1, jnp.ones((1, 1)), (PIXELS, PIXELS), scale=2 / PIXELS)
    return disc[..., 0]


def miss(thrower, target):
    """Distance (m) squared from the target after 0.4 s of flight."""
    flight = court.rollout(court.initial_state(None, thrower(picture(target))), steps=40)
    return jnp.sum((flight.q[-1] - target) ** 2)


def loss(thrower, targets):
    """Of all throws, side by side in the lanes of a kernel."""
    return jnp.mean(jax.vmap(miss, (None, 0))(thrower, targets))


def targets(key):
    """Anywhere in the picture but at its rim."""
    return jax.random.uniform(key, (BATCH, 2), minval=0.2, maxval=1.8)


thrower = Thrower(jax.random.key(0))
optimiser = optax.adam(3e-3)
state = optimiser.init(eqx.filter(thrower, eqx.is_array))


@eqx.filter_jit
def train(thrower, state, keys):
    """All iterations in one program: a scan with XLA's convolutions around the kernels."""
    weights, form = eqx.partition(thrower, eqx.is_array)

    def update(carry, key):
        weights, state = carry
        cost, slope = jax.value_and_grad(lambda w: loss(eqx.combine(w, form), targets(key)))(
            weights
        )
        change, state = optimiser.update(slope, state)
        return (optax.apply_updates(weights, change), state), cost

    (weights, state), costs = jax.lax.scan(update, (weights, state), keys)
    return eqx.combine(weights, form), state, costs


before = loss(thrower, targets(jax.random.key(9))) ** 0.5
thrower, state, costs = train(thrower, state, jax.random.split(jax.random.key(1), 800))
after = loss(thrower, targets(jax.random.key(9))) ** 0.5
print(
    f"new targets are missed by {100 * before:.0f} cm before, {100 * after:.1f} cm after training"
)
