"""Networks between pictures and states of billiards: encoder, decoder, and one without physics.

All are small Equinox modules of one clip; `jax.vmap` makes batches. States are [discs, 4], places
and velocities in px and px/s of the box; pictures are [SIZE, SIZE, 3], channels last.
"""

from __future__ import annotations

from typing import Any

import billiards
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from billiards import BOX, DISCS, FASTEST, FRAME

import graftsim as gs

SIZE, FRAMES = 32, 3
UNITS = np.array([BOX, BOX, FASTEST, FASTEST])
COLOURS = np.array([[1.0, 0.2, 0.1], [0.1, 0.9, 0.2], [0.2, 0.3, 1.0]])


def picture(places: Any) -> Any:
    """The picture [SIZE, SIZE, 3] of discs at these places [discs, 2]."""
    return gs.vision.discs(places, billiards.RADIUS, jnp.asarray(COLOURS, places.dtype),
                           (SIZE, SIZE), scale=BOX / SIZE)  # fmt: skip


class Encoder(eqx.Module):
    """Three pictures to the state in the last of them.

    Convolutions make a heat map of each disc, whose mean place is the disc's. The velocity is the
    difference of the last two places; a small network adds to places and velocity what the three
    frames say together, of impacts between them above all.
    """

    layers: list[eqx.nn.Conv2d]
    late: eqx.nn.MLP

    def __init__(self, key: Any) -> None:
        keys = jax.random.split(key, 4)
        self.layers = [
            eqx.nn.Conv2d(3, 16, 4, 2, 1, key=keys[0]),
            eqx.nn.Conv2d(16, 8, 3, 1, 1, key=keys[1]),
            eqx.nn.Conv2d(8, DISCS, 3, 1, 1, key=keys[2]),
        ]
        late = eqx.nn.MLP(FRAMES * DISCS * 2, DISCS * 4, 64, 2, jax.nn.gelu, key=keys[3])
        self.late = eqx.tree_at(lambda m: m.layers[-1].weight, late, replace_fn=lambda w: 0.1 * w)

    def places(self, image: Any) -> Any:
        """Places [discs, 2] in one picture."""
        x = jnp.moveaxis(image, -1, 0)
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        heat = self.layers[-1](x)
        share = jax.nn.softmax(heat.reshape(DISCS, -1)).reshape(heat.shape)
        at = (jnp.arange(heat.shape[-1]) + 0.5) * (BOX / heat.shape[-1])
        return jnp.stack([share.sum(1) @ at, share.sum(2) @ at], axis=-1)

    def __call__(self, images: Any) -> Any:
        seen = jax.vmap(self.places)(images)
        first = jnp.concatenate([seen[-1], (seen[-1] - seen[-2]) / FRAME], axis=-1)
        return first + UNITS * self.late((seen / BOX - 0.5).ravel()).reshape(DISCS, 4)


class Decoder(eqx.Module):
    """Places of discs to a picture: a dense layer, then transposed convolutions."""

    dense: eqx.nn.MLP
    layers: list[eqx.nn.ConvTranspose2d]

    def __init__(self, key: Any) -> None:
        keys = jax.random.split(key, 4)
        self.dense = eqx.nn.MLP(DISCS * 2, 32 * 16, 128, 1, jax.nn.gelu, key=keys[0])
        self.layers = [
            eqx.nn.ConvTranspose2d(a, b, 4, 2, padding=1, key=k)
            for a, b, k in zip((32, 16, 8), (16, 8, 3), keys[1:], strict=True)
        ]

    def __call__(self, places: Any) -> Any:
        x = jax.nn.gelu(self.dense((places / BOX - 0.5).ravel())).reshape(32, 4, 4)
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        return jnp.moveaxis(self.layers[-1](x), 0, -1)


class Dense(eqx.Module):
    """In place of the engine: the state, to that which is ten frames later."""

    network: eqx.nn.MLP

    def __init__(self, key: Any) -> None:
        n = DISCS * 4
        self.network = eqx.nn.MLP(n, n, 128, 2, jax.nn.gelu, key=key)

    def __call__(self, state: Any) -> Any:
        scaled = (state / UNITS).ravel()
        return state + UNITS * self.network(scaled).reshape(DISCS, 4)
