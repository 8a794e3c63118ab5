"""E6: two link lengths of a spherical double pendulum, from unit heading vectors alone (paper D).

The rig's recording is not public: motion is generated at 1 kHz from lengths 0.30 and 0.20 m and
sampled at 25 Hz for 10 samples a window. The model that is fitted takes 4 steps a sample. Every
window starts from the true orientation and a finite-difference velocity, as in the paper.
Optimiser: Adam, from 0.5 m and 0.5 m.
"""

import os
import sys
import tempfile

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

TRUE = (0.30, 0.20)
START = (0.5, 0.5)
RATE, SAMPLES, FINE = 25.0, 10, 40
EPOCHS = 100
# In units of the starting length: 0.02 m a step at first, decaying to zero.
RATE_OF_ADAM = 0.04


def model(lengths: tuple[float, float]) -> gs.Model:
    """Two spherical joints, a 2 cm sphere of 1 kg at the end of each link."""
    inertia = 0.4 * 1.0 * 0.02**2
    b = gs.Builder("spherical_double_pendulum")
    l1, l2 = lengths
    b.link("link1", joint="spherical", mass=1.0, com=(0, 0, -l1), inertia=inertia)
    b.link(
        "link2",
        "link1",
        "spherical",
        origin=(0, 0, -l1),
        mass=1.0,
        com=(0, 0, -l2),
        inertia=inertia,
    )
    return b.build()


def quaternion(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    unit = np.array(axis) / np.linalg.norm(axis)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * unit])


def truth(seconds: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions [n, 8] and velocities [n, 6] at 25 Hz: released from about 60 degrees, swirling."""
    sim = gs.Simulator(model(TRUE), 1 / (RATE * FINE), integrator=gs.RungeKutta4())
    q0 = np.concatenate([quaternion((1, 0.1, 0), 1.05), quaternion((0.3, 1, 0), 0.3)])
    qd0 = np.array([0.3, 2.0, 0.0, -0.5, 1.0, 0.0]) + 0.2 * rng.standard_normal(6)
    steps = round(seconds * RATE * FINE)
    out = sim.rollout(sim.initial_state(q0, qd0), steps=steps)
    return np.asarray(out.q)[::FINE], np.asarray(out.qd)[::FINE]


def headings(q: np.ndarray) -> np.ndarray:
    """Unit vectors along both links [n, 2, 3]."""
    m = model(TRUE)

    def one(x: jax.Array) -> jax.Array:
        R, _ = gs.dynamics.link_poses(m, x)
        return -R[:, :, 2]

    return np.asarray(jax.vmap(one)(jnp.asarray(q)))


def record(q: np.ndarray, noise: float, rng: np.random.Generator) -> gs.Recording:
    """Noisy headings as channels; a heading stays a unit vector."""
    time = np.arange(len(q)) / RATE
    values = headings(q) + noise * rng.standard_normal((len(q), 2, 3))
    values /= np.linalg.norm(values, axis=-1, keepdims=True)
    channels = {
        f"link.heading[link{i + 1}]": gs.Channel(
            f"link.heading[link{i + 1}]", time, values[:, i], "1"
        )
        for i in range(2)
    }
    return gs.Recording(channels, name="generated")


def initial_state(q: np.ndarray) -> object:
    """True orientation, and the velocity by fourth-order differences of the orientations."""
    tree = model(TRUE).tree

    def state(_: gs.Recording, t: float) -> tuple[np.ndarray, np.ndarray]:
        i = round(t * RATE)

        def turn(k: int) -> np.ndarray:
            a, b = jnp.asarray(q[i]), jnp.asarray(q[i + k])
            return np.asarray(gs.dynamics.displacement(tree, a, b))

        return q[i], RATE * (8 * (turn(1) - turn(-1)) - (turn(2) - turn(-2))) / 12

    return state


def estimate(windows: int, noise: float, seed: int, epochs: int) -> gs.Result:
    """Fit the lengths on so many windows."""
    rng = np.random.default_rng(seed)
    q, _ = truth((windows * SAMPLES + 4) / RATE, rng)
    recording = record(q, noise, rng)
    start = gs.Simulator(model(START), 1 / (4 * RATE), integrator=gs.RungeKutta4())
    names = [f"link.heading[link{i}]" for i in (1, 2)]
    problem = gs.Problem(
        start,
        recording.trim(2 / RATE, (windows * SAMPLES + 2) / RATE),
        {"link.length[*]": gs.Bounds(0.05, 2.0)},
        sensors=names,
        noise=dict.fromkeys(names, max(noise, 1e-3)),
        horizon=SAMPLES / RATE,
        growth=(1.0,),
        initial=initial_state(q),
        fit_initial=False,
        holdout=0.0,
        max_windows=windows,
    )
    return gs.fit(problem, local=gs.Adam(epochs, rate=RATE_OF_ADAM))


def gradient_error() -> float:
    """Gradient of a roll-out's end in the lengths against fourth-order differences, relative."""
    q0 = jnp.asarray(np.concatenate([quaternion((1, 0.1, 0), 1.05), quaternion((0.3, 1, 0), 0.3)]))
    qd0 = jnp.array([0.3, 2.0, 0.1, -0.5, 1.0, 0.2])
    base = model(TRUE)

    def loss(lengths: jax.Array) -> jax.Array:
        com = jnp.stack([jnp.zeros(2), jnp.zeros(2), -lengths], -1)
        origin = base.joint.origin.at[1, 2].set(-lengths[0])
        m = gs.model.with_leaf(gs.model.with_leaf(base, "link.com", com), "joint.origin", origin)
        sim = gs.Simulator(m, 0.01)
        out = sim.rollout(sim.initial_state(q0, qd0), steps=40)
        return jnp.sum(out.q[-1] * jnp.arange(1.0, 9.0))

    x = jnp.array(TRUE)
    f, h = jax.jit(loss), 1e-3
    exact = np.asarray(jax.jit(jax.grad(loss))(x))
    numeric = np.zeros(2)
    for i in range(2):
        e = h * jnp.eye(2)[i]
        numeric[i] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return float(np.max(np.abs(exact - numeric) / np.abs(numeric)))


def main() -> int:
    arguments = Figures.arguments(__doc__ or "").parse_args()
    # The three seeds are the same program: compile it once.
    gs.cache_compilations(tempfile.mkdtemp(prefix="graftsim-e06-"))
    figures = Figures("E6 heading vectors", seed=arguments.seed, json_path=arguments.json)
    figures.at_most("gradient through quaternions, relative error", gradient_error(), 1e-6)
    epochs = 2 if arguments.quick else EPOCHS
    both = (("noise-free", 1, 0.0, 0.01), ("2 mrad", 20, 2e-3, 0.05))
    for label, windows, noise, target in both[: 1 if arguments.quick else None]:
        errors = []
        for seed in range(arguments.seed, arguments.seed + 3):
            result = estimate(windows, noise, seed, epochs)
            found = [row.value for row in result.parameters]
            errors.append([abs(f / t - 1) for f, t in zip(found, TRUE, strict=True)])
        for i in range(2):
            worst = float(np.median(np.array(errors)[:, i]))
            name = f"{label}, {windows} windows: error of length {i + 1}, median of 3"
            figures.at_most(name, worst, target)
    figures.note("epochs", epochs)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
