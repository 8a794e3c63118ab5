"""Names of jaxprs: the same for the same program, different for any other, none where unsure."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend import core as jex

from graftsim import kernels
from graftsim.kernels import kept
from graftsim.kernels.ir.fingerprint import _APART, fingerprint
from graftsim.seldom import seldom


def name(f, *args):
    """Of a function of these arguments."""
    return fingerprint(jax.make_jaxpr(f)(*args))


X = np.linspace(0.1, 1.0, 6)
TABLE = np.array([0.0, 1.0, 2.5])


def plain(x):
    """The function that others differ from."""
    return lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * 2.0 + x[1:4].sum(), x[0]) + TABLE


OTHERS = {
    "number": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * np.nextafter(2.0, 3.0)
                                      + x[1:4].sum(), x[0]) + TABLE,
    "turns": lambda x: lax.fori_loop(0, 4, lambda i, y: jnp.sin(y) * 2.0 + x[1:4].sum(), x[0])
    + TABLE,
    "slice": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * 2.0 + x[2:5].sum(), x[0])
    + TABLE,
    "operation": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.cos(y) * 2.0 + x[1:4].sum(), x[0])
    + TABLE,
    "order": lambda x: TABLE
    + lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * 2.0 + x[1:4].sum(), x[0]),
    "constant": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * 2.0 + x[1:4].sum(), x[0])
    + np.array([0.0, 1.0, 2.25]),
}  # fmt: skip


def test_the_same_program_has_the_same_name():
    """Traced anew, with other names of variables and functions."""

    def same(other):
        def turn(k, value):
            return jnp.sin(value) * 2.0 + other[1:4].sum()

        return lax.fori_loop(0, 3, turn, other[0]) + TABLE

    assert name(plain, X) == name(plain, X + 1) == name(same, X)


@pytest.mark.parametrize("what", OTHERS)
def test_another_program_has_another_name(what):
    """Whatever differs, deep inside a loop too."""
    assert name(OTHERS[what], X) not in (None, name(plain, X))


def test_derivatives_of_seldom_branches_have_names():
    """Each its own: those of contact are the programs that take longest to lower."""

    def gradient(factor):
        return jax.grad(lambda x: jnp.sum(seldom(x[0] > 0, lambda y: jnp.sin(y) * factor, x)))

    names = [name(gradient(factor), X) for factor in (2.0, 2.0, 3.0)]
    assert names[0] is not None
    assert names[0] == names[1] != names[2]


def test_types_and_shapes_count():
    """Also of arguments."""
    f = jnp.sin
    assert len({name(f, np.ones(3)), name(f, np.ones(4)), name(f, np.ones(3, np.float32))}) == 3


def test_what_cannot_be_written_down_has_no_name():
    """A primitive whose parameter is a function."""
    odd = jex.Primitive("odd")
    odd.def_abstract_eval(lambda x, *, f: x)
    assert name(lambda x: odd.bind(x, f=len), X) is None


@pytest.mark.parametrize("wrapped", [False, True])
def test_constants_of_inner_programs_count(wrapped):
    """They belong to the jaxpr, alone or within others, and are no variables of the caller."""

    def calling(table):
        inner = jax.make_jaxpr(lambda x: x + jnp.asarray(table))(X[:3])
        odd = jex.Primitive("odd")
        odd.def_abstract_eval(lambda x, *, jaxprs: x)
        return name(lambda x: odd.bind(x, jaxprs=(inner,) if wrapped else inner), X[:3])

    assert calling(TABLE) == calling(TABLE.copy()) is not None
    assert calling(TABLE) != calling(TABLE + 1)


def test_code_is_found_only_for_what_it_was_made_for(monkeypatch, tmp_path):
    """Known numbers, lanes and the compiler's sources are part of the name; the value is right."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    closed = jax.make_jaxpr(plain)(X)
    zero = np.where(np.arange(6) == 2, 0.0, np.nan)
    names = [kept.name(closed, *rest) for rest in (
        ([None], [True], True), ([zero], [True], True), ([None], [False], True),
        ([None], [True], False),
    )]  # fmt: skip
    monkeypatch.setattr(kept, "_compiler", lambda: "another")
    names.append(kept.name(closed, [None], [True], True))
    assert len(set(names)) == 5
    monkeypatch.undo()
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    for _ in range(2):
        np.testing.assert_allclose(kernels.compile(plain, X)(X), plain(X), rtol=1e-14)
    assert len(list(tmp_path.iterdir())) == 2


def test_without_a_folder_nothing_is_named(monkeypatch):
    """No time is spent on names then."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", "")
    assert kept.name(jax.make_jaxpr(plain)(X), [None], [True], True) is None


def test_what_is_left_out_of_names_is_read_by_no_rule():
    """A rule that read a parameter which names do not hold would share wrong code."""
    rules = Path(kernels.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in rules.rglob("*.py"))
    read = set(re.findall(r"""params(?:\[|\.get\()["'](\w+)["']""", text))
    assert {"axes", "accuracy", "dimension_numbers"} <= read
    assert not read & _APART
