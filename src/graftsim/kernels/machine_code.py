"""From a traced function to machine code: its program, its layout, LLVM's text, what XLA calls."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import graftsim.kernels.rules  # noqa: F401 (registers them)
from graftsim.kernels import kept
from graftsim.kernels.codegen import count, machine
from graftsim.kernels.codegen.emit import Module, emit
from graftsim.kernels.codegen.handler import HEAD, handler_text
from graftsim.kernels.codegen.layout import Layout, lay_out
from graftsim.kernels.codegen.liveness import Live, find_live
from graftsim.kernels.codegen.schedule import shorten
from graftsim.kernels.codegen.target import Target, host
from graftsim.kernels.codegen.writer import Entry
from graftsim.kernels.ir.arrays import SMALL, LazyArray, Value
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size, value, within
from graftsim.kernels.ir.statements import Buffer, Region
from graftsim.kernels.ir.trace import Interpreter, type_of
from graftsim.kernels.ir.types import BITS, DTYPES
from graftsim.kernels.rows import pack_rows
from graftsim.kernels.uncollected import uncollected

if TYPE_CHECKING:
    from graftsim.kernels.function import Function


@dataclass(frozen=True)
class Code:
    """Machine code: its key, what its table of sizes holds, extra operands."""

    key: str
    lanes: int
    layout: Layout
    sizes: tuple[Entry, ...]
    constants: tuple[np.ndarray, ...]
    operations: int
    # Which arguments it reads at all.
    used: tuple[bool, ...]
    # Operations of a tile, all turns of its loops counted.
    work: int | Size

    @property
    def name(self) -> str:
        """Of the call in XLA."""
        return f"graftsim_{self.key[:32]}"

    def launch_table(self, tiles: int, threads: int, steps: int | None) -> np.ndarray:
        """First operand of the custom call, as pairs of 32-bit halves: JAX may be without int64."""
        places, scratch = self.layout.places(steps)
        sizes = [places[e] if isinstance(e, Buffer) else value(e, steps) for e in self.sizes]
        head = [tiles, threads, -(-(scratch + 64) // 64) * 64]
        assert len(head) == HEAD
        return np.array([*head, *sizes], dtype=np.int64).view(np.int32)


@dataclass(frozen=True)
class Lowered:
    """A function as a program, what of it is needed, where values live, and LLVM's text."""

    program: Program
    live: Live
    layout: Layout
    module: Module
    # Large constant arrays, which are inputs after the arguments.
    constants: tuple[np.ndarray, ...]


def program(
    function: Function, batched: tuple[bool, ...], many: bool = True, target: Target | None = None
) -> tuple[Program, list[np.ndarray]]:
    """The intermediate form."""
    wide = 1 if many else _lanes((type_of(a) for a in function.in_avals), target)
    t = Interpreter(wide, function.steps)
    p = t.p
    args: list[Value] = []
    for k, (aval, own) in enumerate(zip(function.in_avals, batched, strict=True)):
        known = function.known[k] if k < len(function.known) else None
        args.append(_input(t, k, aval, own, known))
    extra: list[np.ndarray] = []
    seen: dict[int, Value] = {}

    def on_constant(x: np.ndarray) -> Value:
        if id(x) not in seen:
            extra.append(x)
            buffer = p.buffer(type_of(x), x.size, True, "input", len(args) + len(extra) - 1)
            seen[id(x)] = t.arrays.view(buffer, x.shape, parameter=True)
        return seen[id(x)]

    t.on_constant = on_constant
    outs = t.closed(function.closed, args)
    inputs = len(args) + len(extra)
    for k, (x, aval) in enumerate(zip(outs, function.out_avals, strict=True)):
        if isinstance(x, LazyArray) and (own := x.buffer) is not None and _ours(p, own):
            # A stack that a loop fills is filled in place.
            own.role, own.slot = "output", inputs + k
            continue
        buffer = p.buffer(type_of(aval), x.size, False, "output", inputs + k)
        t.arrays.write(x, buffer, lambda i, s=x.shape: t.arrays.offset(s, i))
    p.root.items.append(p.tile)
    return p, extra


