"""A function of one simulation, traced: its lengths, its derivatives, its machine code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.errors import InconclusiveDimensionOperation
from jax.extend import core as jex

from graftsim.errors import KernelError
from graftsim.kernels import reverse
from graftsim.kernels.ir.sizes import LEAST, Undecided, value
from graftsim.kernels.ir.trace import check, size_of, trace
from graftsim.kernels.machine_code import Code, build
from graftsim.kernels.uncollected import uncollected


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
                    self._codes[key] = build(self, batched, many)
                except Undecided:
                    self._codes[key] = None
            found = self._codes[key]
        if found is not None:
            return found
        if steps is None:
            raise Undecided("This function has code for given lengths alone.")
        return self.fixed(steps).code(batched, many)


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


def _real(aval: Any) -> bool:
    return np.issubdtype(aval.dtype, np.floating)
