"""Rules of elementwise primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from graftsim.errors import KernelError
from graftsim.kernels.functions import FUNCTIONS
from graftsim.kernels.functions.exponential import careful_tanh
from graftsim.kernels.ir.arrays import LazyArray, Value
from graftsim.kernels.ir.ops import COMPARISONS
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.ir.types import BITS, DTYPES
from graftsim.kernels.rules import edits
from graftsim.kernels.rules.wide import mapped

# Elements of all operands, in order -> elements of the result.
ListFunction = Callable[..., list[int]]


def elementwise(
    t: Interpreter, f: ListFunction, xs: list[Value], shape: tuple[int, ...], type: str
) -> Value:
    """Apply a function of lists of elements over arrays; axes of length one are repeated."""
    size = math.prod(shape)
    if t.unrolls(xs, shape):
        lists = []
        for x in xs:
            x = t.arrays.explode(x)
            lists.append((x if x.shape == shape else np.broadcast_to(x, shape)).ravel().tolist())
        out = mapped(t.p, f, lists) if size else []
        return np.array(out, dtype=np.int64).reshape(shape)

    zero = t.arrays.index(0)

    def at(index: tuple[int, ...]) -> int:
        return f(*([t.arrays.at(x, own(x, index))] for x in xs))[0]

    def own(x: Value, index: tuple[int, ...]) -> tuple[int, ...]:
        if x.shape == shape:
            return index
        last = index[len(index) - len(x.shape) :]
        return tuple(zero if n == 1 else i for n, i in zip(x.shape, last, strict=True))

    return LazyArray(shape, type, at)


def each(f: Callable[..., int]) -> ListFunction:
    """Function of lists from a function of elements."""
    return lambda *lists: [f(*elements) for elements in zip(*lists, strict=True)]


def _register(name: str, make: Callable[[Program, dict[str, Any]], ListFunction]) -> None:
    @rule(name)
    def _(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
        f = make(t.p, params)
        return [elementwise(t, f, xs, avals[0].shape, type_of(avals[0]))]


def _simple(name: str, f: Callable[..., int]) -> None:
    _register(name, lambda p, _: each(lambda *a: f(p, *a)))


for _name, _f in FUNCTIONS.items():
    _register(_name, lambda p, _, f=_f: lambda *lists: f(p, *lists))


def _tanh(p: Program, params: dict[str, Any]) -> ListFunction:
    highest = params["accuracy"] is jax.lax.AccuracyMode.HIGHEST
    f = careful_tanh if highest else FUNCTIONS["tanh"]
    return lambda xs: f(p, xs)


_register("tanh", _tanh)


@rule("add", "add_any")
def _add(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    type = type_of(avals[0])
    found = edits.sum_of(t, xs[0], xs[1], type)
    f = each(t.p.add)
    return [elementwise(t, f, xs, avals[0].shape, type) if found is None else found]


_simple("sub", Program.sub)
_simple("mul", Program.mul)
_simple("neg", Program.neg)
_simple("max", Program.max)
_simple("min", Program.min)
_simple("abs", Program.abs)
_simple("and", Program.band)
_simple("or", Program.bor)
_simple("not", Program.bnot)
_simple("square", lambda p, a: p.mul(a, a))
# Operations that need no more than their row of the table.
for _name, _op in {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "xor": "bxor"}.items():
    _simple(_name, lambda p, *a, op=_op: p.apply(op, *a))
for _kind in COMPARISONS:
    _simple(_kind, lambda p, a, b, kind=_kind: p.compare(kind, a, b))


def ones(type: str) -> int:
    """The whole number whose bits are all set."""
    return np.iinfo(DTYPES[type]).max if type[0] == "u" else -1


def _safe_divisor(p: Program, b: int) -> int:
    """b, or one where the processor would trap: at zero, and where a quotient can overflow."""
    t = p.type(b)
    traps = p.compare("eq", b, p.const(0, t))
    if t[0] == "i":
        traps = p.bor(traps, p.compare("eq", b, p.const(-1, t)))
    return p.select(traps, p.const(1, t), b)


def _one_minus_square(p: Program, a: int) -> int:
    one = p.const(1, p.type(a))
    return p.mul(p.add(one, a), p.sub(one, a))


def _polynomial(p: Program, x: int, *coefficients: int) -> int:
    """By Horner's rule; the lowest degree comes first."""
    y = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        y = p.add(p.mul(y, x), c)
    return y


def _div(p: Program, a: int, b: int) -> int:
    t = p.type(a)
    if t[0] == "f":
        return p.div(a, b)
    q = p.div(a, _safe_divisor(p, b))
    if t[0] == "i":
        q = p.select(p.compare("eq", b, p.const(-1, t)), p.neg(a), q)
    return p.select(p.compare("eq", b, p.const(0, t)), p.const(ones(t), t), q)


def _rem(p: Program, a: int, b: int) -> int:
    if p.type(a)[0] == "f":
        return p.rem(a, b)
    r = p.rem(a, _safe_divisor(p, b))
    return p.select(p.compare("eq", b, p.const(0, p.type(b))), a, r)


def _signed(p: Program, a: int) -> int:
    t = p.type(a)
    return p.bitcast(a, "i" + t[1:]) if t[0] == "u" else a


def _within_width(p: Program, b: int) -> int:
    """Is a shift by fewer bits than there are? Others are undefined to the processor."""
    t = "u" + p.type(b)[1:]
    return p.compare("lt", p.bitcast(b, t), p.const(BITS[t], t))


