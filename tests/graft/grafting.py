"""Grafted simulators with other weights and scales, and the networks written out in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.graft import Blueprint

ACTIVATIONS = {
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def grafted(simulator, *grafts, seed=None, size=0.5):
    """The simulator with grafts; with a seed all their weights are random, last layers too."""
    simulator = simulator.graft(Blueprint(*grafts), key=jax.random.key(7))
    return simulator if seed is None else randomised(simulator, seed, size)


def randomised(simulator, seed, size=0.5):
    """Every weight of every graft drawn anew, normal with the given deviation."""
    rng = np.random.default_rng(seed)
    for label in simulator.grafts.labels:
        count = simulator.grafts[label].trainable.size
        simulator = with_weights(simulator, label, rng.normal(0, size, count))
    return simulator


def with_weights(simulator, label, vector):
    """The simulator with the weights of one graft replaced."""
    grafts = simulator.grafts
    changed = grafts[label].with_trainable(jnp.asarray(vector))
    return eqx.tree_at(lambda s: s.grafts, simulator, grafts.replace(label, changed))


def with_scales(simulator, label, seed):
    """The simulator with random scales, another in each column, of one graft."""
    rng = np.random.default_rng(seed)
    grafts = simulator.grafts
    graft = grafts[label]
    scales = [
        jnp.asarray(rng.uniform(0.3, 3.0, s.shape)) for s in (graft.input_scale, graft.output_scale)
    ]
    graft = eqx.tree_at(lambda g: (g.input_scale, g.output_scale), graft, scales)
    return eqx.tree_at(lambda s: s.grafts, simulator, grafts.replace(label, graft))


def output(graft, x, row=0):
    """Output of a perceptron's graft for raw inputs x [.., n], in NumPy; `row` has the network."""
    layers = graft.weights.layers
    if not graft.wiring.shared:
        layers = jax.tree.map(lambda w: w[row], layers)
    x = np.asarray(x) / np.asarray(graft.input_scale)
    for layer in layers[:-1]:
        x = ACTIVATIONS[graft.form.activation](x @ np.asarray(layer.weight).T + layer.bias)
    y = x @ np.asarray(layers[-1].weight).T + np.asarray(layers[-1].bias)
    return y * np.asarray(graft.output_scale)
