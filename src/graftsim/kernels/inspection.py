"""What a kernel is made of, as text for people: its program, or LLVM's."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax

from graftsim.errors import KernelError, suggest
from graftsim.kernels.codegen import count
from graftsim.kernels.function import Function
from graftsim.kernels.ir.printing import text_of
from graftsim.kernels.machine_code import Lowered, lower

Level = Literal["program", "llvm"]
LEVELS: tuple[Level, ...] = ("program", "llvm")


def text(function: Function, batched: Sequence[bool], level: Level, names: Sequence[str]) -> str:
    """Text of a function, for many simulations if any argument differs from lane to lane.

    names: of its arguments, then of its results. Raises KernelError: no such level.
    """
    if level not in LEVELS:
        raise KernelError(f"There is no level '{level}' of a kernel. {suggest(level, LEVELS)}")
    lowered = lower(function, tuple(batched), any(batched))
    if level == "llvm":
        return lowered.module.text
    inputs = len(function.in_avals)
    of_slots = dict(enumerate(names[:inputs]))
    # Constants of the function come between its arguments and its results.
    of_slots |= dict.fromkeys(range(inputs, inputs + len(lowered.constants)), "constant")
    of_slots |= dict(enumerate(names[inputs:], inputs + len(lowered.constants)))
    p, live = lowered.program, lowered.live
    return _summary(lowered, any(batched)) + text_of(p, live.has, of_slots)


def _summary(lowered: Lowered, many: bool) -> str:
    p, live, lanes = lowered.program, lowered.live, lowered.layout.lanes
    kinds = Counter(p.ops[n] for n in live.nodes if p.ops[n] not in ("const", "phi", "result"))
    once, work = count.operations(p, live)[p.root], count.work(p, live)
    lines = [
        f"{lanes} simulations side by side" if many else "one simulation",
        f"operations: {once} once, {work} in every tile, turns of its loops counted",
        "written: " + (", ".join(f"{n} {op}" for op, n in kinds.most_common()) or "none"),
    ]
    sizes = Counter(p.widths.get(n, lanes) for n in live.nodes if not p.uniform[n])
    if sizes and not many:
        text = ", ".join(f"{n} vectors of {size}" for size, n in sorted(sizes.items()))
        lines.append(f"rows in lanes: {text}")
    return "".join(f"# {line}\n" for line in lines)


def names_of(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Names of the leaves of arguments, as one would write them in the function."""
    try:
        parameters = [*inspect.signature(f).bind(*args).arguments]
    except (TypeError, ValueError):
        parameters = []
    out = []
    for k, x in enumerate(args):
        name = parameters[k] if k < len(parameters) else f"argument {k}"
        out += [name + where for where in _paths(x)]
    return out


def _paths(tree: Any) -> list[str]:
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def names_of_results(function: Function) -> list[str]:
    """Names of the leaves of its result."""
    numbered = jax.tree.unflatten(function.out_tree, range(len(function.out_avals)))
    return ["result" + where for where in _paths(numbered)]
