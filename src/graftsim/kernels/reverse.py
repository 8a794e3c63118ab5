"""Results and pull-back of a function as one jaxpr, cut in two at the loops of its forward pass.

What such a loop hands to the way back is kept: the first half gives results and what is kept, the
second one takes it as arguments, beside those of the function. What else it needs of the forward
pass is straight-line code, and computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jax.extend import core as jex

from graftsim.kernels.ir.jaxprs import inside, opened, parameters, part_of

# Writing a number and reading it again takes about as long as so many operations.
_TRANSFER = 16
_LOOPS = ("scan", "while")


@dataclass(frozen=True)
class Halves:
    """Closed jaxprs of a function's two halves.

    keep: of the arguments; results, then what is kept beside them. pull: of the arguments, what is
    kept, the cotangents of real results; cotangents. kept: where among the results of `keep` that
    stands which is kept.
    """

    keep: Any
    pull: Any
    kept: tuple[int, ...]


def cut(closed: Any, arguments: int, results: int) -> Halves | None:
    """Halves of (arguments, cotangents of results) -> (results, cotangents of arguments).

    None: no loop hands on anything worth keeping.
    """
    jaxpr, _ = opened(closed)
    given, cotangents = jaxpr.invars[:arguments], jaxpr.invars[arguments:]
    outs, pulled = jaxpr.outvars[:results], jaxpr.outvars[results:]
    loops = _early_loops(jaxpr, cotangents)
    while True:
        known = [v for e in loops for v in e.outvars]
        pull = _closed(closed, [*given, *cotangents], pulled, known)
        needed = (_variables(e.invars) for e in opened(pull)[0].eqns)
        used = set(_variables(pulled)).union(*needed)
        further = used - set(_variables(outs))
        worth = [e for e in loops if _worth(e, further)]
        if len(worth) == len(loops):
            break
        loops = worth
    kept = [v for v in known if v in used]
    if not kept:
        return None
    results_of_keep = [*outs, *(v for v in kept if v in further)]
    places = {v: k for k, v in enumerate(results_of_keep) if isinstance(v, jex.Var)}
    return Halves(
        _closed(closed, given, results_of_keep, ()),
        _closed(closed, [*given, *kept, *cotangents], pulled, kept),
        tuple(places[v] for v in kept),
    )


def _early_loops(jaxpr: Any, cotangents: Iterable[Any]) -> list[Any]:
    """Equations with loops that need no cotangent."""
    later, found = set(cotangents), []
    for e in jaxpr.eqns:
        if any(v in later for v in _variables(e.invars)):
            later.update(e.outvars)
        elif _repeats(e):
            found.append(e)
    return found


def _closed(closed: Any, arguments: list[Any], results: list[Any], known: Iterable[Any]) -> Any:
    """What of a jaxpr computes the results from the arguments; `known` are among them."""
    (jaxpr, constants), known = opened(closed), set(known)
    needed, eqns = set(_variables(results)), []
    for e in reversed(jaxpr.eqns):
        if any(v in needed and v not in known for v in e.outvars):
            eqns.append(e)
            needed.update(_variables(e.invars))
    used = [k for k, v in enumerate(jaxpr.constvars) if v in needed]
    return part_of(
        closed, [constants[k] for k in used], constvars=[jaxpr.constvars[k] for k in used],
        invars=arguments, outvars=results, eqns=eqns[::-1],
    )  # fmt: skip


def _variables(atoms: Iterable[Any]) -> list[Any]:
    return [v for v in atoms if not isinstance(v, jex.Literal)]


def _repeats(e: Any) -> bool:
    return e.primitive.name in _LOOPS or any(
        _repeats(inner) for jaxpr in inside(e) for inner in jaxpr.eqns
    )


def _worth(e: Any, further: set[Any]) -> bool:
    """Is it less work to keep those of its results than to run a loop again?"""
    if e.primitive.name != "scan":
        return True
    params = parameters(e)
    (body, _), stacks = opened(params["jaxpr"]), params["num_carry"]
    kept = zip(body.outvars[stacks:], e.outvars[stacks:], strict=True)
    return _work(body) >= _TRANSFER * sum(_size(v) for v, whole in kept if whole in further)


def _size(v: Any) -> int:
    return math.prod(n for n in v.aval.shape if isinstance(n, int))


def _work(jaxpr: Any) -> int:
    """Operations of a jaxpr, one turn of its loops."""
    total = 0
    for e in jaxpr.eqns:
        inner = list(inside(e))
        each = 1
        if e.primitive.name == "dot_general":
            ((axes, _), _), x = e.params["dimension_numbers"], e.invars[0].aval
            each = math.prod(x.shape[k] for k in axes if isinstance(x.shape[k], int))
        total += sum(map(_work, inner)) if inner else each * sum(map(_size, e.outvars))
    return total
