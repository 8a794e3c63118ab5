"""Algebra of scalars: what is zero or one by its form leaves no operation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree

from graftsim import kernels
from graftsim.engine import Simulator
from graftsim.engine.backend import _pattern
from graftsim.kernels import machine_code
from graftsim.kernels.codegen.liveness import find_live
from graftsim.model import Builder
from graftsim.model.checks import unit

FORMS = {
    "x - x": (lambda x, y: x - x + 0 * y, 0),
    "x / x": (lambda x, y: x / x, 0),
    "x (y / x)": (lambda x, y: x * (y / x), 0),
    "(y / x) x": (lambda x, y: (y / x) * x, 0),
    "y + y - x (y / x)": (lambda x, y: y + (y - x * (y / x)), 0),
    "x + (y - x)": (lambda x, y: x + (y - x), 0),
    "(y - x) + x": (lambda x, y: (y - x) + x, 0),
    "3 (y / 3)": (lambda x, y: 3.0 * (y / 3.0) + 0 * x, 0),
    "2.1 - 0.7 (2.1 / 0.7)": (lambda x, y: x + (2.1 - 0.7 * (jnp.float64(2.1) / 0.7)), 0),
    "x (x / y)": (lambda x, y: x * (x / y), 2),
    "(x + y) / (y + x)": (lambda x, y: (x + y) / (y + x), 0),
}


def operations(f, *args) -> int:
    """Arithmetic that a function of one simulation leaves."""
    kernel = kernels.compile(f, *args)
    p, _ = machine_code.program(kernel.function, (True,) * len(kernel.function.in_avals))
    live = find_live(p).nodes
    return sum(p.ops[n] in ("add", "sub", "mul", "div", "neg") for n in live)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    """The value that mathematics gives, and no operation for what is known."""
    f, left = FORMS[form]
    x, y = np.random.default_rng(0).uniform(0.5, 2.0, (2, 7))
    agree(f, x, y, lanes=(7,), rtol=1e-13)
    assert operations(f, 1.0, 1.0) == left


def test_an_infinite_quotient_is_no_quotient():
    """1 / 0 stands for every infinity: times zero it is NaN, not 1."""
    one, nothing = np.float64(1.0), np.float64(0.0)
    f = kernels.compile(lambda x: x + jax.lax.mul(nothing, jax.lax.div(one, nothing)), 1.0)
    assert np.isnan(f(1.0))


def test_whole_numbers_are_divided():
    """3 (7 / 3) of integers is 6."""
    f = kernels.compile(lambda a, b: (a * (b // a), a - a, b // b), 3, 7)
    assert [int(x) for x in f(3, 7)] == [6, 0, 1]


def chain(armature: float, n: int = 4) -> Simulator:
    """Links on each other about y and z in turn."""
    b = Builder()
    for i in range(n):
        b.link(
            f"link{i}", "world" if i == 0 else f"link{i - 1}", "revolute",
            axis=(0, i % 2, 1 - i % 2), origin=(0.1, 0.0, 0.3), mass=1.0, com=(0.02, 0.01, 0.1),
            inertia=(0.02, 0.025, 0.03, 0.001, 0.002, 0.003), armature=armature,
        )  # fmt: skip
    return Simulator(b.build(), 0.01)


def test_joints_without_armature_cost_less():
    """About its own axis such a joint lets nothing through, known before it is computed."""

    def step(simulator):
        return lambda q, qd: simulator.step(simulator.initial_state(q=q, qd=qd)).qd

    plain, geared = (operations(step(chain(a)), jnp.zeros(4), jnp.zeros(4)) for a in (0.0, 0.01))
    assert plain < 0.93 * geared
    q, qd = np.random.default_rng(1).normal(size=(2, 5, 4))
    agree(step(chain(0.0)), q, qd, lanes=(5,), rtol=1e-10)


def test_frames_turned_by_right_angles_cost_less():
    """As from pi / 2 in a file, whose sine and cosine differ in the last digit."""

    def turned(angle):
        half = angle / 2
        b = Builder()
        for i in range(4):
            b.link(
                f"link{i}", "world" if i == 0 else f"link{i - 1}", "revolute", axis=(0, 0, 1),
                origin=(0.1, 0.0, 0.3), rotation=(np.cos(half), np.sin(half), 0, 0), mass=1.0,
                com=(0.02, 0.01, 0.1), inertia=(0.02, 0.025, 0.03, 0.001, 0.002, 0.003),
            )  # fmt: skip
        return Simulator(b.build(), 0.01)

    def step(simulator):
        return lambda q, qd: simulator.step(simulator.initial_state(q=q, qd=qd)).qd

    right, other = (
        operations(step(turned(a)), jnp.zeros(4), jnp.zeros(4)) for a in (np.pi / 2, 1.5)
    )
    assert right < 0.75 * other


def test_kernels_of_simulators_know_right_angles():
    """Quaternions of right angles are built in; others are inputs."""
    q = np.array([[1, 1, 0, 0], [1, 0.9, 0, 0], [0.5, -0.5, 0.5, 0.5], [0, 0, 0, 1.0]])
    q = np.stack([unit(row, 4, "q") for row in q])
    for dtype in ("float32", "float64"):
        x = jnp.asarray(q, dtype)
        known = _pattern(x)
        assert known is not None
        assert np.isfinite(known).tolist() == [
            [True] * 4, [False, False, True, True], [True] * 4, [True] * 4
        ]  # fmt: skip
        assert np.array_equal(known[np.isfinite(known)], np.asarray(x, float)[np.isfinite(known)])
