"""Derivatives through assembling and a roll-out with loops, against differences."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from differences import column_errors, jacobians
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.closing import residual
from graftsim.engine.rollout import scan_steps
from graftsim.model import fuse
from graftsim.model.loops import Couplings, Loops


def linkage(welded=False):
    """A four-bar with a slider that follows its crank; or a plate welded to an arm."""
    b = gs.Builder("linkage")
    rod = {"axis": (0, 1, 0), "damping": 0.05, "inertia": (3e-3, 4e-3, 2e-3)}
    b.link("crank", mass=0.3, com=(0, 0, 0.15), **rod)
    if welded:
        b.link(
            "plate", joint="free", origin=(0.2, 0.1, 0.1), mass=0.4, com=(0.1, 0, 0), inertia=0.01
        )
        turn = zoo.random_quaternion(np.random.default_rng(5))
        place = {"anchor": (0.2, 0.1, 0.1), "opposite": (0.05, -0.1, 0.02), "rotation": turn}
        return b.loop("seam", "crank", "plate", "weld", **place).build()
    b.link("coupler", "crank", origin=(0, 0, 0.3), mass=0.7, com=(0.3, 0, 0.1), **rod)
    b.link("rocker", origin=(0.6, 0, 0), mass=0.5, com=(0, 0, 0.25), **rod)
    b.link("slider", joint="prismatic", axis=(1, 0, 0.2), mass=0.6, damping=0.3)
    b.loop("pin", "coupler", "rocker", anchor=(0.6, 0, 0.2), opposite=(0, 0, 0.5))
    numbers = {"offset": 0.05, "ratio": 0.3, "quadratic": 0.2, "cubic": -0.1, "quartic": 0.15}
    b.couple("cam", "slider", "crank", reference=-0.2, **numbers)
    return b.build()


def numbers_of(model):
    """What is differentiated: every number of the loops and couplings, some others."""
    loop, coupling = model.loop, model.coupling
    parts = [getattr(loop, k) for k in ("anchor", "opposite", "rotation")]
    fields = Couplings.__dataclass_fields__.items()
    parts += [getattr(coupling, k) for k, f in fields if not f.metadata.get("static")]
    return (*parts, model.link.mass, model.joint.origin)


CASES = [
    pytest.param(gs.SemiImplicitEuler(), "xla", False, id="euler-xla"),
    pytest.param(gs.SemiImplicitEuler(), "kernel", False, id="euler-kernel"),
    pytest.param(gs.SemiImplicitEuler(), "xla", True, id="weld-xla"),
    pytest.param(gs.SemiImplicitEuler(), "kernel", True, id="weld-kernel"),
    pytest.param(gs.ImplicitDamping(), "kernel", False, id="implicit-kernel"),
    pytest.param(gs.RungeKutta4(), "kernel", False, id="rk4-kernel"),
]


@pytest.mark.parametrize(("integrator", "backend", "welded"), CASES)
def test_gradients_of_a_motion_in_every_number(integrator, backend, welded):
    """Both modes, by all numbers of loops, masses, origins and the initial state, to 1e-6.

    What lies across a plane mechanism's plane cannot close and moves nothing: slope zero.
    """
    model = linkage(welded)
    plain = gs.Simulator(model)
    start = plain.assemble(plain.initial_state(qd=np.linspace(-1, 1, model.nv)))

    def outcome(x):
        numbers, q, qd = x
        s = gs.Simulator(eqx.tree_at(numbers_of, model, numbers), 0.01, integrator=integrator)
        at, u = s.initial_state(q=q, qd=qd), jnp.zeros((3, 0))
        run = s.rollout(at, u, backend="kernel") if backend == "kernel" else scan_steps(s, at, u)
        return jnp.concatenate([run.q[-1], run.qd[-1]])

    point = (numbers_of(model), start.q, start.qd)
    forward, reverse, differences = jacobians(outcome)(point)
    assert np.all(np.isfinite(forward)) and np.all(np.isfinite(reverse))
    assert column_errors(forward, differences).max() < 1e-6
    assert column_errors(reverse, differences).max() < 1e-6
    assert np.count_nonzero(np.abs(forward).max(0) > 1e-3) > 20


def test_assembling_has_its_derivative():
    """By where the state starts and by an anchor, joints kept and not."""
    model = linkage()

    def outcome(x):
        q, anchor = x
        changed = eqx.tree_at(lambda m: m.loop.anchor, model, anchor)
        s = gs.Simulator(changed)
        return s.assemble(s.initial_state(q=q), keep=("crank",)).q

    point = (jnp.array([0.3, 0.1, 0.2, 0.0]), model.loop.anchor)
    forward, _, differences = jacobians(outcome)(point)
    assert column_errors(forward, differences).max() < 1e-6
    assert np.abs(forward[0] - np.eye(7)[0]).max() < 1e-8


@pytest.mark.parametrize("welded", [False, True], ids=("plane", "weld"))
def test_rows_are_the_derivatives_of_the_errors(welded):
    """The rate is J qd and d(error)/dt, the bias d(rate)/dt at constant velocities: all rows."""
    model = linkage(welded)
    s = gs.Simulator(model)
    state = s.assemble(s.initial_state(qd=np.linspace(-1, 1, model.nv)))
    m = prepare(fuse(model))

    # Velocities that do not keep the loops closed.
    qd = jnp.asarray(np.linspace(1, -1, model.nv) ** 3)

    @zoo.jit
    def after(t):
        return residual(m, gs.engine.integrators.move(m.tree, state.q, qd, t), qd)

    def slope(of, e=1e-3):
        values = [np.asarray(of(after(t))) for t in (-2 * e, -e, e, 2 * e)]
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * e)

    here = after(0.0)
    assert np.abs(here.error).max() < 1e-12
    assert np.abs(here.rate).max() > 0.1
    assert np.abs(here.rate - here.J @ qd).max() < 1e-12
    assert np.abs(slope(lambda r: r.error) - here.rate).max() < 1e-9
    assert np.abs(slope(lambda r: r.rate) - here.bias).max() < 1e-9


def test_every_number_of_a_loop_is_named():
    """`numbers_of` leaves none out."""
    fields = Loops.__dataclass_fields__.items()
    assert [k for k, f in fields if not f.metadata.get("static")] == [
        "anchor", "opposite", "rotation",
    ]  # fmt: skip
