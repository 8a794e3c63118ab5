"""A function of one simulation and the machine code made of it, for one or many lanes."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.errors import InconclusiveDimensionOperation
from jax.extend import core as jex

import graftsim.kernels.rules  # noqa: F401 (registers them)
from graftsim.errors import KernelError
from graftsim.kernels import kept, reverse
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
from graftsim.kernels.ir.sizes import LEAST, Size, Undecided, value, within
from graftsim.kernels.ir.statements import Buffer, Region
from graftsim.kernels.ir.trace import Interpreter, check, size_of, trace, type_of
from graftsim.kernels.ir.types import BITS, DTYPES
from graftsim.kernels.rows import pack_rows
from graftsim.kernels.uncollected import uncollected


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


class Reverse(NamedTuple):
    """Reverse mode in two functions, between which what loops have computed is kept.

    keep: (arguments) -> results, further numbers. pull: (arguments, kept, cotangents of real
    results) -> cotangents. kept: which of the results of `keep` that are.
    """

    keep: Function
    pull: Function
    kept: tuple[int, ...]


class Function:
    """A traced function of flat arguments.

    `known[k]`, where given, has the shape of argument k: numbers that are known in advance, NaN
    where they are not. Known zeros and ones make the code smaller.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        avals: Sequence[Any],
        known: Sequence[np.ndarray | None],
        out_avals: Sequence[Any] | None = None,
    ) -> None:
        """Traced at once, or where the results are known already, when it is first needed."""
        self._f = f
        self.known = tuple(known)
        self.in_avals = list(avals)
        # JAX's symbol of the length that is known in the call alone, if there is one.
        self.steps = _symbol([d for a in self.in_avals for d in a.shape if not isinstance(d, int)])
        self._fixed: dict[int, Function] = {}
        self._traced: tuple[Any, Any] | None = None
        self.out_avals = list(self.closed.out_avals if out_avals is None else out_avals)
        self._codes: dict[tuple[tuple[bool, ...], bool], Code | None] = {}
        self._derived: dict[Any, Any] = {}
        # How it is made for one length, where it is not by its trace.
        self._for_length: Callable[[int], Function] | None = None
        self._lock = threading.RLock()

    @property
    def closed(self) -> Any:
        """Its jaxpr."""
        return self._trace()[0]

    @property
    def out_tree(self) -> Any:
        """How its results are nested."""
        return self._trace()[1]

    # -- lengths that are given in the call -----------------------------------------------------

    def length(self, shapes: Sequence[tuple[int, ...]]) -> int | None:
        """The length that arguments of these shapes have in common, if one is to be given.

        Raises KernelError: the shapes are not those that it was compiled for.
        """
        found: set[int] = set()
        for aval, shape in zip(self.in_avals, shapes, strict=True):
            good = len(aval.shape) == len(shape)
            for a, n in zip(aval.shape, shape, strict=False):
                if not isinstance(a, int):
                    dim = size_of(a, self.steps)
                    steps, rest = divmod(n - dim.offset, dim.factor)  # type: ignore[union-attr]
                    found.add(steps)
                    good = good and rest == 0 and steps >= LEAST
                else:
                    good = good and a == n
            if not good or len(found) > 1:
                raise KernelError(
                    f"The kernel was compiled for an argument of shape {aval.shape}, got {shape}. "
                    "It is a function of one simulation: jax.vmap it over many."
                )
        return found.pop() if found else None

    def shape(self, aval: Any, steps: int | None) -> tuple[int, ...]:
        """Shape of an argument or result in a call of this length."""
        if self.steps is None:
            return aval.shape
        dims = (d if isinstance(d, int) else size_of(d, self.steps) for d in aval.shape)
        return tuple(value(d, steps) for d in dims)

    def fixed(self, steps: int | None) -> Function:
        """The same function, for one length alone."""
        if self.steps is None or steps is None:
            return self
        with self._lock:
            if steps not in self._fixed and self._for_length is not None:
                self._fixed[steps] = self._for_length(steps)
            elif steps not in self._fixed:
                avals = [jax.ShapeDtypeStruct(self.shape(a, steps), a.dtype) for a in self.in_avals]
                self._fixed[steps] = Function(self._f, avals, self.known)
            return self._fixed[steps]

    @uncollected()
    def _trace(self) -> tuple[Any, Any]:
        if self._traced is None:
            try:
                self._traced = trace(self._f, self.in_avals)
            except InconclusiveDimensionOperation as error:
                raise Undecided(str(error)) from None
            check(self._traced[0])
        return self._traced

    def __call__(self, *args: Any) -> list[Any]:
        """Evaluate by JAX itself."""
        if all(isinstance(d, int) for x in args for d in x.shape):
            steps = self.length([x.shape for x in args])
            return jex.jaxpr_as_fun(self.fixed(steps).closed)(*args)
        return jex.jaxpr_as_fun(self.closed)(*args)

    # -- derivatives: by JAX, so that custom rules hold ---------------------------------------

    def tangent(self, where: tuple[int, ...], halves: Reverse | None = None) -> Function:
        """Function of (arguments, tangents of arguments `where`): tangents of the results.

        With halves, what is kept is among the arguments; its transpose is their pull-back.
        """
        if halves is None:
            return self._derive("jvp", where, lambda: self._tangent(where))
        return self._derive("jvp beside halves", where, lambda: self._beside(where, halves))

    def cotangent(self, where: tuple[int, ...], steps: int | None) -> Function:
        """Function of (arguments, cotangents of the results): those of arguments `where`.

        For all lengths if it can be, else for this one.
        """
        try:
            return self._derive("vjp", where, lambda: self._cotangent(where))
        except Undecided:
            return self.fixed(steps).cotangent(where, None)

    def halves(self, where: tuple[int, ...], steps: int | None) -> Reverse | None:
        """Reverse mode by arguments `where` in two functions; None if nothing is worth keeping.

        For all lengths if it can be, else for this one.
        """
        try:
            return self._derive("halves", where, lambda: self._halves(where))
        except Undecided:
            return self.fixed(steps).halves(where, None)

    def _derive(self, kind: str, where: tuple[int, ...], make: Callable[[], Any]) -> Any:
        with self._lock:
            key = (kind, where)
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def _restricted(self, args: Sequence[Any], where: tuple[int, ...]) -> Callable[..., Any]:
        def f(*chosen: Any) -> list[Any]:
            full = list(args)
            for k, x in zip(where, chosen, strict=True):
                full[k] = x
            return [y for y, a in zip(self(*full), self.out_avals, strict=True) if _real(a)]

        return f

    def _tangent(self, where: tuple[int, ...]) -> Function:
        n = len(self.in_avals)

        def f(*args: Any) -> Any:
            primals = args[:n]
            chosen = tuple(primals[k] for k in where)
            return jax.jvp(self._restricted(primals, where), chosen, tuple(args[n:]))[1]

        avals = [*self.in_avals, *(self.in_avals[k] for k in where)]
        real = [a for a in self.out_avals if _real(a)]
        # Reverse mode passes through here too, and never needs the trace.
        return Function(f, avals, [*self.known, *(None for _ in where)], real)

    def _beside(self, where: tuple[int, ...], halves: Reverse) -> Function:
        plain, n, kept = self.tangent(where), len(self.in_avals), len(halves.kept)

        def f(*args: Any) -> list[Any]:
            return plain(*args[:n], *args[n + kept :])

        avals = [*plain.in_avals]
        avals[n:n] = [halves.keep.out_avals[k] for k in halves.kept]
        known = [*self.known, *(None for _ in avals[n:])]
        return Function(f, avals, known, plain.out_avals)

    def _cotangent(self, where: tuple[int, ...]) -> Function:
        n = len(self.in_avals)

        def f(*args: Any) -> Any:
            primals = args[:n]
            chosen = tuple(primals[k] for k in where)
            pull = jax.vjp(self._restricted(primals, where), *chosen)[1]
            return pull(list(args[n:]))

        real = [a for a in self.out_avals if _real(a)]
        return Function(f, [*self.in_avals, *real], [*self.known, *(None for _ in real)])

    def _halves(self, where: tuple[int, ...]) -> Reverse | None:
        n = len(self.in_avals)

        def whole(*args: Any) -> list[Any]:
            def f(*chosen: Any) -> tuple[list[Any], list[Any]]:
                full = list(args[:n])
                for k, x in zip(where, chosen, strict=True):
                    full[k] = x
                outs = self(*full)
                return [y for y, a in zip(outs, self.out_avals, strict=True) if _real(a)], outs

            _, pull, outs = jax.vjp(f, *(args[k] for k in where), has_aux=True)
            return [*outs, *pull(list(args[n:]))]

        real = [a for a in self.out_avals if _real(a)]
        closed = Function(whole, [*self.in_avals, *real], ()).closed
        parts = reverse.cut(closed, n, len(self.out_avals))
        if parts is None:
            return None

        def half(k: int, closed: Any, known: Sequence[Any]) -> Function:
            new = Function(jex.jaxpr_as_fun(closed), closed.in_avals, known, closed.out_avals)
            new._traced = closed, None
            new._for_length = lambda steps: self.fixed(steps).halves(where, None)[k]  # type: ignore[index]
            return new

        further = [None] * (len(parts.kept) + len(real))
        return Reverse(
            half(0, parts.keep, self.known),
            half(1, parts.pull, [*self.known, *further]),
            parts.kept,
        )

    # -- code ---------------------------------------------------------------------------------

    def code(self, batched: tuple[bool, ...], many: bool, steps: int | None = None) -> Code:
        """Machine code; `batched` tells which arguments differ between lanes.

        For all lengths if it can be, else for this one.
        """
        key = (batched, many)
        with self._lock:
            if key not in self._codes:
                try:
                    self._codes[key] = self._build(batched, many)
                except Undecided:
                    self._codes[key] = None
            found = self._codes[key]
        if found is not None:
            return found
        if steps is None:
            raise Undecided("This function has code for given lengths alone.")
        return self.fixed(steps).code(batched, many)

    def program(
        self, batched: tuple[bool, ...], many: bool = True, target: Target | None = None
    ) -> tuple[Program, list[np.ndarray]]:
        """The intermediate form."""
        wide = 1 if many else _lanes((type_of(a) for a in self.in_avals), target)
        t = Interpreter(wide, self.steps)
        p = t.p
        args: list[Value] = []
        for k, (aval, own) in enumerate(zip(self.in_avals, batched, strict=True)):
            known = self.known[k] if k < len(self.known) else None
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
        outs = t.closed(self.closed, args)
        inputs = len(args) + len(extra)
        for k, (x, aval) in enumerate(zip(outs, self.out_avals, strict=True)):
            if isinstance(x, LazyArray) and (own := x.buffer) is not None and _ours(p, own):
                # A stack that a loop fills is filled in place.
                own.role, own.slot = "output", inputs + k
                continue
            buffer = p.buffer(type_of(aval), x.size, False, "output", inputs + k)
            t.arrays.write(x, buffer, lambda i, s=x.shape: t.arrays.offset(s, i))
        p.root.items.append(p.tile)
        return p, extra

    def lower(self, batched: tuple[bool, ...], many: bool, target: Target | None = None) -> Lowered:
        """All that machine code is made of, for this processor or another."""
        p, extra = self.program(batched, many, target)
        pack_rows(p)
        live = find_live(p)
        shorten(p, live)
        layout = lay_out(p, live, lanes_of(p, live, target), target)
        return Lowered(p, live, layout, emit(p, live, layout), tuple(extra))

    def text(self, lowered: Lowered) -> str:
        """LLVM's text of the kernel and of the entry that XLA calls."""
        inputs = len(self.in_avals) + len(lowered.constants)
        return lowered.module.text + handler_text(inputs, len(self.out_avals))

    @uncollected()
    def _build(self, batched: tuple[bool, ...], many: bool) -> Code:
        name = kept.name(self.closed, self.known, batched, many)
        code = kept.read(name)
        if code is None:
            code = self._made(batched, many)
            kept.write(name, code, code.key)
        _register(code)
        return code

    def _made(self, batched: tuple[bool, ...], many: bool) -> Code:
        lowered = self.lower(batched, many)
        p, live, layout, module = lowered.program, lowered.live, lowered.layout, lowered.module
        _, key = machine.assemble(self.text(lowered))
        read = {
            p.args[n][1].slot
            for n in live.nodes
            if p.ops[n] == "load" and p.args[n][1].role == "input"
        }
        used = tuple(k in read for k in range(len(self.in_avals)))
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
    import ctypes

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


def _symbol(dims: Sequence[Any]) -> Any:
    """The length that all of these are made of: n, if n and 2 n are among them."""
    plain = sorted(dims, key=lambda d: not str(d).isidentifier())
    for d in plain:
        try:
            size_of(d, plain[0])
        except ValueError:
            raise KernelError(
                f"A kernel has one length that is given in the call, not both {plain[0]} and {d}: "
                "call length() once, and use n, n + 1, 2 n of it."
            ) from None
    return plain[0] if plain else None


def _ours(p: Program, buffer: Buffer) -> bool:
    return buffer.role == "work" and (p.wide > 1 or not buffer.uniform)


def _real(aval: Any) -> bool:
    return np.issubdtype(aval.dtype, np.floating)


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
