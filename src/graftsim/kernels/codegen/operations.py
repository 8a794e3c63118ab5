"""Instructions of operations, by the table of operations."""

from __future__ import annotations

from collections.abc import Sequence

from graftsim.kernels.codegen.writer import Writer
from graftsim.kernels.ir.ops import OPS
from graftsim.kernels.ir.types import BITS


def operation(
    w: Writer, op: str, values: Sequence[str], types: Sequence[str], type: str, uniform: bool
) -> str:
    """Name of the result of an operation of operands (text and type), of a type itself."""
    if op == "convert":
        return _convert(w, values[0], types[0], type, uniform)
    word = OPS[op].text[types[0]]
    assert word is not None, (op, types)
    t, out = w.vector(types[0], uniform), w.name()
    if word[0] == "@":
        name, _, more = word[1:].partition(", ")
        _intrinsic(w, out, name, values, more, types[0], uniform)
    elif "{" in word:
        known = {"t": t, "r": w.vector(type, uniform), **dict(zip("abc", values, strict=False))}
        if "{zero}" in word:
            known["zero"] = w.literal(0, type, uniform)
        if "{ones}" in word:
            known["ones"] = w.literal(True if type == "i1" else -1, type, uniform)
        w.line(f"{out} = {word.format_map(known)}")
    else:
        w.line(f"{out} = {word} {t} {', '.join(values)}")
    return out


def _intrinsic(
    w: Writer, out: str, name: str, values: Sequence[str], more: str, type: str, uniform: bool
) -> None:
    t = w.vector(type, uniform)
    name = f"llvm.{name}.{w.suffix(type, uniform)}"
    w.declare(name, t, *[t] * len(values), *more.split()[:1])
    operands = [f"{t} {v}" for v in values] + ([more] if more else [])
    w.line(f"{out} = call {t} @{name}({', '.join(operands)})")


def _convert(w: Writer, value: str, was: str, type: str, uniform: bool) -> str:
    a, b, out = w.vector(was, uniform), w.vector(type, uniform), w.name()
    if was[0] == "f" and type[0] != "f":
        word = "fptoui" if type[0] == "u" else "fptosi"
        name = f"llvm.{word}.sat.{w.suffix(type, uniform)}.{w.suffix(was, uniform)}"
        w.declare(name, b, a)
        w.line(f"{out} = call {b} @{name}({a} {value})")
        return out
    wider = BITS[type] > BITS[was]
    signless = was == "i1" or was[0] == "u"
    if a == b:
        word = "bitcast"
    elif was[0] == "f":
        word = "fpext" if wider else "fptrunc"
    elif type[0] == "f":
        word = "uitofp" if signless else "sitofp"
    elif not wider:
        word = "trunc"
    else:
        word = "zext" if signless else "sext"
    w.line(f"{out} = {word} {a} {value} to {b}")
    return out


def some_lane(w: Writer, value: str, uniform: bool) -> str:
    """Does it hold in any lane?"""
    if w.single(uniform):
        return value
    t = w.vector("i1", False)
    name = f"llvm.vector.reduce.or.v{w.lanes}i1"
    w.declare(name, "i1", t)
    out = w.name()
    w.line(f"{out} = call i1 @{name}({t} {value})")
    return out
