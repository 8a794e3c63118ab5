"""Elementary functions from outside the package: JAX primitives that kernels do not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftsim.errors import KernelError
from graftsim.kernels.functions.real import Real
from graftsim.kernels.ir.fingerprint import UNNAMED
from graftsim.kernels.ir.trace import RULES, Interpreter, rule, type_of
from graftsim.kernels.rules.elementwise import each, elementwise

Elementary = Callable[..., int]


def elementary(primitive: str) -> Callable[[Elementary], Elementary]:
    """Teach kernels an elementwise primitive: a function (m, *nodes) -> node on one element.

    m: the operations (`Real`) on the result's type, float32 or float64; nodes: an element of each
    operand. JAX differentiates the primitive as ever, so what its derivative uses must be known
    too. How a kernel with it is called is not kept on disk: nothing there would tell that the
    function has changed. Raises KernelError: the package has this primitive.
    """

    def register(f: Elementary) -> Elementary:
        if primitive in RULES and primitive not in UNNAMED:
            raise KernelError(f"Kernels have a rule for the primitive '{primitive}' already.")
        UNNAMED.add(primitive)

        @rule(primitive)
        def _(t: Interpreter, params: dict[str, Any], xs: list[Any], avals: list[Any]) -> list[Any]:
            m = Real(t.p, type_of(avals[0]))
            return [elementwise(t, each(lambda *a: f(m, *a)), xs, avals[0].shape, m.type)]

        return f

    return register
