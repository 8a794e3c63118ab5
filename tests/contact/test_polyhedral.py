"""A friction polyhedron at its corners, and where contacts are redundant."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.contact import Complementarity, LinearComplementarity

MU, SLOPE, STEPS = 0.3, np.radians(25), 100


def effective_friction(law, backend="kernel"):
    """Function of the azimuth of the fall line: coefficient at which a box slides, over its mu."""
    builder = gs.Builder("slope")
    builder.geom("plane", (), name="floor", friction=MU)
    builder.link("box", joint="free", mass=1.0, inertia=0.01)
    builder.geom("box", (0.1, 0.1, 0.05), "box", name="box", friction=MU)
    model = builder.build()
    simulator = gs.Simulator(model, 0.002, contact=law)
    start = simulator.initial_state({"box.z": 0.05})

    def mu(azimuth):
        along = jnp.array([jnp.cos(azimuth), jnp.sin(azimuth), 0.0])
        down = jnp.array([0.0, 0.0, 1.0])
        gravity = 9.81 * (np.sin(SLOPE) * along - np.cos(SLOPE) * down)
        tilted = replace(simulator, model=gs.model.with_leaf(model, "world.gravity", gravity))
        moved = tilted.rollout(start, steps=STEPS, backend=backend)
        speed = moved.qd[-1, :3] @ along
        pull = speed / (STEPS * 0.002)
        return (np.sin(SLOPE) - pull / 9.81) / np.cos(SLOPE) / MU

    return mu


AZIMUTHS = np.radians(np.arange(0, 360, 15))


@pytest.mark.parametrize(
    "directions", [4, *(pytest.param(k, marks=pytest.mark.slow) for k in (6, 8, 16))]
)
def test_every_azimuth(directions):
    """N1: between the polygon's inner and outer radius, corners hit squarely included."""
    mu = effective_friction(LinearComplementarity(directions=directions))
    found = np.asarray(jax.vmap(mu)(AZIMUTHS))
    assert np.all(found > np.cos(np.pi / directions) - 1e-6)
    assert np.all(found < 1 + 1e-6)
    # Along a direction of the polygon friction is whole, between two of them it is least.
    assert found[0] == pytest.approx(1, abs=1e-6)
    if directions == 4:
        assert found[3] == pytest.approx(np.cos(np.pi / 4), abs=1e-6)


@pytest.mark.slow
def test_slopes_at_every_azimuth_are_finite():
    """Also where the sliding direction meets a corner or a side."""
    mu = effective_friction(LinearComplementarity())
    assert np.all(np.isfinite(jax.vmap(jax.grad(mu))(AZIMUTHS)))


@pytest.mark.slow
def test_backends_agree_at_corners():
    """N1 on XLA: at 0, 45 and 225 degrees."""
    law = LinearComplementarity()
    for degrees in (0, 45, 225):
        xla, kernel = (
            float(effective_friction(law, b)(jnp.radians(degrees))) for b in ("xla", "kernel")
        )
        assert xla == pytest.approx(kernel, abs=1e-9)


@pytest.mark.slow
def test_the_cone_has_no_corners():
    """Coulomb's cone: whole friction in all directions."""
    mu = effective_friction(Complementarity())
    np.testing.assert_allclose(jax.vmap(mu)(AZIMUTHS), 1, atol=1e-6)


def clamp() -> gs.Model:
    """P1: two pads that springs of 10 N press together, and a rod between them."""
    builder = gs.Builder("clamp")
    for name, side in (("left", -1.0), ("right", 1.0)):
        builder.link(
            name, joint="prismatic", axis=(-side, 0, 0), origin=(0.03 * side, 0, 0.5), mass=0.2,
            inertia=1e-4, damping=20.0, stiffness=1000.0, rest=0.01,
        )  # fmt: skip
        builder.geom("box", (0.01, 0.03, 0.03), name, name=name, friction=0.7)
    builder.link("rod", joint="free", mass=0.05, inertia=(4e-5, 1e-5, 4e-5))
    half = float(np.sqrt(0.5))
    builder.geom(
        "capsule", (0.02, 0.04), "rod", rotation=(half, half, 0, 0), name="rod", friction=0.7
    )
    builder.exclude("left", "right")
    return builder.build()


@pytest.mark.parametrize(
    "law",
    [
        LinearComplementarity(directions=8),
        pytest.param(LinearComplementarity(), marks=pytest.mark.slow),
        pytest.param(Complementarity(), marks=pytest.mark.slow),
        pytest.param(Complementarity(cone="pyramid"), marks=pytest.mark.slow),
    ],
    ids=["8", "4", "cone", "pyramid"],
)
def test_a_clamped_rod_stays(law):
    """P1: friction holds 14 N against 0.49 N; energy never rises, and nothing is left open."""
    model = clamp()
    simulator = gs.Simulator(model, 0.002, contact=law, integrator=gs.ImplicitDamping())
    rng = np.random.default_rng(0)
    heights, turns = rng.uniform(0.49, 0.51, 12), rng.uniform(-0.2, 0.2, 12)

    def run(z, turn):
        pose = {"left": -2e-4, "right": -2e-4, "rod.z": z}
        pose |= {"rod.qw": jnp.cos(turn / 2), "rod.qx": jnp.sin(turn / 2)}
        start = simulator.initial_state(pose)
        return simulator.rollout(start, steps=200, record=("contact.residual",))

    moved = jax.vmap(run)(heights, turns)
    z = np.asarray(moved.q[:, :, 4])
    assert np.abs(z[:, -1] - z[:, 50]).max() < 1e-9
    assert np.abs(z - z[:, :1]).max() < 1e-4
    assert float(jnp.max(moved.recorded["contact.residual"])) < 1e-8

    def energy(q, qd):
        return gs.dynamics.kinetic_energy(model, q, qd) + gs.dynamics.potential_energy(model, q)

    total = np.asarray(jax.vmap(jax.vmap(energy))(moved.q, moved.qd))
    assert np.max(np.diff(total, axis=1)) < 1e-9
