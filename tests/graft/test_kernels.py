"""Grafts on compiled kernels: values and gradients of XLA, and no weight built into the code."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, with_scales, with_weights

import zoo
from graftsim import (
    GRU,
    MLP,
    ActionReaction,
    Conservative,
    Dissipative,
    Feature,
    Graft,
    Library,
    Odd,
    Simulator,
    ZeroAtRest,
)
from graftsim.engine import backend
from graftsim.model import Builder

Q, V = "joint.q[*]", "joint.qd[*]"
NETWORKS = (
    Graft("joint.tau_passive[*]", (Q, V), MLP(3, 2)),
    Graft("joint.tau_damping", ("state.q", Feature(jnp.sin, "joint.q")), MLP(3, activation="elu")),
    Graft(
        "actuator.force[*]",
        ("control.u[*]", "joint.qdd[*]@prev"),
        MLP(2, activation="silu"),
        shared=False,
        mode="replace",
    ),
    Graft("link.velocity[rod1]", "link.velocity[*]", MLP(2), mode="scale"),
    Graft("joint.tau[*]", (Q, V), GRU(3)),
    Graft("joint.qdd", "joint.q", GRU(2), shared=False),
    Graft("joint.tau_spring[*]", (Q, V), Library()),
    Graft("joint.tau_friction[*]", (Q, V), eqx.nn.MLP(2, 1, 3, 1, key=jax.random.key(1))),
)
STRUCTURES = (
    Graft("joint.tau_passive", ("joint.q", "joint.qd"), MLP(3), structure=Dissipative("joint.qd")),
    Graft("joint.tau[*]", (Q, V), Library(), structure=(ZeroAtRest(), Odd(V), Dissipative())),
    Graft("joint.tau_spring", "joint.q", MLP(3), structure=(Conservative("joint.q"), Odd())),
    Graft("joint.tau_limit[*]", Q, Library("sine", "cubic"), structure=Conservative()),
    Graft("link.force[*]", ("link.velocity[*]", Q), MLP(2),
          structure=ZeroAtRest("link.velocity[*]")),
    Graft("link.force", "link.velocity[*]", MLP(2),
          structure=(Odd(), ActionReaction((("rod0", "rod1"),)))),
)  # fmt: skip
CASES = {"networks": (NETWORKS, 1), "structures": (STRUCTURES, 1), "substeps": (NETWORKS[4:5], 2)}
CONTROLS = np.random.default_rng(2).normal(size=(6, 2))


@lru_cache
def case(name, seed=1):
    """Two driven rods with the grafts, weights and scales random."""
    grafts, substeps = CASES[name]
    plain = Simulator(zoo.with_motors(zoo.chain(2, damping=0.2)), 0.01, substeps=substeps)
    simulator = grafted(plain, *grafts, seed=seed, size=0.05)
    for n, label in enumerate(simulator.grafts.labels):
        simulator = with_scales(simulator, label, n)
    return simulator


def result(simulator, backend):
    """Trajectory, what the grafts give, and the gradient of its end in all weights and scales."""
    state = simulator.initial_state([0.4, -0.3], [1.0, -2.0])
    real, rest = eqx.partition(simulator.grafts, eqx.is_inexact_array)

    def end(real):
        moved = eqx.tree_at(lambda s: s.grafts, simulator, eqx.combine(real, rest))
        record = tuple(f"graft.{n}" for n in simulator.grafts.labels)
        run = moved.rollout(state, jnp.asarray(CONTROLS), backend=backend, record=record)
        return jnp.sum(run.q[-1] * jnp.array([1.0, 2.0])), run

    (_, run), slopes = jax.value_and_grad(end, has_aux=True)(real)
    return {"run": run, "slopes": slopes}


def close(a, b, rtol):
    """Every pair of leaves agrees to rtol of the larger one's size."""
    for (path, x), y in zip(
        jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True
    ):
        size = max(np.abs(np.asarray(y)).max(initial=0), 1e-3)
        np.testing.assert_allclose(
            x, y, rtol=0, atol=rtol * size, err_msg=jax.tree_util.keystr(path)
        )


