"""The penalised step is the minimum: its subgradient conditions hold, and zeros are exact."""

from dataclasses import replace

import numpy as np
from grouped import free
from hypothesis import given, strategies as st

from graftsim.optim.arrowhead import (
    normal_equations,
    penalised_damped_step,
    predicted_decrease,
)
from graftsim.optim.sparsity import Penalty, penalised_step


def problem(seed, sizes, rest, spread, mixed=True):
    """S [p, p] with eigenvalues over `spread` decades, rhs, theta, and the group of each entry."""
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.full(n, g) for g, n in enumerate(sizes)] + [np.full(rest, -1)])
    if mixed:
        group = rng.permutation(group)
    p = len(group)
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    S = (basis * 10.0 ** rng.uniform(-spread, 0, p)) @ basis.T
    theta = rng.normal(size=p) * (rng.random(p) < 0.7)
    return (S + S.T) / 2, rng.normal(size=p), theta, group.astype(int)


def violation(S, rhs, theta, d, penalty):
    """How far the step is from the conditions of the minimum, in units of the right-hand side."""
    slope, z = S @ d - rhs, theta + d
    worst = [np.abs(slope[penalty.group < 0]).max(initial=0.0)]
    for i in penalty.members():
        pull, size = -slope[i], np.linalg.norm(z[i])
        edge = penalty.l2 * np.sqrt(len(i))
        if size == 0:
            rest = np.sign(pull) * np.maximum(np.abs(pull) - penalty.l1, 0)
            worst.append(max(np.linalg.norm(rest) - edge, 0.0))
            continue
        pull = pull - edge * z[i] / size
        off = np.where(
            z[i] == 0, np.maximum(np.abs(pull) - penalty.l1, 0), pull - penalty.l1 * np.sign(z[i])
        )
        worst.append(np.abs(off).max())
    return max(worst) / np.abs(rhs).max()


@given(
    seed=st.integers(0, 100_000),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    rest=st.integers(0, 4),
    spread=st.floats(0, 3),
    l1=st.sampled_from([0.0, 0.01, 0.3]),
    l2=st.sampled_from([0.0, 0.01, 0.3]),
)
def test_conditions_of_the_minimum_hold(seed, sizes, rest, spread, l1, l2):
    """Gradient zero where nothing is penalised, in the subdifferential of the penalty elsewhere."""
    S, rhs, theta, group = problem(seed, sizes, rest, spread)
    penalty = Penalty(group, l1, l2)
    d = penalised_step(S, rhs, theta, penalty)
    assert violation(S, rhs, theta, d, penalty) < 1e-8


@given(seed=st.integers(0, 1000))
def test_no_other_point_is_lower(seed):
    """The objective rises in every direction tried, small and large."""
    S, rhs, theta, group = problem(seed, (2, 3), 2, 1)
    penalty, rng = Penalty(group, 0.1, 0.2), np.random.default_rng(seed + 1)

    def objective(d):
        return 0.5 * d @ S @ d - rhs @ d + penalty.value(theta + d)

    d = penalised_step(S, rhs, theta, penalty)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert objective(d + size * rng.normal(size=len(d))) >= objective(d) - 1e-12


@given(seed=st.integers(0, 1000), single=st.booleans())
def test_a_large_penalty_gives_exact_zeros(seed, single):
    """All that is penalised becomes zero, not nearly; the rest solves its own equations."""
    S, rhs, theta, group = problem(seed, (1, 2, 3), 3, 1)
    penalty = Penalty(group, 1e3, 0.0) if single else Penalty(group, 0.0, 1e3)
    z = theta + penalised_step(S, rhs, theta, penalty)
    inside, rest = group >= 0, np.flatnonzero(group < 0)
    assert (z[inside] == 0).all()
    d = z - theta
    np.testing.assert_allclose((S @ d - rhs)[rest], 0, atol=1e-10)


@given(seed=st.integers(0, 1000))
def test_without_a_penalty_it_is_the_plain_step(seed):
    """Strength zero: the solution of the linear system."""
    S, rhs, theta, group = problem(seed, (2, 3), 2, 1)
    d = penalised_step(S, rhs, theta, Penalty(group, 0.0, 0.0))
    np.testing.assert_allclose(d, np.linalg.solve(S, rhs), rtol=1e-6, atol=1e-7)


def test_a_group_goes_as_a_whole():
    """An input that matters to nothing loses all its weights; one that matters keeps them all."""
    group = np.array([0, 0, 0, 1, 1, 1])
    rhs = np.array([3.0, -2.0, 1.0, 0.1, -0.05, 0.02])
    z = penalised_step(np.eye(6), rhs, np.zeros(6), Penalty(group, 0.0, 0.2))
    assert (z[:3] != 0).all() and (z[3:] == 0).all()
    # Of a unit matrix the answer is known: each group is shrunk towards zero.
    size = np.linalg.norm(rhs[:3])
    np.testing.assert_allclose(z[:3], rhs[:3] * (1 - 0.2 * np.sqrt(3) / size), rtol=1e-9)


def test_the_solver_s_step_predicts_its_decrease():
    """With the penalty's change the predicted decrease is that of the objective, never negative."""
    rng = np.random.default_rng(0)
    r, J, J_local = rng.normal(size=(4, 9)), rng.normal(size=(4, 9, 5)), rng.normal(size=(4, 9, 2))
    theta, local = rng.normal(size=5), rng.normal(size=(4, 2))
    penalty = Penalty(np.array([0, 0, 1, 1, -1]), 0.5, 0.5)
    bounds = replace(free(5, 2), penalty=penalty)
    n = normal_equations(r, J, J_local, theta, local, bounds)
    scale, every = np.diag(n.A).copy(), np.ones(5, bool)
    step, inner = penalised_damped_step(n, 0.1, scale, every, theta, bounds)
    decrease = predicted_decrease(n, step, inner)
    decrease += penalty.value(theta) - penalty.value(theta + step)
    J_all = np.einsum("wmp,p->wm", J, step) + np.einsum("wms,ws->wm", J_local, inner)
    before, after = 0.5 * np.sum(r**2), 0.5 * np.sum((r + J_all) ** 2)
    weak = free(5, 2).prior_cost(theta, local) - free(5, 2).prior_cost(theta, local + inner)
    change = before - after + weak + penalty.value(theta) - penalty.value(theta + step)
    assert decrease > 0
    np.testing.assert_allclose(decrease, change, rtol=1e-9)
