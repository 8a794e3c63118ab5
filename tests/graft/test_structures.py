"""Structures hold for any weights and any scales: laws of the force as a function of its inputs."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, randomised, with_scales
from hypothesis import given, settings, strategies as st

import zoo
from graftsim import (
    MLP,
    Conservative,
    Dissipative,
    Feature,
    Graft,
    Library,
    Odd,
    RungeKutta4,
    Simulator,
    ZeroAtRest,
    dynamics,
)
from graftsim.engine.rollout import scan_steps
from graftsim.model.catalogue import with_leaf

Q, V = "joint.q", "joint.qd"
WHOLE = (Q, V)
ROW = (f"{Q}[*]", f"{V}[*]")
BOTH = (*WHOLE, Feature(lambda q: jnp.cos(q[:1]), Q, "cos"))
# (target, inputs, network, structure), on two rods.
DISSIPATIVE = {
    "whole": ("joint.tau_passive", WHOLE, MLP(5), Dissipative(V)),
    "rows": ("joint.tau_damping[*]", ROW, MLP(4, 3, activation="elu"), Dissipative()),
    "named row": ("joint.tau[rod1]", ROW, MLP(4), Dissipative(f"{V}[*]")),
    "library": ("joint.tau_passive", BOTH, Library(), Dissipative(V)),
    "spatial": ("link.force[*]", ("link.velocity[*]", f"{Q}[*]"), MLP(4),
                Dissipative("link.velocity[*]")),
    "around odd": ("joint.tau", WHOLE, MLP(5), (Odd(), Dissipative(V))),
    "around rest": ("joint.tau", WHOLE, MLP(5), (ZeroAtRest(V), Odd(Q), Dissipative(V))),
    "odd": ("joint.tau", WHOLE, MLP(5), (Dissipative(V), Odd())),
    "odd in velocity": ("joint.tau", BOTH, MLP(5), (Dissipative(V), Odd((V,)))),
    "rest": ("joint.tau", BOTH, MLP(5), (Dissipative(V), ZeroAtRest((V, Q)))),
}  # fmt: skip
CONSERVATIVE = {
    "whole": ("joint.tau_passive", Q, MLP(5), Conservative(Q)),
    "rows": ("joint.tau_spring[*]", f"{Q}[*]", MLP(4, 3, activation="silu"), Conservative()),
    "library": ("joint.tau", Q, Library("sine", "cosine", "cubic"), Conservative(Q)),
    "odd": ("joint.tau", Q, MLP(5), (Conservative(Q), Odd())),
    "around odd": ("joint.tau", Q, MLP(5), (Odd(Q), Conservative(Q))),
    "rest": ("joint.tau", Q, MLP(5), (Conservative(Q), ZeroAtRest(Q))),
}
ODD = {
    "all": ("joint.tau", WHOLE, MLP(5), Odd()),
    "one input": ("joint.tau[*]", ROW, MLP(5), Odd((ROW[1],))),
    "named as text": ("joint.tau[*]", ROW, MLP(5), Odd(ROW[1])),
    "library": ("joint.tau", BOTH, Library(), Odd()),
    "at rest": ("joint.tau", WHOLE, MLP(5), (ZeroAtRest(V), Odd())),
    "rest of it": ("joint.tau", WHOLE, MLP(5), (Odd(), ZeroAtRest(V))),
    "dissipative": DISSIPATIVE["odd"],
    "velocity of dissipative": DISSIPATIVE["odd in velocity"],
    "conservative": CONSERVATIVE["odd"],
    "of each": ("joint.tau", WHOLE, MLP(5), (Odd(Q), Odd(V))),
}
REST = {
    "rows": ("joint.tau[*]", ROW, MLP(5), ZeroAtRest()),
    "two velocities": ("link.force[*]", ("link.velocity[*]", *ROW), MLP(4),
                       ZeroAtRest(("link.velocity[*]", ROW[1]))),
    "odd inside": ODD["rest of it"],
    "odd outside": ODD["at rest"],
    "dissipative": DISSIPATIVE["rest"],
    "conservative": CONSERVATIVE["rest"],
}  # fmt: skip


@lru_cache
def bound(case):
    """A graft on two rods, and the program of its output for raw inputs."""
    target, inputs, network, structure = case
    simulator = grafted(
        Simulator(zoo.chain(2)), Graft(target, inputs, network, structure=structure, name="g")
    )
    return simulator, zoo.jit(lambda graft, x: graft(x)[0])


def drawn(case, seed, size=1.0):
    """That graft with random weights and scales, its output, and a random input [R, n]."""
    simulator, program = bound(case)
    graft = with_scales(randomised(simulator, seed, size), "g", seed).grafts["g"]
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 2, (graft.wiring.rows, len(graft.wiring.columns)))
    return graft, lambda x: np.asarray(program(graft, jnp.asarray(x))), x


def columns(graft, *texts):
    """Mask of the columns of some inputs."""
    mask = np.zeros(len(graft.wiring.columns), bool)
    for text in texts:
        mask[graft.wiring.slices[text]] = True
    return mask


def law(cases):
    """Run a test for each case, with seeds that hypothesis draws."""

    def decorate(test):
        test = settings(max_examples=8)(given(seed=st.integers(0, 2**32 - 1))(test))
        return pytest.mark.parametrize("name", cases)(test)

    return decorate


@law(DISSIPATIVE)
def test_dissipative_force_never_adds_power(name, seed):
    """v . F <= 0 whatever the weights, and F = 0 at v = 0."""
    graft, f, x = drawn(DISSIPATIVE[name], seed)
    structures = graft.wiring.structure
    velocity = next(s.velocity for s in structures if isinstance(s, Dissipative))
    v = columns(graft, velocity)
    y = f(x)
    power, size = np.sum(x[:, v] * y), np.sum(np.abs(x[:, v] * y))
    assert power <= 1e-12 * size
    assert np.array_equal(f(x * ~v), np.zeros_like(y))


@law(CONSERVATIVE)
def test_conservative_force_has_no_curl(name, seed):
    """The Jacobian of the force is symmetric."""
    graft, _, x = drawn(CONSERVATIVE[name], seed)
    J = np.asarray(jacobian(graft, x))
    if graft.wiring.rows > 1:
        # Each row has a potential of its own position: nothing crosses from row to row.
        assert np.array_equal(J[0, 0, 1], J[1, 0, 0]) and J[0, 0, 1] == 0
        return
    J = J[0, :, 0]
    assert np.abs(J - J.T).max() <= 1e-11 * np.abs(J).max()


@zoo.jit
def jacobian(graft, x):
    """[R, m, R, n]."""
    return jax.jacfwd(lambda x: graft(x)[0])(x)


@law(ODD)
def test_odd_force_turns_round(name, seed):
    """f(-x) = -f(x), in the inputs that are odd."""
    graft, f, x = drawn(ODD[name], seed)
    of = [s.of for s in graft.wiring.structure if isinstance(s, Odd)]
    for texts in of:
        texts = (texts,) if isinstance(texts, str) else texts or graft.wiring.texts
        mirrored = np.where(columns(graft, *texts), -x, x)
        assert np.allclose(f(mirrored), -f(x), rtol=1e-12, atol=1e-13)
    assert np.abs(f(x)).max() > 0


@law(REST)
def test_no_force_at_rest(name, seed):
    """f(q, 0) = 0 to rounding; and not everywhere."""
    graft, f, x = drawn(REST[name], seed)
    (velocity,) = (s.velocity for s in graft.wiring.structure if isinstance(s, ZeroAtRest))
    v = columns(graft, *((velocity,) if isinstance(velocity, str) else velocity))
    assert np.abs(f(x * ~v)).max() < 1e-14
    assert np.abs(f(x)).max() > 0


def test_fresh_structures():
    """A new dissipative graft damps by a hundredth of its scales, the others do nothing."""
    simulator, program = bound(DISSIPATIVE["whole"])
    graft = with_scales(simulator, "g", 1).grafts["g"]
    x = jnp.asarray(np.random.default_rng(2).normal(size=(1, 4)))
    unit = graft.output_scale / graft.input_scale[2:]
    assert np.allclose(program(graft, x)[0], -0.01 * unit * x[0, 2:], rtol=1e-14)
    for case in (CONSERVATIVE["whole"], ODD["all"], REST["rows"]):
        simulator, program = bound(case)
        graft = simulator.grafts["g"]
        shape = (graft.wiring.rows, len(graft.wiring.columns))
        assert not np.any(program(graft, jnp.ones(shape)))


# -- in a mechanism without gravity and friction ------------------------------------------------


@zoo.jit
def energies(simulator, state):
    """Kinetic energy and positions over 40 steps."""
    run = scan_steps(simulator, state, jnp.zeros((40, 0)))
    energy = jax.vmap(lambda q, qd: dynamics.kinetic_energy(simulator.model, q, qd))
    return energy(run.q, run.qd), run.q


def drifting(case, dt, seed=3):
    """Two rods that only this graft acts on: its simulator, energies [T + 1] and positions."""
    target, inputs, network, structure = case
    model = with_leaf(zoo.chain(2), "world.gravity", jnp.zeros(3))
    plain = Simulator(model, dt, integrator=RungeKutta4())
    graft = Graft(target, inputs, network, structure=structure, name="g")
    simulator = with_scales(grafted(plain, graft, seed=seed, size=0.3), "g", seed)
    energy, q = energies(simulator, plain.initial_state([0.4, -0.8], [1.5, -2.0]))
    return simulator, np.asarray(energy), q


@pytest.mark.parametrize("name", ["whole", "spatial"])
def test_energy_of_a_damped_mechanism_never_rises(name):
    """From step to step it falls, by more than the integrator errs."""
    _, energy, _ = drifting(DISSIPATIVE[name], 0.004)
    assert np.diff(energy).max() < 1e-10
    assert energy[-1] < 0.99 * energy[0]


def test_energy_and_potential_are_kept():
    """Their sum drifts with the fifth power of the step's length; the potential is the network."""
    drifts = []
    for dt in (0.02, 0.01):
        simulator, kinetic, q = drifting(CONSERVATIVE["whole"], dt)
        graft = simulator.grafts["g"]
        scale = jnp.mean(graft.input_scale * graft.output_scale)
        potential = scale * jax.vmap(graft.network)(q / graft.input_scale)[:, 0]
        total = kinetic + np.asarray(potential)
        drifts.append(np.abs(total - total[0]).max())
        assert np.ptp(kinetic) > 1e-2
    assert drifts[0] < 1e-4 * np.ptp(kinetic)
    assert drifts[1] < drifts[0] / (2**5 / 2)
