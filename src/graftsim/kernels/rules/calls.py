"""Rules of calls: what is called becomes part of the caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import Value
from graftsim.kernels.ir.trace import Interpreter, rule, type_of


@rule("jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "custom_jvp_call", "custom_vjp_call",
      "custom_vjp_call_jaxpr", "checkpoint", "remat", "remat2")  # fmt: skip
def _call(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    inner = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
    return t.closed(inner, xs)


@rule("graftsim_seldom")
def _seldom(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return t.closed(params["linear_map"], xs)


@rule("custom_linear_solve")
def _linear_solve(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    lengths, jaxprs = params["const_lengths"], params["jaxprs"]
    counts = [lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve]
    start = counts[0] + counts[1]
    return t.closed(jaxprs.solve, [*xs[start : start + counts[2]], *xs[sum(counts) :]])


@rule("platform_index")
def _platform(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    """Which of several programs is meant for this platform; kernels run on the CPU."""
    k = next(k for k, names in enumerate(params["platforms"]) if names is None or "cpu" in names)
    return [np.array(t.p.const(k, type_of(avals[0])), dtype=np.int64)]
