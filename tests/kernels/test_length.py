"""A length that each call gives: one kernel for all of them, exact and differentiable."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import close

from graftsim import kernels
from graftsim.errors import KernelError
from graftsim.kernels import machine_code
from graftsim.kernels.codegen import machine
from graftsim.kernels.ir.sizes import Size, Undecided, size, value, within

X = jnp.array([0.3, -0.8])


def controls(steps):
    return jnp.cos(jnp.arange(2.0 * steps)).reshape(steps, 2)


def decay(x, us):
    """A little system in time, with the body checkpointed."""

    def body(c, u):
        c = c + 0.01 * (jnp.sin(c) + u)
        return c, c[0] * c[1]

    return jax.lax.scan(jax.checkpoint(body), x, us)


def any_length(f, *tails):
    """Kernel of f(x, arrays of any length)."""
    n = kernels.length()
    return kernels.compile(f, X, *(jax.ShapeDtypeStruct((n, *tail), float) for tail in tails))


@pytest.fixture
def assembled(monkeypatch):
    """LLVM texts that have been asked for; none is found on disk."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", "")
    texts, assemble = [], machine.assemble

    def count(text):
        texts.append(text)
        return assemble(text)

    monkeypatch.setattr(machine, "assemble", count)
    return texts


def test_one_kernel_serves_all_lengths(assembled):
    """Values, gradients, Jacobians, many simulations: made once each, right for every length."""
    kernel = any_length(decay, (2,))
    many = jnp.linspace(-1, 1, 22).reshape(11, 2)
    made = 0
    for steps in (2, 3, 64, 65, 400):
        us = controls(steps)

        def loss(f, x, u):
            return jnp.sum(f(x, u)[0] ** 2) + jnp.sum(f(x, u)[1])

        for k, f in enumerate((kernel, decay)):
            found = (
                f(X, us),
                jax.grad(loss, (1, 2))(f, X, us),
                jax.jacfwd(loss, (1, 2))(f, X, us),
                jax.vmap(jax.grad(loss, 1), (None, 0, None))(f, many, us),
            )
            if k == 0:
                got = found
        close(got, found, 1e-10)
        made = made or len(assembled)
        assert len(assembled) == made


@pytest.mark.parametrize("lanes", [False, True])
def test_the_code_is_that_of_a_kernel_for_one_length(lanes):
    """LLVM's text to the letter, and every number it is launched with: those up to 64 are code."""
    own = (lanes, False)
    anyhow = any_length(decay, (2,)).function.cotangent((0, 1), None)
    for steps in (70, 71, 1000):
        us = controls(steps)
        alone = kernels.compile(decay, X, us).function.cotangent((0, 1), None)
        batched = (*own, *(lanes for _ in range(len(alone.in_avals) - 2)))
        texts = [machine_code.lower(f, batched, lanes).module.text for f in (anyhow, alone)]
        assert texts[0] == texts[1]
        tables = [f.code(batched, lanes).launch_table(3, 2, steps) for f in (anyhow, alone)]
        np.testing.assert_array_equal(*tables)


def test_lengths_that_depend_on_one_another():
    """n + 1 instants and 2 n samples of n steps; others are refused."""
    n = kernels.length()
    shapes = [(2 * n, 3), (n + 1,), (n,)]
    examples = [jax.ShapeDtypeStruct(s, float) for s in shapes]

    def f(samples, instants, steps):
        def body(c, row):
            return c + row[0], c * row[1]

        total, out = jax.lax.scan(body, 0.0, (steps, instants[:-1]))
        return total, out, jnp.sum(samples, axis=0)

    kernel = kernels.compile(f, *examples)
    for m in (2, 7, 90):
        args = jnp.ones((2 * m, 3)) * 0.1, jnp.arange(m + 1.0), jnp.arange(float(m))
        close(kernel(*args), f(*args))
    with pytest.raises(KernelError, match="compiled for an argument of shape"):
        kernel(jnp.ones((10, 3)), jnp.ones(5), jnp.ones(5))
    with pytest.raises(KernelError, match="compiled for an argument of shape"):
        kernel(jnp.ones((11, 3)), jnp.ones(6), jnp.ones(5))
    with pytest.raises(KernelError, match="compiled for an argument of shape"):
        kernel(jnp.ones((2, 3)), jnp.ones(2), jnp.ones(1))
    with pytest.raises(KernelError, match="one length"):
        other = jax.ShapeDtypeStruct((kernels.length(),), float)
        kernels.compile(lambda x, y: jnp.sum(x) + jnp.sum(y), examples[2], other)


def test_code_that_must_know_the_length_is_made_for_each(assembled):
    """A product over time is unrolled by fours: what remains depends on the length."""

    def f(x, us):
        return us.T @ us @ x

    kernel = any_length(f, (2,))
    for steps in (9, 10, 400):
        us = controls(steps)
        close(kernel(X, us), f(X, us), 1e-11)
        close(*(jax.grad(lambda x, us, g=g: jnp.sum(g(x, us) ** 2), (0, 1))(X, us)
                for g in (kernel, f)), 1e-10)  # fmt: skip
    assert len(assembled) >= 3
    with pytest.raises(Undecided):
        kernels.show(kernel, X, controls(9))


def test_what_is_shown_has_the_length_in_it():
    """As n, in the loop and in the arrays."""
    text = kernels.show(any_length(decay, (2,)), X, controls(9))
    assert "input in1: f64[2 n]  (us)" in text and "  loop n times" in text


def test_numbers_of_the_call():
    """Sums and multiples; comparisons where all lengths of two and more agree, else an error."""
    n = Size(0, 1)
    m = 3 * n + 5 - n
    assert isinstance(m, Size) and (m.offset, m.factor) == (5, 2) and str(m) == "2 n + 5"
    assert n - n == 0 and 0 * n == 0 and size(4, 0) == 4 and isinstance(n - n, int)
    assert value(m, 10) == 25 and value(7, None) == 7
    assert n > 1 and n >= 2 and not n < 2 and n < 2**63 and n - 1 > 0 and n - 1 != 0 and -n < 0
    assert m == Size(5, 2) and m != n and hash(m) == hash(Size(5, 2)) and bool(n)
    assert within((3, 4), 12) and not within((3, 4), 11) and not within((n, 0), 12)
    for question in (
        lambda: n == 2, lambda: n > 2, lambda: n <= 100, lambda: n - 3 < 0, lambda: n * n,
        lambda: n // 4, lambda: n % 4, lambda: range(10)[n],
    ):  # fmt: skip
        with pytest.raises(Undecided):
            question()


def test_the_length_is_a_number_too():
    """A mean over an axis of any length divides by what the call says."""
    kernel = any_length(lambda x, us: jax.lax.scan(lambda c, u: (c + u, None), x, us)[0]
                        / jnp.asarray(us.shape[0] - 1).astype(float), (2,))  # fmt: skip
    for steps in (2, 7, 100):
        us = controls(steps)
        expected = (X + us.sum(0)) / (steps - 1)
        np.testing.assert_allclose(kernel(X, us), expected, rtol=1e-13)
