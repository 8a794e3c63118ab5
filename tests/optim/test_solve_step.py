"""The step by Schur complement equals the dense damped normal equations."""

import numpy as np
from grouped import free
from hypothesis import given, strategies as st

from graftsim.optim.arrowhead import damped_step, normal_equations, predicted_decrease


def dense(n, damping, scale, free_rows):
    """The same system with all unknowns in one matrix."""
    p, (w, s) = len(n.g), n.g_local.shape
    size = p + w * s
    H, g = np.zeros((size, size)), np.concatenate([n.g, n.g_local.ravel()])
    H[:p, :p] = n.A
    D = np.concatenate([scale, np.einsum("wss->ws", n.C).ravel()])
    for i in range(w):
        rows = slice(p + i * s, p + (i + 1) * s)
        H[:p, rows], H[rows, :p], H[rows, rows] = n.B[i], n.B[i].T, n.C[i]
    keep = np.concatenate([free_rows, np.ones(w * s, bool)])
    step = np.zeros(size)
    damped = (H + damping * np.diag(D))[np.ix_(keep, keep)]
    step[keep] = np.linalg.solve(damped, -g[keep])
    decrease = -(g @ step + 0.5 * step @ H @ step)
    return step[:p], step[p:].reshape(w, s), decrease


@given(
    seed=st.integers(0, 10_000),
    p=st.integers(1, 5),
    s=st.integers(0, 3),
    w=st.integers(1, 4),
    damping=st.floats(1e-6, 1e3),
    held=st.integers(0, 31),
)
def test_step_equals_dense_normal_equations(seed, p, s, w, damping, held):
    """Any sizes, any damping, any set of held parameters: same step, same predicted decrease."""
    rng = np.random.default_rng(seed)
    m = p + s + 4
    r, J, J_local = (rng.normal(size=shape) for shape in ((w, m), (w, m, p), (w, m, s)))
    theta, local = rng.normal(size=p), rng.normal(size=(w, s))
    bounds = free(
        p,
        s,
        prior_mean=rng.normal(size=p),
        prior_std=rng.uniform(0.5, 2, p),
        local_std=rng.uniform(0.5, 2, s),
    )
    n = normal_equations(r, J, J_local, theta, local, bounds)
    free_rows = np.array([not held >> i & 1 for i in range(p)])
    scale = np.diag(n.A).copy()
    step, inner = damped_step(n, np.asarray(damping), scale, free_rows)
    found = step, inner, predicted_decrease(n, step, inner)
    for a, b in zip(found, dense(n, damping, scale, free_rows), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    assert (found[0][~free_rows] == 0).all()
    assert found[2] >= 0


@given(seed=st.integers(0, 1000), size=st.floats(1e-6, 1e6))
def test_step_follows_the_units_of_parameters(seed, size):
    """Measured in other units, the parameters step by the same physical amount."""
    rng = np.random.default_rng(seed)
    r, J, J_local = rng.normal(size=(3, 6)), rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 6, 1))
    unit = np.array([size, 1.0])
    steps = []
    for u in (np.ones(2), unit):
        n = normal_equations(r, J / u, J_local, np.zeros(2), np.zeros((3, 1)), free(2, 1))
        step, _ = damped_step(n, np.asarray(0.1), np.diag(n.A).copy(), np.ones(2, bool))
        steps.append(step / u)
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-8)


def test_gradient_is_that_of_the_cost():
    """The gradient in the blocks is the derivative of half the squares and the priors."""
    rng = np.random.default_rng(0)
    r, J, J_local = rng.normal(size=(2, 5)), rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 2))
    bounds = free(3, 2, prior_mean=[1, 2, 3], prior_std=[1, 2, np.inf], local_std=[1.0, 2.0])
    theta, local = rng.normal(size=3), rng.normal(size=(2, 2))

    def cost(dt, dl):
        moved = r + J @ dt + np.einsum("wms,ws->wm", J_local, dl)
        return 0.5 * np.sum(moved**2) + bounds.prior_cost(theta + dt, local + dl)

    n = normal_equations(r, J, J_local, theta, local, bounds)
    h = 1e-6
    for i in range(3):
        e = h * np.eye(3)[i]
        slope = (cost(e, 0 * local) - cost(-e, 0 * local)) / (2 * h)
        assert abs(slope - n.g[i]) < 1e-7
    for at in np.ndindex(2, 2):
        e = np.zeros((2, 2))
        e[at] = h
        slope = (cost(np.zeros(3), e) - cost(np.zeros(3), -e)) / (2 * h)
        assert abs(slope - n.g_local[at]) < 1e-7