@pytest.mark.parametrize("name", ["networks", "structures"])
def test_values_and_gradients(name):
    """Each network and structure on a kernel as on XLA, memory included."""
    simulator = case(name)
    close(result(simulator, "kernel"), result(simulator, "xla"), 1e-11)


def test_memory_with_substeps():
    """The loop over sub-steps within the loop over time."""
    simulator = case("substeps")
    state = simulator.initial_state([0.4, -0.3], [1.0, -2.0])
    close(*(simulator.rollout(state, jnp.asarray(CONTROLS), backend=b) for b in ("kernel", "xla")),
          1e-11)  # fmt: skip


def test_zeros_and_ones_of_weights_are_not_built_in():
    """A kernel made for a fresh graft, last layer zero, serves all other weights, and scales."""
    simulator = grafted(
        Simulator(zoo.chain(2), 0.01), Graft("joint.tau[*]", (Q, V), MLP(2), name="g")
    )
    state = simulator.initial_state([0.4, -0.3], [1.0, -2.0])
    count = simulator.grafts["g"].trainable.size
    plain = Simulator(zoo.chain(2), 0.01).rollout(state, steps=4, backend="xla")
    close(simulator.rollout(state, steps=4, backend="kernel").q, plain.q, 1e-14)
    kernels = len(backend._KERNELS)
    vectors = [np.ones(count), -np.ones(count), np.linspace(-2, 2, count), np.eye(count)[0]]
    for seed, vector in enumerate(vectors):
        other = with_scales(with_weights(simulator, "g", vector), "g", seed)
        kernel, xla = (other.rollout(state, steps=4, backend=b).q for b in ("kernel", "xla"))
        close(kernel, xla, 1e-12)
        assert seed == 3 or np.abs(kernel - plain.q).max() > 1e-5
    assert len(backend._KERNELS) == kernels


def test_a_robot_of_all_joints_with_merged_links():
    """Rows by label on a mechanism with free, spherical and fixed joints."""
    model, state, u = zoo.everything(chains=False)
    free = next(
        link for link, t in zip(model.tree.links, model.tree.types, strict=True) if t == "free"
    )
    simulator = grafted(
        Simulator(model, 0.005),
        Graft("joint.tau_friction[*]", ("joint.qd[*]", "link.velocity[*]"), MLP(3)),
        Graft(f"link.force[{free}]", "link.velocity[*]", MLP(3),
              structure=Dissipative("link.velocity[*]")),
        Graft("actuator.force[*]", ("control.u[*]", "actuator.force[*]@prev"), GRU(2)),
        seed=2, size=0.1,
    )  # fmt: skip
    kernel, xla = (
        simulator.rollout(state, u * jnp.ones((4, 1)), backend=b) for b in ("kernel", "xla")
    )
    close(kernel, xla, 1e-11)


def test_lanes_are_weights_and_starts():
    """vmap over weights and states fills the lanes; three bodies that push each other."""
    builder = Builder("bodies", gravity=(0, 0, 0))
    for name in "abc":
        builder.link(name, joint="free", mass=1.0, inertia=0.4)
    plain = Simulator(builder.build(), 0.01)
    pairs = ActionReaction((("a", "b"), ("b", "c")))
    inputs = ("link.velocity[*]", Feature(lambda p: p[:3] - p[3:], "link.position[*]"))
    simulator = grafted(plain, Graft("link.force", inputs, MLP(3), structure=pairs, name="g"))
    rng = np.random.default_rng(3)
    vectors = rng.normal(0, 0.5, (5, simulator.grafts["g"].trainable.size))
    speeds = rng.normal(size=(5, 18))

    def end(vector, qd, backend):
        moved = with_weights(simulator, "g", vector)
        return moved.rollout(plain.initial_state(None, qd), steps=4, backend=backend).q[-1]

    kernel, xla = (
        jax.vmap(lambda v, s, b=b: end(v, s, b))(vectors, speeds) for b in ("kernel", "xla")
    )
    close(kernel, xla, 1e-12)
