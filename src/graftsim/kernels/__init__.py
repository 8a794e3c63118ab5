"""Kernels: a JAX function of one simulation as machine code that runs many side by side.

Knows no robot. `compile` traces a function, folds it into scalar operations, and emits one SIMD
loop through LLVM; the result is a JAX function again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.errors import KernelError
from graftsim.kernels import inspection
from graftsim.kernels.binding import call, thread_count, threads
from graftsim.kernels.function import Function
from graftsim.kernels.functions.real import Real
from graftsim.kernels.ir.sizes import LEAST, Undecided
from graftsim.kernels.rules.own import elementary

__all__ = [
    "CompiledFunction",
    "KernelError",
    "Real",
    "Undecided",
    "compile",
    "elementary",
    "length",
    "show",
    "thread_count",
    "threads",
]


def _difference(ours: Any, given: Any) -> str:
    """Where two structures begin to differ; whole, those of a robot are long."""
    a, b = str(ours), str(given)
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    near = slice(max(at - 60, 0), at + 60)
    return f"... {a[near]} ..., got ... {b[near]} ..."


class CompiledFunction:
    """A function on kernels. Use it in jit, grad, jvp, vmap like any other."""

    def __init__(self, function: Function, tree: Any) -> None:
        self.function, self.tree = function, tree
        # The function whose signature it has.
        self.__wrapped__: Any = None
        self._run = jax.jit(self._evaluate)

    def _evaluate(self, *args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        if tree != self.tree:
            raise KernelError(
                "The kernel was compiled for arguments of another structure: "
                f"{_difference(self.tree, tree)}."
            )
        avals = self.function.in_avals
        leaves = [jnp.asarray(x, a.dtype) for x, a in zip(leaves, avals, strict=True)]
        return jax.tree.unflatten(self.function.out_tree, call(self.function, leaves))

    def __call__(self, *args: Any) -> Any:
        """Evaluate for one simulation (or many under `jax.vmap`)."""
        return self._run(*args)

    @property
    def operations(self) -> int:
        """Scalar operations of the busiest loop, when nothing is shared between lanes."""
        batched = (True,) * len(self.function.in_avals)
        return self.function.code(batched, True).operations


def length() -> Any:
    """A length, two or more, that arguments of a kernel have in common and each call gives.

    It stands in the shape of an example for `compile`, as `jax.ShapeDtypeStruct((n, 3), float)`,
    and so may n + 1 or 2 n. Loops over such arrays are compiled once for all lengths.
    """
    from jax import export

    (n,) = export.symbolic_shape("n", constraints=[f"n >= {LEAST}"])
    return n


def compile(f: Any, *examples: Any, known: Sequence[Any] | None = None) -> CompiledFunction:
    """Kernel of a function of one simulation.

    examples: arguments (any pytrees of arrays) that give shapes and types; see `length` for those
    of any length. known: as the arguments, with the numbers that will always be the same, NaN where
    they are not.
    Machine code is made on the first call, for one simulation or for lanes, and kept on disk.

    Raises KernelError for a primitive or a type that kernels do not know, with the source line.
    """
    leaves, tree = jax.tree.flatten(examples)
    avals = [jax.ShapeDtypeStruct(np.shape(x), jnp.result_type(x)) for x in leaves]

    def flat(*xs: Any) -> Any:
        return f(*jax.tree.unflatten(tree, xs))

    patterns = [None] * len(leaves) if known is None else list(known)
    kernel = CompiledFunction(Function(flat, avals, patterns), tree)
    kernel.__wrapped__ = f
    return kernel


def show(
    f: Any,
    *args: Any,
    level: inspection.Level = "program",
    lanes: bool | Sequence[bool] = False,
) -> str:
    """Text of what a function of one simulation is compiled to; nothing is run.

    f: a function, or a kernel made of one. args: as for `compile`. level: "program", one line an
    operation with its type and the loops around it, or "llvm", what LLVM is given. lanes: False for
    the code of one simulation; else of many side by side, all arguments different from lane to
    lane (True) or those for which the sequence says so, as under `jax.vmap`.

    Raises KernelError: a primitive, a type or a level that kernels do not know; `lanes` of another
    length than the arguments.
    """
    kernel = f if isinstance(f, CompiledFunction) else compile(f, *args)
    own = [lanes] * len(args) if isinstance(lanes, bool) else list(lanes)
    if len(own) != len(args):
        raise KernelError(f"lanes says {len(own)} times yes or no, for {len(args)} arguments.")
    batched = [
        yes for yes, x in zip(own, args, strict=True) for _ in range(len(jax.tree.leaves(x)))
    ]
    names = inspection.names_of(f, args) + inspection.names_of_results(kernel.function)
    return inspection.text(kernel.function, batched, level, names)