def _shift_left(p: Program, a: int, b: int) -> int:
    return p.select(_within_width(p, b), p.apply("shl", a, b), p.const(0, p.type(a)))


def _shift_right_logical(p: Program, a: int, b: int) -> int:
    return p.select(_within_width(p, b), p.apply("lshr", a, b), p.const(0, p.type(a)))


def _shift_right_arithmetic(p: Program, a: int, b: int) -> int:
    t = p.type(a)
    b = p.select(_within_width(p, b), b, p.const(BITS[t] - 1, t))
    return p.bitcast(p.apply("ashr", _signed(p, a), _signed(p, b)), t)


def sign(p: Program, a: int) -> int:
    """-1, 0 or 1; zeros and NaN stay as they are."""
    t = p.type(a)
    if t[0] == "u":
        return p.min(a, p.const(1, t))
    zero = p.const(0, t)
    up = p.select(p.compare("gt", a, zero), p.const(1, t), a)
    return p.select(p.compare("lt", a, zero), p.const(-1, t), up)


def _is_finite(p: Program, a: int) -> int:
    return p.compare("lt", p.abs(a), p.const(np.inf, p.type(a)))


def power(p: Program, a: int, n: int) -> int:
    """a to a whole power by repeated squaring."""
    if n < 0:
        return p.div(p.const(1, p.type(a)), power(p, a, -n))
    if n == 0:
        return p.const(1, p.type(a))
    half = power(p, a, n // 2)
    squared = p.mul(half, half) if n > 1 else p.const(1, p.type(a))
    return p.mul(squared, a) if n % 2 else squared


def round_away(p: Program, a: int) -> int:
    """Nearest whole number, halves away from zero."""
    t = p.type(a)
    whole = p.apply("trunc", a)
    further = p.add(whole, p.apply("copysign", p.const(1, t), a))
    rest = p.abs(p.apply("xsub", a, whole))
    return p.select(p.compare("ge", rest, p.const(0.5, t)), further, whole)


_simple("one_minus_square", _one_minus_square)
_simple("polynomial", _polynomial)
_simple("div", _div)
_simple("rem", _rem)
_simple("shift_left", _shift_left)
_simple("shift_right_logical", _shift_right_logical)
_simple("shift_right_arithmetic", _shift_right_arithmetic)
_simple("sign", sign)
_simple("is_finite", _is_finite)
_register("integer_pow", lambda p, params: each(lambda a: power(p, a, params["y"])))
_register(
    "round",
    lambda p, params: each(
        (lambda a: p.apply("rint", a))
        if int(params["rounding_method"]) == 1
        else (lambda a: round_away(p, a))
    ),
)


@rule("pow")
def _pow(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p

    def f(a: list[int], b: list[int]) -> list[int]:
        if all(p.type(e)[0] == "i" for e in b) or (
            all(
                p.is_const(e) and p.value(e) == int(p.value(e)) and abs(p.value(e)) <= 16
                for e in b
                if p.is_const(e) and np.isfinite(p.value(e))
            )
            and all(p.is_const(e) and np.isfinite(p.value(e)) for e in b)
        ):
            if all(p.is_const(e) for e in b):
                return [power(p, x, int(p.value(e))) for x, e in zip(a, b, strict=True)]
            b = [p.convert(e, p.type(x)) for x, e in zip(a, b, strict=True)]
        return FUNCTIONS["pow"](p, a, b)

    return [elementwise(t, f, xs, avals[0].shape, type_of(avals[0]))]


@rule("convert_element_type")
def _convert(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return [convert(t, xs[0], type_of(avals[0]))]


def convert(t: Interpreter, x: Value, to: str) -> Value:
    """The same elements as another type."""
    was = x.type if isinstance(x, LazyArray) else t.p.types[int(x.flat[0])] if x.size else to
    if was == to:
        return x
    return elementwise(t, each(lambda a: t.p.convert(a, to)), [x], x.shape, to)


@rule("bitcast_convert_type")
def _bitcast(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    to = type_of(avals[0])
    if avals[0].shape != xs[0].shape:
        raise KernelError("A bitcast between types of different width is not supported.")
    return [elementwise(t, each(lambda a: t.p.bitcast(a, to)), xs, avals[0].shape, to)]


@rule("select_n")
def _select_n(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p

    def choose(which: int, *cases: int) -> int:
        if p.type(which) == "i1":
            return p.select(which, cases[1], cases[0]) if len(cases) == 2 else cases[0]
        out = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            out = p.select(p.compare("le", which, p.const(k, p.type(which))), cases[k], out)
        return out

    return [elementwise(t, each(choose), xs, avals[0].shape, type_of(avals[0]))]


@rule("clamp")
def _clamp(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    def f(low: int, x: int, high: int) -> int:
        return t.p.min(t.p.max(x, low), high)

    return [elementwise(t, each(f), xs, avals[0].shape, type_of(avals[0]))]


@rule("copy", "copy_p", "stop_gradient", "pvary", "optimization_barrier")
def _identity(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return xs


@rule("reduce_precision")
def _reduce_precision(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    own = np.finfo(DTYPES[type_of(avals[0])])
    if params["exponent_bits"] < own.iexp or params["mantissa_bits"] < own.nmant:
        raise KernelError("Rounding to fewer bits than the type has is not supported.")
    return xs
