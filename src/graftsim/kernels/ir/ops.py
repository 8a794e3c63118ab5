"""The table of operations: all that is known of one stands in its row.

To add an elementwise operation, add a row: `Program.apply` then folds it where its operands are
known and builds it where they are not, the back end emits it, and a program prints it. A JAX
primitive reaches it through a rule (`rules.elementwise`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Fold = Callable[..., Any]
# Same: the type of the last operand. Bit: i1. Given: chosen by whoever builds the node.
Result = Literal["same", "bit", "given"]


@dataclass(frozen=True)
class Op:
    """An operation.

    arity: how many of a node's arguments are nodes, from the first on; None: all, in any number.
    fold: its value of NumPy scalars of the operands' type; operations without one are never folded
    by the table.
    plain, whole: the same of Python's floats, or whole numbers of any size, where these give the
    same number sooner.

    LLVM's text by the type of the first operand; what is not given for unsigned numbers and bools
    is that for signed ones. A word stands before the operands: `word type a, b`. A word that begins
    with @ is the intrinsic function `llvm.word`; after a comma, it takes a further operand. Text
    with braces is a pattern: of the operands `a`, `b`, `c`, their type `t`, the result's type `r`,
    and all bits of `t` clear (`zero`) or set (`ones`).
    """

    name: str
    arity: int | None
    result: Result = "same"
    fold: Fold | None = None
    plain: Fold | None = None
    whole: Fold | None = None
    commutative: bool = False
    real: str | None = None
    signed: str | None = None
    unsigned: str | None = None
    bit: str | None = None
    text: dict[str, str | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        unsigned = self.signed if self.unsigned is None else self.unsigned
        kinds = {"f32": self.real, "i32": self.signed, "u32": unsigned}
        text = kinds | {t.replace("32", "64"): word for t, word in kinds.items()}
        text["i1"] = self.signed if self.bit is None else self.bit
        object.__setattr__(self, "text", text)


def _divide(a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return a / b
    # In whole numbers: a float64 does not hold all 64 bits.
    quotient = abs(int(a)) // abs(int(b))
    return a.dtype.type(quotient if (a < 0) == (b < 0) else -quotient)


def _shift_right(a: Any, b: Any) -> Any:
    """Zeros in."""
    u = np.dtype(f"u{a.dtype.itemsize}")
    return (a.view(u) >> b.astype(u)).view(a.dtype)


# Formatted by hand: a row is a line where it can be.
# fmt: off
_ROWS = (
    # Arithmetic; `contract` lets a product and a sum be fused.
    Op("add", 2, fold=np.add, plain=operator.add, whole=operator.add, commutative=True,
       real="fadd contract", signed="add"),
    Op("sub", 2, fold=np.subtract, plain=operator.sub, whole=operator.sub,
       real="fsub contract", signed="sub"),
    Op("mul", 2, fold=np.multiply, plain=operator.mul, whole=operator.mul, commutative=True,
       real="fmul contract", signed="mul"),
    Op("div", 2, fold=_divide, real="fdiv", signed="sdiv", unsigned="udiv"),
    Op("rem", 2, fold=np.fmod, real="frem", signed="srem", unsigned="urem"),
    Op("neg", 1, fold=np.negative, plain=operator.neg, whole=operator.neg,
       real="fneg", signed="sub {t} {zero}, {a}"),
    Op("fma", 3, real="@fma"),
    # Exactly IEEE: never fused, nor simplified.
    Op("xadd", 2, fold=np.add, commutative=True, real="fadd"),
    Op("xsub", 2, fold=np.subtract, real="fsub"),
    Op("xmul", 2, fold=np.multiply, commutative=True, real="fmul"),
    # Functions that the processor has.
    Op("sqrt", 1, fold=np.sqrt, real="@sqrt"),
    Op("abs", 1, fold=np.abs, real="@fabs", signed="@abs, i1 false",
       unsigned="add {t} {a}, {zero}"),
    Op("floor", 1, fold=np.floor, real="@floor"),
    Op("ceil", 1, fold=np.ceil, real="@ceil"),
    Op("trunc", 1, fold=np.trunc, real="@trunc"),
    Op("rint", 1, fold=np.rint, real="@roundeven"),
    Op("copysign", 2, fold=np.copysign, real="@copysign"),
    # NaN if either operand is.
    Op("min", 2, fold=np.minimum, whole=min, commutative=True,
       real="@minimum", signed="@smin", unsigned="@umin"),
    Op("max", 2, fold=np.maximum, whole=max, commutative=True,
       real="@maximum", signed="@smax", unsigned="@umax"),
    # Bits.
    Op("band", 2, fold=np.bitwise_and, commutative=True, signed="and"),
    Op("bor", 2, fold=np.bitwise_or, commutative=True, signed="or"),
    Op("bxor", 2, fold=np.bitwise_xor, commutative=True, signed="xor"),
    Op("bnot", 1, fold=np.invert, signed="xor {t} {a}, {ones}"),
    Op("shl", 2, fold=np.left_shift, signed="shl"),
    Op("lshr", 2, fold=_shift_right, signed="lshr"),
    Op("ashr", 2, fold=np.right_shift, signed="ashr", unsigned="lshr"),
    # Comparisons: false where either operand is NaN, except `ne`.
    Op("lt", 2, "bit", np.less, operator.lt, operator.lt,
       real="fcmp olt", signed="icmp slt", unsigned="icmp ult"),
    Op("le", 2, "bit", np.less_equal, operator.le, operator.le,
       real="fcmp ole", signed="icmp sle", unsigned="icmp ule"),
    Op("gt", 2, "bit", np.greater, operator.gt, operator.gt,
       real="fcmp ogt", signed="icmp sgt", unsigned="icmp ugt"),
    Op("ge", 2, "bit", np.greater_equal, operator.ge, operator.ge,
       real="fcmp oge", signed="icmp sge", unsigned="icmp uge"),
    Op("eq", 2, "bit", np.equal, operator.eq, operator.eq, real="fcmp oeq", signed="icmp eq"),
    Op("ne", 2, "bit", np.not_equal, operator.ne, operator.ne, real="fcmp une", signed="icmp ne"),
    # Choices and types. A conversion's text depends on both types: see `codegen.operations`.
    Op("select", 3, bit="select {t} {a}, {r} {b}, {r} {c}"),
    Op("bitcast", 1, "given", real="bitcast {t} {a} to {r}", signed="bitcast {t} {a} to {r}"),
    Op("convert", 1, "given"),
    # Not elementwise: numbers, what statements define, memory, and wide nodes.
    Op("const", 0, "given"),
    Op("phi", 0, "given"),
    Op("result", 0, "given"),
    Op("load", 1, "given"),  # arguments: index, buffer
    Op("pack", None),
    Op("lane", 1),  # arguments: wide node, constant
    Op("total", 1),
)
# fmt: on
OPS: dict[str, Op] = {op.name: op for op in _ROWS}
COMPARISONS = tuple(op.name for op in _ROWS if op.result == "bit")
