"""Training from pictures of billiards with few labels: encoder, engine in the middle, decoder.

A clip is three pictures, the picture ten frames later, and the states at both times, which only
labelled clips show. All clips teach by the decoder's picture after encoder and roll-out; labelled
ones also by the state that the encoder sees, and by the places where the roll-out ends, both from
the encoder's state and from the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import billiards
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from vision_networks import FRAMES, UNITS, Decoder, Dense, Encoder, picture

import graftsim as gs

AHEAD, BATCH, RATE = 10, 16, 4e-3


class Clips(NamedTuple):
    """Pictures of three frames [n, 3, h, w, 3] and of the target [n, h, w, 3] (bytes), and true
    states [n, frames, discs, 4] from the last of the three on.
    """

    images: Any
    target: Any
    states: Any


def clips(n: int, seed: int, ahead: int = AHEAD, masses: Any = (1.0, 1.0, 1.0)) -> Clips:
    """Clips of `ahead` frames after the first three."""
    states = billiards.paths(billiards.draw(n, np.random.default_rng(seed)), FRAMES - 1 + ahead,
                             masses)  # fmt: skip
    states = states.astype(np.float32)
    seen = jnp.asarray(states[:, [*range(FRAMES), FRAMES - 1 + AHEAD], :, :2])
    drawn = np.asarray(_pictures(seen))
    return Clips(drawn[:, :FRAMES], drawn[:, FRAMES], states[:, FRAMES - 1 :])


@jax.jit
def _pictures(places: Any) -> Any:
    return jnp.round(255 * jax.vmap(jax.vmap(picture))(places)).astype(jnp.uint8)


@dataclass(frozen=True)
class Variant:
    """What stands in the middle and at the end, and whether the roll-out's end is a loss."""

    name: str
    engine: bool = True
    physics_loss: bool = True
    renderer: bool = False
    masses: bool = False


class Model(eqx.Module):
    """Encoder, what is ten frames later, decoder."""

    encoder: Encoder
    decoder: Decoder | None
    # A network in place of the engine; with the engine, logarithms of masses over the first one.
    physics: Any
    variant: Variant = eqx.field(static=True)

    def __init__(self, variant: Variant, key: Any) -> None:
        keys = jax.random.split(key, 3)
        self.variant = variant
        self.encoder = Encoder(keys[0])
        self.decoder = None if variant.renderer else Decoder(keys[1])
        if variant.engine:
            self.physics = jnp.zeros(billiards.DISCS - 1) if variant.masses else None
        else:
            self.physics = Dense(keys[2])

    def masses(self) -> Any:
        """Masses of the discs; the first is 1, since pictures show no more than ratios."""
        return jnp.exp(jnp.concatenate([jnp.zeros(1), self.physics]))

    def after(self, states: Any, frames: int = AHEAD) -> Any:
        """States [n, frames, discs, 4] after each frame; of the network after the tenth alone."""
        if not self.variant.engine:
            return jax.vmap(self.physics)(states)[:, None]
        scene = billiards.simulator()
        if self.variant.masses:
            scene = billiards.with_masses(scene, self.masses())
        return jax.vmap(lambda s: billiards.rollout(scene, s, frames))(states)

    def drawn(self, places: Any) -> Any:
        """The picture with discs at these places [n, discs, 2]."""
        return jax.vmap(picture if self.decoder is None else self.decoder)(places)


def loss(model: Model, labelled: Clips, others: Clips) -> Any:
    """Of a batch: states in units of the box and of the fastest disc, pictures from 0 to 1."""
    n = len(labelled.images)
    images = jnp.concatenate([labelled.images, others.images]).astype(jnp.float32) / 255
    targets = jnp.concatenate([labelled.target, others.target]).astype(jnp.float32) / 255
    now, then = labelled.states[:, 0], labelled.states[:, AHEAD]
    seen = jax.vmap(model.encoder)(images)
    after = model.after(jnp.concatenate([seen, now]))[:, -1]
    ends = jnp.stack([after[:n], after[2 * n :]])
    # Labelled clips teach the decoder by true places, the others all by the picture.
    drawn = model.drawn(jnp.concatenate([then, after[n : 2 * n]])[..., :2])
    cost = _square((seen[:n] - now) / UNITS) + _square(drawn - targets)
    if model.variant.physics_loss:
        cost = cost + _square((ends - then)[..., :2] / billiards.BOX)
    return cost


def _square(x: Any) -> Any:
    return jnp.mean(x * x)


@eqx.filter_jit
def _slope(model: Model, labelled: Clips, others: Clips) -> Any:
    return eqx.filter_value_and_grad(loss)(model, labelled, others)


class Task(NamedTuple):
    """What to train, on what share of labels, how long."""

    variant: Variant
    share: float
    updates: int


def train(task: Task, data: Clips, seed: int, say: Callable[[str], Any]) -> Model:
    """Weights by Adam; the seed draws them, which clips are labelled, and the batches."""
    shown = np.random.default_rng(seed).permutation(len(data.images))
    shown = shown[: max(round(task.share * len(shown)), BATCH)]
    arrays, rest = eqx.partition(Model(task.variant, jax.random.key(seed)), eqx.is_array)

    def evaluate(x: Any, rng: np.random.Generator) -> Any:
        rows = rng.choice(shown, BATCH), rng.choice(len(data.images), BATCH)
        batches = (Clips(*(a[i] for a in data)) for i in rows)
        value, slope = _slope(eqx.combine(x, rest), *batches)
        return value, eqx.filter(slope, eqx.is_array)

    progress = gs.time_left(task.variant.name, 200, say)
    adam = gs.ClippedAdam(task.updates, seed=seed, cut=2.0)
    found = adam.minimise(evaluate, arrays, RATE, progress=progress)
    return eqx.combine(found.x, rest)


@eqx.filter_jit
def _predicted(model: Model, images: Any, frames: int) -> Any:
    seen = jax.vmap(model.encoder)(images.astype(jnp.float32) / 255)
    return seen, model.after(seen, frames)


def predicted(model: Model, test: Clips, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """The states seen [n, discs, 4], and those afterwards as of `Model.after`."""
    seen, after = _predicted(model, test.images, frames)
    return np.asarray(seen), np.asarray(after)
