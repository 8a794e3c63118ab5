from dataclasses import replace
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

DAMPING, NOISE, DT, STEPS = 0.1, 0.02, 0.05, 40

_b = gs.Builder("rod")
_b.link("rod", joint_name="hinge", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.02)
_rod = gs.Simulator(_b.build(), DT, integrator=gs.ImplicitDamping())


def _swing(damping):
    """Two seconds of a rod that hangs on a hinge, let go at an angle of 1 rad."""
    model = gs.model.with_leaf(_rod.model, "joint.damping", jnp.array([damping]))
    return replace(_rod, model=model).rollout(_rod.initial_state([1.0]), steps=STEPS).q[:, 0]


_read = np.asarray(_swing(DAMPING)) + NOISE * np.random.default_rng(0).standard_normal(STEPS + 1)
problem = gs.Problem(
    _rod,
    gs.recording_from_arrays({"time": DT * np.arange(STEPS + 1), "joint.q[hinge]": _read}),
    {"joint.damping[hinge]": gs.Bounds(0.0, 0.5)},
    initial=lambda *_: (np.array([1.0]), np.zeros(1)),
    fit_initial=False,
    horizon=STEPS * DT,
    growth=(1.0,),
    noise={"joint.q[hinge]": NOISE},
    holdout=0,
)
if find_spec("sbi"):
    import sbi.inference
    import torch

    torch.manual_seed(0)


def _exact():
    """Mean and deviation of the posterior, by its density on a grid."""
    grid = jnp.linspace(0.0, 0.5, 2001)
    log = -0.5 * jnp.sum(((jax.vmap(_swing)(grid) - _read) / NOISE) ** 2, 1)
    weight = jax.nn.softmax(log)
    mean = weight @ grid
    return float(mean), float(jnp.sqrt(weight @ (grid - mean) ** 2))


def holds():
    """Means and deviations are those of the density."""
    mean, std = _exact()
    chance = 4 * std / np.sqrt(posterior.ess[0])
    assert abs(posterior.mean[0] - mean) < chance and abs(posterior.std[0] / std - 1) < 0.1
    drawn = mixture.sample(1000)
    assert abs(drawn.mean() - mean) < 0.2 * std and abs(drawn.std() / std - 1) < 0.1
    assert mixture.effective > 0.8
    if find_spec("sbi"):
        drawn = neural.sample((1000,), show_progress_bars=False).numpy()
        assert abs(drawn.mean() - mean) < std and abs(drawn.std() / std - 1) < 0.6
