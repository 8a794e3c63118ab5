"""Elementary functions as straight-line code of scalar operations.

`FUNCTIONS` has one entry for each JAX primitive: lists of nodes in, a list out, so that all
elements of an array share one test for a rare slow path. Each function holds for all arguments
(zeros of both signs, subnormal and infinite ones, NaN) and keeps within 2 ulp; tanh of float32 to
4.1e-7 of itself, since networks are made of it.
"""

from __future__ import annotations

from collections.abc import Callable

from graftsim.kernels.functions import (
    error,
    exponential,
    inverse,
    logarithm,
    power,
    trigonometric,
)
from graftsim.kernels.functions.real import Real
from graftsim.kernels.ir.program import Program

__all__ = ["FUNCTIONS"]

ListFunction = Callable[..., list[int]]


def _each(f: Callable[..., int]) -> ListFunction:
    def function(p: Program, *lists: list[int]) -> list[int]:
        return [f(Real(p, p.type(args[0])), *args) for args in zip(*lists, strict=True)]

    return function


FUNCTIONS: dict[str, ListFunction] = {
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": _each(inverse.asin),
    "acos": _each(inverse.acos),
    "atan": _each(inverse.atan),
    "atan2": _each(inverse.atan2),
    "exp": _each(exponential.exp),
    "exp2": _each(exponential.exp2),
    "expm1": _each(exponential.expm1),
    "logistic": _each(exponential.logistic),
    "sinh": _each(exponential.sinh),
    "cosh": _each(exponential.cosh),
    "tanh": exponential.tanh,
    "log": _each(logarithm.log),
    "log2": _each(logarithm.log2),
    "log1p": _each(logarithm.log1p),
    "asinh": _each(logarithm.asinh),
    "acosh": _each(logarithm.acosh),
    "atanh": _each(logarithm.atanh),
    "erf": _each(error.erf),
    "erfc": _each(error.erfc),
    "erf_inv": _each(error.erf_inv),
    "pow": _each(power.pow),
    "cbrt": _each(power.cbrt),
    "rsqrt": _each(power.rsqrt),
}
