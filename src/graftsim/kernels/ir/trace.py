"""The front end: JAX traces a function, and its jaxpr is interpreted over scalars.

Each primitive has a rule (`RULES`); loops and branches stay structured, everything else becomes
nodes. Custom derivative rules need no care here: JAX has applied them before the jaxpr is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex
from jax.extend.source_info_util import summarize  # pyright: ignore

from graftsim.errors import KernelError
from graftsim.kernels.ir.arrays import EXPLODE, EXPLODE_INPUT, Arrays, LazyArray, Value
from graftsim.kernels.ir.jaxprs import inside, opened, parameters
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size, Undecided, size, within
from graftsim.kernels.ir.types import DTYPES, TYPES

Rule = Callable[["Interpreter", dict[str, Any], list[Value], list[Any]], Sequence[Value]]
RULES: dict[str, Rule] = {}
# Lengths up to so many times the symbol of a length are recognised.
_FACTORS = 17


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule: (interpreter, params, inputs, output avals) -> outputs."""

    def register(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return register


def type_of(aval: Any) -> str:
    """Our name of a dtype."""
    try:
        return TYPES[np.dtype(aval.dtype)]
    except (KeyError, TypeError):
        raise KernelError(
            f"Kernels know {', '.join(str(d) for d in TYPES)}, not {aval.dtype}."
        ) from None


@dataclass(frozen=True)
class _Aval:
    shape: tuple[int | Size, ...]
    dtype: Any


def size_of(dim: Any, steps: Any) -> int | Size:
    """A dimension as JAX has it, where `steps` is its symbol, as a number of this compiler."""
    for factor in range(_FACTORS):
        rest = dim - factor * steps
        if isinstance(rest, int):
            return size(rest, factor)
    raise Undecided(f"Kernels do not know the length {dim} before the call.")


class Interpreter:
    """Evaluates jaxprs into one program."""

    def __init__(self, wide: int = 1, steps: Any = None) -> None:
        self.p = Program(wide)
        # JAX's symbol of a length that is known in the call alone.
        self.steps = steps
        self.arrays = Arrays(self.p)
        # Large constants become inputs that all lanes share.
        self.constants: list[np.ndarray] = []
        self.on_constant: Callable[[np.ndarray], Value] | None = None
        # Lanes that count, inside a branch that only some take.
        self.mask: int | None = None
        # How many loops have been met, in the program and in each body that is being traced.
        self.met = [0]
        # What proved to hold of the carry of a loop, by where the loop stands.
        self.learned: dict[Any, Any] = {}
        # Is this the body of a loop of which nothing is learned yet? And how many loops inside
        # such bodies were left before all that is assumed of them held.
        self.trying, self.unproved = False, 0

    def literal(self, value: Any, aval: Any) -> Value:
        """Value of a constant array, of the type that JAX takes it for: 1.0 may be a float32."""
        x = np.asarray(value, DTYPES[type_of(aval)])
        # Zeros and ones make code small; other numbers in bulk (weights) would make it large.
        bulk = x.size > 256 and np.isin(x, (0, 1, -1)).mean() < 0.3
        if bulk and self.on_constant is not None:
            return self.on_constant(x)
        return self.arrays.constant(x, type_of(x))

    def run(self, jaxpr: Any, consts: Sequence[Value], args: Sequence[Value]) -> list[Value]:
        """Outputs of a jaxpr."""
        env: dict[Any, Value] = {}
        uses: Counter[Any] = Counter()
        for eqn in jaxpr.eqns:
            uses.update(v for v in eqn.invars if not isinstance(v, jex.Literal))
        uses.update(v for v in jaxpr.outvars if not isinstance(v, jex.Literal))

        def read(v: Any) -> Value:
            return self.literal(v.val, v.aval) if isinstance(v, jex.Literal) else env[v]

        env.update(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            handler = RULES.get(name)
            if handler is None:
                raise KernelError(f"Kernels do not know the primitive '{name}' ({_where(eqn)}).")
            avals, params = [v.aval for v in eqn.outvars], parameters(eqn)
            if self.steps is not None:
                avals = [_Aval(self.sizes(a.shape), a.dtype) for a in avals]
                params = {k: self.sizes(x) for k, x in params.items()}
            try:
                outs = handler(self, params, [read(v) for v in eqn.invars], avals)
            except KernelError as error:
                if "(" not in str(error):
                    raise type(error)(f"{error} In '{name}' ({_where(eqn)}).") from None
                raise
            for v, aval, out in zip(eqn.outvars, avals, outs, strict=True):
                assert tuple(out.shape) == aval.shape, (name, out.shape, aval.shape)
                out = self.arrays.settle(out)
                self.note_rows(out)
                if isinstance(out, LazyArray) and not out.view and uses[v] > 1:
                    out = self.arrays.materialise(out, type_of(aval))
                env[v] = out
        return [read(v) for v in jaxpr.outvars]

    def note_rows(self, x: Value) -> None:
        """Remember an array whose rows may share vectors (`kernels.rows`)."""
        if not isinstance(x, LazyArray) and x.ndim and 1 < len(x) <= self.p.wide:
            self.p.rows.append(x)

    def sizes(self, x: Any) -> Any:
        """Lengths of arrays and loops as this compiler's numbers; everything else as it is."""
        if isinstance(x, tuple | list):
            return type(x)(map(self.sizes, x)) if type(x) in (tuple, list) else x
        return size_of(x, self.steps) if isinstance(x, type(self.steps)) else x

    def closed(self, closed: Any, args: Sequence[Value]) -> list[Value]:
        """Outputs of a closed jaxpr."""
        jaxpr, consts = opened(closed)
        return self.run(jaxpr, self.literals(jaxpr, consts), args)

    def literals(self, jaxpr: Any, consts: Sequence[Any]) -> list[Value]:
        """Values of the constants that a jaxpr is closed over."""
        return [self.literal(c, v.aval) for c, v in zip(consts, jaxpr.constvars, strict=True)]

    def unrolls(self, xs: Sequence[Value], shape: Sequence[int | Size]) -> bool:
        """Does an operation on these become straight-line code?"""
        return within(shape, EXPLODE) and not any(
            isinstance(x, LazyArray) and not (x.parameter and within(x.shape, EXPLODE_INPUT))
            for x in xs
        )


def check(jaxpr: Any, caller: str = "") -> None:
    """Raises KernelError for the first primitive or type that kernels do not know.

    `caller`: the line of a call, for what JAX has traced without lines of its own.
    """
    for eqn in jaxpr.eqns:
        where = _where(eqn) or caller
        if eqn.primitive.name not in RULES:
            raise KernelError(
                f"Kernels do not know the primitive '{eqn.primitive.name}' ({where})."
            )
        for v in eqn.outvars:
            type_of(v.aval)
        # Jaxprs that combine the elements of a scatter are read by its rule.
        if not eqn.primitive.name.startswith("scatter"):
            for inner in inside(eqn):
                check(inner, where)


def _where(eqn: Any) -> str:
    return summarize(eqn.source_info)


def trace(f: Callable[..., Any], examples: Sequence[Any]) -> tuple[Any, Any]:
    """Closed jaxpr of a function of flat arguments, and the tree of its results."""
    shapes = [jax.ShapeDtypeStruct(np.shape(x), jax.numpy.result_type(x)) for x in examples]
    closed, out = jax.make_jaxpr(f, return_shape=True)(*shapes)
    return closed, jax.tree.structure(out)