def lower(
    function: Function, batched: tuple[bool, ...], many: bool, target: Target | None = None
) -> Lowered:
    """All that machine code is made of, for this processor or another."""
    p, extra = program(function, batched, many, target)
    pack_rows(p)
    live = find_live(p)
    shorten(p, live)
    layout = lay_out(p, live, lanes_of(p, live, target), target)
    return Lowered(p, live, layout, emit(p, live, layout), tuple(extra))


def text(function: Function, lowered: Lowered) -> str:
    """LLVM's text of the kernel and of the entry that XLA calls."""
    inputs = len(function.in_avals) + len(lowered.constants)
    return lowered.module.text + handler_text(inputs, len(function.out_avals))


@uncollected()
def build(function: Function, batched: tuple[bool, ...], many: bool) -> Code:
    """Machine code, made or found; `batched` tells which arguments differ between lanes.

    Raises Undecided: this needs the number of steps.
    """
    name = kept.name(function.closed, function.known, batched, many)
    code = kept.read(name)
    if code is None:
        code = _made(function, batched, many)
        kept.write(name, code, code.key)
    _register(code)
    return code


def _made(function: Function, batched: tuple[bool, ...], many: bool) -> Code:
    lowered = lower(function, batched, many)
    p, live, layout, module = lowered.program, lowered.live, lowered.layout, lowered.module
    _, key = machine.assemble(text(function, lowered))
    read = {
        p.args[n][1].slot for n in live.nodes if p.ops[n] == "load" and p.args[n][1].role == "input"
    }
    used = tuple(k in read for k in range(len(function.in_avals)))
    scratch, sizes = _bare(layout, module.sizes)
    return Code(
        key,
        layout.lanes if many else 1,
        scratch,
        sizes,
        lowered.constants,
        max(count.operations(p, live).values(), default=0),
        used,
        count.work(p, live),
    )


_REGISTERED: set[str] = set()


def _bare(layout: Layout, sizes: Sequence[Entry]) -> tuple[Layout, tuple[Entry, ...]]:
    """What a call needs of them: buffers without the program that they are part of."""
    bare = {b: replace(b, region=Region(None, False), stores=[]) for b in layout.work}
    own = tuple(bare[e] if isinstance(e, Buffer) else e for e in sizes)
    return replace(
        layout, slots={}, drops={}, work=tuple(bare.values()), reciprocals=frozenset(), widths={}
    ), own


def _register(code: Code) -> None:
    """Make machine code known to XLA."""
    name = code.name
    if name in _REGISTERED:
        return
    address = machine.load(code.key)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_target(
        name, new(address, b"xla._CUSTOM_CALL_TARGET", None), platform="cpu"
    )
    _REGISTERED.add(name)


def _ours(p: Program, buffer: Buffer) -> bool:
    return buffer.role == "work" and (p.wide > 1 or not buffer.uniform)


def _input(t: Interpreter, slot: int, aval: Any, own: bool, known: np.ndarray | None) -> Value:
    """An argument: exploded where it is small or partly known, else read from memory."""
    p, type, shape = t.p, type_of(aval), t.sizes(tuple(aval.shape))
    size = math.prod(shape)
    buffer = p.buffer(type, size, not own, "input", slot)
    x = t.arrays.view(buffer, shape, parameter=not own)
    if known is None and not within(shape, SMALL):
        return x
    out = t.arrays.explode(x)
    if known is not None:
        out = out.reshape(-1)
        for i, v in enumerate(np.asarray(known, float).reshape(-1).tolist()):
            if v == v:
                out[i] = p.const(DTYPES[type].type(v), type)
        out = out.reshape(shape)
    return out


def lanes_of(p: Program, live: Live, target: Target | None = None) -> int:
    """How many simulations, or neighbours in an array of one, are computed together."""
    if p.wide > 1:
        return 1 if all(p.uniform[n] for n in live.nodes) else p.wide
    return _lanes((p.types[n] for n in live.nodes if p.ops[n] != "const"), target)


def _lanes(types: Iterable[str], target: Target | None) -> int:
    """How many of the widest floats a vector holds, of this processor or another."""
    widest = max((BITS[t] for t in types if t[0] == "f"), default=32)
    return max((target or host()).vector_bytes * 8 // widest, 1)
