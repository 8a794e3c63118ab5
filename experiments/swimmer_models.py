"""Models of E9: networks on the forces of a medium, and what `discover` is asked.

`paper` has the paper's layout; `dissipative` knows where a medium's force acts, and that it brakes.
"""

from __future__ import annotations

import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import swimmer

import graftsim as gs

# Size of an error that counts as one, in standard deviations of the states.
PRECISION = 0.01
FORCE, VELOCITY = "link.com_force[link0,link1]", "link.com_velocity[*]"


class Shifted(eqx.Module):
    """tanh layers of 25 with a bias on the inputs as well, as the paper's framework has them."""

    shift: jax.Array
    layers: list

    def __init__(self, inputs: int, outputs: int, key: Any, width: int = 25) -> None:
        sizes = (inputs, width, width, width, outputs)
        keys = jax.random.split(key, 4)
        self.shift = jnp.zeros(inputs)
        self.layers = [
            eqx.nn.Linear(*pair, key=k) for *pair, k in zip(sizes, sizes[1:], keys, strict=False)
        ]
        last = self.layers[-1]
        self.layers[-1] = eqx.tree_at(
            lambda layer: (layer.weight, layer.bias), last, (0 * last.weight, 0 * last.bias)
        )

    def __call__(self, x: Any) -> Any:
        x = x + self.shift
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x))
        return self.layers[-1](x)


def paper(links: int, seed: int) -> gs.Graft:
    """(a): all positions and velocities to all passive forces."""
    nv, key = links + 2, jax.random.key(seed)
    network = Shifted(2 * nv, nv, key)
    return gs.Graft("joint.tau_passive", ("joint.q", "joint.qd"), network, name="medium")


def dissipative() -> gs.Graft:
    """(d): one network for all links, each link's velocity to the force on it."""
    return gs.Graft(
        f"{FORCE}.nz,fx,fy",
        f"{VELOCITY}.wz,vx,vy",
        gs.MLP(16, 16),
        structure=gs.Dissipative(f"{VELOCITY}.wz,vx,vy"),
        name="medium",
    )


def posed(
    start: gs.Simulator,
    links: int,
    runs: list[swimmer.Run],
    horizons: Any,
    steps: int = swimmer.TRAIN,
) -> gs.Problem:
    """Errors over the spread of each number, from the recorded states of the first steps."""
    names, scale = swimmer.channels(links), swimmer.spread(runs, steps)
    return gs.Problem(
        start,
        swimmer.recordings(links, runs, steps),
        horizon=horizons[-1],
        growth=tuple(h / horizons[-1] for h in horizons),
        initial=swimmer.sampled,
        fit_initial=False,
        noise=dict(zip(names, PRECISION * scale, strict=True)),
        holdout=0,
    )


def trained(
    graft: gs.Graft,
    links: int,
    runs: list[swimmer.Run],
    local: Any,
    seed: int,
    steps: int = swimmer.TRAIN,
) -> Any:
    """The fit of a grafted swimmer on windows of 20 steps, then of 200; and its seconds."""
    began = time.perf_counter()
    start = swimmer.simulator(links).graft(gs.Blueprint(graft), key=jax.random.key(seed))
    result = gs.fit(posed(start, links, runs, (0.04, 0.4), steps), local=local)
    return result, time.perf_counter() - began


def discovered(runs: list[swimmer.Run], held: list[swimmer.Run]) -> gs.Discovery:
    """(e): which velocity of a link resists which motion."""
    scale = 0.1 * PRECISION * swimmer.spread(runs)
    inputs = [f"{VELOCITY}.{c}" for c in ("wz", "vx", "vy")]
    return gs.discover(
        swimmer.simulator(2),
        swimmer.recordings(2, runs),
        candidates={f"{FORCE}.{c}": inputs for c in ("nz", "fx", "fy")},
        shared=True,
        holdout=swimmer.recordings(2, held),
        horizon=0.1,
        initial=swimmer.sampled,
        fit_initial=False,
        noise=dict(zip(swimmer.channels(2), scale, strict=True)),
    )
