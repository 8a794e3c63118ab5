"""Evaluates a program's scalar operations on NumPy arrays: an independent back end for tests."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Library
from graftsim.kernels.ir.types import DTYPES, TYPES

_SIMPLE: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "xadd": np.add, "xsub": np.subtract, "xmul": np.multiply, "sqrt": np.sqrt, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "bnot": np.invert,
    "min": np.minimum, "max": np.maximum, "copysign": np.copysign, "select": np.where,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
    "shl": np.left_shift, "ashr": np.right_shift,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip

_FMA = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr {t}, ptr %a, i64 %i
  %pb = getelementptr {t}, ptr %b, i64 %i
  %pc = getelementptr {t}, ptr %c, i64 %i
  %po = getelementptr {t}, ptr %out, i64 %i
  %x = load {t}, ptr %pa
  %y = load {t}, ptr %pb
  %z = load {t}, ptr %pc
  %r = call {t} @llvm.fma.{s}({t} %x, {t} %y, {t} %z)
  store {t} %r, ptr %po
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
declare {t} @llvm.fma.{s}({t}, {t}, {t})
"""


@cache
def _fused(type: str) -> tuple[Any, Any]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = _FMA.format(t={"f32": "float", "f64": "double"}[type], s=type)
    module = llvm.parse_assembly(text)
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, ctypes.c_int64)
    return engine, signature(engine.get_function_address("f"))


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b + c with one rounding."""
    a, b, c = (np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, c))
    out = np.empty_like(a)
    if a.size:
        _fused(TYPES[a.dtype])[1](a.ctypes, b.ctypes, c.ctypes, out.ctypes, a.size)
    return out


class Evaluator:
    """Values of the nodes of a program whose inputs are its free `phi` nodes."""

    def __init__(self, p: Program, inputs: dict[int, np.ndarray]) -> None:
        self.p = p
        self.values: dict[int, Any] = dict(inputs)
        self.library_calls = 0

    def __call__(self, n: int) -> Any:
        """Value of a node; nodes are numbered after their operands."""
        todo = [n]
        while todo:
            k = todo[-1]
            missing = [a for a in self._operands(k) if a not in self.values]
            if k not in self.values and missing:
                todo += missing
                continue
            todo.pop()
            if k not in self.values:
                with np.errstate(all="ignore"):
                    self.values[k] = self._evaluate(k)
        return self.values[n]

    def _operands(self, n: int) -> list[int]:
        if self.p.ops[n] == "result":
            statement = self.p.args[n][0]
            return [*statement.xs, *statement.where]
        return list(self.p.operands(n))

    def _evaluate(self, n: int) -> Any:
        p, op, args = self.p, self.p.ops[n], self.p.args[n]
        dtype = DTYPES[p.types[n]]
        if op == "const":
            return np.asarray(args[0], dtype)
        if op == "result":
            return self._library(n, args[0])
        values = [self.values[a] for a in args]
        if op == "convert":
            return values[0].astype(dtype)
        if op == "bitcast":
            return values[0].view(dtype)
        if op == "fma":
            return fma(*values)
        if op == "lshr":
            unsigned = np.dtype(f"u{dtype.itemsize}")
            return (values[0].view(unsigned) >> values[1].view(unsigned)).view(dtype)
        return np.asarray(_SIMPLE[op](*values), dtype)

    def _library(self, n: int, statement: Library) -> np.ndarray:
        k = statement.results.index(n)
        x, where = self.values[statement.xs[k]], self.values[statement.where[k]]
        self.library_calls += int(np.sum(where))
        f = getattr(math, statement.name)
        y = np.zeros(np.shape(x))
        for i in np.flatnonzero(where):
            y[i] = f(x[i]) if np.isfinite(x[i]) else np.nan
        return y.astype(x.dtype)


def evaluate(f: Callable[..., list[int]], *arrays: np.ndarray, chunk: int = 16384) -> np.ndarray:
    """A function of `FUNCTIONS` over arrays; in chunks, so that temporaries stay in the cache."""
    p, nodes, outs = expand(f, [a.dtype for a in arrays])
    pieces = []
    for start in range(0, arrays[0].size, chunk):
        part = [np.ascontiguousarray(a.ravel()[start : start + chunk]) for a in arrays]
        value = Evaluator(p, dict(zip(nodes, part, strict=True)))(outs[0])
        pieces.append(np.broadcast_to(value, part[0].shape))
    return np.concatenate(pieces).reshape(arrays[0].shape)


def expand(
    f: Callable[..., list[int]], dtypes: Sequence[Any]
) -> tuple[Program, list[int], list[int]]:
    """Program of one element, its inputs and results."""
    p = Program()
    nodes = [p.phi(TYPES[np.dtype(d)], False) for d in dtypes]
    return p, nodes, f(p, *([n] for n in nodes))


def operations(f: Callable[..., list[int]], *dtypes: Any) -> int:
    """Number of operations that the results need, constants and bitcasts apart."""
    p, nodes, outs = expand(f, dtypes)
    evaluator = Evaluator(p, {})
    seen, todo = set(nodes), list(outs)
    count = 0
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        count += p.ops[n] not in ("const", "bitcast", "result")
        todo += evaluator._operands(n)
    return count
