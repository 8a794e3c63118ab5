"""The table of operations: what a row says is what a kernel does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Primitive

from graftsim import kernels
from graftsim.kernels.ir import fold, ops, trace
from graftsim.kernels.ir.ops import OPS, Op
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.types import DTYPES
from graftsim.kernels.rules.elementwise import each, elementwise

RANDOM = np.random.default_rng(8)
STRUCTURE = ("const", "phi", "result", "load", "pack", "lane", "total", "select", "bitcast")


def numbers(type, n=64):
    """Of a type, edges among them."""
    dtype = DTYPES[type]
    if type == "i1":
        return RANDOM.integers(0, 2, n).astype(bool)
    if type[0] == "f":
        x = RANDOM.normal(scale=3.0, size=n)
        x[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, 0.5
        return x.astype(dtype)
    info = np.iinfo(dtype)
    x = RANDOM.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[:3] = info.min, info.max, 1
    return x


def defined():
    """Operations of one type, and the types for which they have both a value and a text."""
    for op in OPS.values():
        if op.fold is None or op.result == "given":
            continue
        for type, text in op.text.items():
            if text is not None and (type != "i1" or op.name in ("band", "bor", "bxor", "bnot")):
                yield pytest.param(op, type, id=f"{op.name}-{type}")


def operands(op, type):
    """Arrays that an operation is defined for: no shift beyond the width, no division by zero."""
    first, second = numbers(type), RANDOM.permutation(numbers(type))
    if op.name in ("shl", "lshr", "ashr"):
        second = (np.abs(second.astype(np.int64)) % (8 * second.itemsize)).astype(second.dtype)
    if op.name in ("div", "rem") and type[0] != "f":
        second = (
            np.where((second == 0) | (second == DTYPES[type].type(-1)), 3, second)
            if (type[0] == "i")
            else np.maximum(second, 1)
        )
        second = second.astype(DTYPES[type])
    return [first, second][: op.arity]


@pytest.fixture
def run(monkeypatch):
    """Runs an operation of the table as a kernel, over arrays, lanes side by side."""
    # No code of another row of the same name.
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", "")

    def run(op, *arrays):
        name = f"test_{op.name}"
        primitive = Primitive(name)
        dtype = np.dtype(bool) if op.result == "bit" else arrays[0].dtype
        primitive.def_abstract_eval(lambda *a: jax.core.ShapedArray(a[0].shape, dtype))

        def rule(t, params, xs, avals):
            f = each(lambda *a: t.p.apply(op.name, *a))
            return [elementwise(t, f, xs, avals[0].shape, trace.type_of(avals[0]))]

        monkeypatch.setitem(trace.RULES, name, rule)
        kernel = kernels.compile(primitive.bind, *(a[0] for a in arrays))
        return np.asarray(jax.vmap(kernel)(*map(jnp.asarray, arrays)))

    return run


@pytest.mark.parametrize(("op", "type"), [*defined()])
def test_the_processor_computes_what_folding_does(run, op, type):
    """Bit by bit, for every operation and every type that it has a text for."""
    arrays = operands(op, type)
    result = "i1" if op.result == "bit" else type
    wanted = [
        DTYPES[result].type(fold.fold(op.name, [v.item() for v in values], type))
        for values in zip(*arrays, strict=True)
    ]
    np.testing.assert_array_equal(run(op, *arrays), np.array(wanted))


@pytest.mark.parametrize(("op", "type"), [*defined()])
def test_quicker_folds_give_the_same(op, type):
    """Python's own operators, where a row has them, and NumPy's."""
    for values in zip(*operands(op, type), strict=True):
        with np.errstate(all="ignore"):
            wanted = op.fold(*values)
        got = fold.fold(op.name, [v.item() for v in values], type)
        np.testing.assert_array_equal(np.asarray(got).astype(wanted.dtype), wanted)


def test_operands_of_a_commutative_operation_are_put_in_order():
    """a op b and b op a are one node, and only where the row says so."""
    for op in OPS.values():
        if op.arity != 2 or op.fold is None:
            continue
        p = Program()
        type = next(t for t, text in op.text.items() if text is not None)
        a, b = p.phi(type, False), p.phi(type, False)
        assert (p.apply(op.name, a, b) == p.apply(op.name, b, a)) == op.commutative, op.name


def test_a_row_is_all_that_an_operation_needs(run, monkeypatch):
    """Saturating addition: folded, shared, emitted and printed; values by hand."""
    row = Op(
        "satadd", 2, fold=lambda a, b: np.clip(int(a) + int(b), -(2**31), 2**31 - 1),
        commutative=True, signed="@sadd.sat",
    )  # fmt: skip
    monkeypatch.setitem(ops.OPS, "satadd", row)
    big = np.array([2**31 - 1, -(2**31), 5, -7], np.int32)
    more = np.array([1, -1, 6, 7], np.int32)
    np.testing.assert_array_equal(run(row, big, more), [2**31 - 1, -(2**31), 11, 0])
    p = Program()
    a, b = p.phi("i32", False), p.phi("i32", False)
    assert p.apply("satadd", a, b) == p.apply("satadd", b, a)
    assert "%2 = satadd %0 %1 : i32" in str(p)
    known = p.apply("satadd", p.const(2**31 - 1, "i32"), p.const(9, "i32"))
    assert p.value(known) == 2**31 - 1


def test_every_operation_has_its_text():
    """What is no structure of a program can be emitted for some type."""
    bare = [op.name for op in OPS.values() if not any(op.text.values())]
    assert set(bare) <= {*STRUCTURE, "convert"}
