"""A branch that is seldom taken, whose derivatives are computed within it.

JAX splits the derivative of a `cond` in two: one branch that keeps whatever the derivative will
need, and a later one that uses it. For a branch that is large and seldom taken that is all wrong:
the common way has to hand on zeros for everything kept, and a compiler no longer sees what is zero.
Here the derivative is one branch of its own, in forward and in reverse mode, which computes again
what it needs from the arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.custom_derivatives import SymbolicZero
from jax.extend import core as jex
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Bool

Leaves = Sequence[Any]


def seldom(condition: Bool[Array, ""], f: Callable[[Any], Any], x: Any) -> Any:
    """f(x) where the condition holds, else x; f returns what has the form of x.

    f may close over arrays. Derivatives of first order; of second order they are right, and slow.
    """
    leaves, form = jax.tree.flatten(x)
    traced = jax.make_jaxpr(lambda *xs: jax.tree.leaves(f(jax.tree.unflatten(form, xs))))(*leaves)
    # What f closes over becomes arguments too, so that nothing is moved past the branch.
    outer = [k for k, c in enumerate(traced.consts) if isinstance(c, Tracer)]

    def flat(*xs: Any) -> list[Any]:
        consts = list(traced.consts)
        for k, c in zip(outer, xs[len(leaves) :], strict=True):
            consts[k] = c
        return jex.jaxpr_as_fun(traced.replace(consts=consts))(*xs[: len(leaves)])

    closed = [traced.consts[k] for k in outer]
    return jax.tree.unflatten(form, _seldom((flat, len(leaves)), condition, *leaves, *closed))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _seldom(branch: tuple[Callable[..., list[Any]], int], condition: Any, *leaves: Any):
    """`branch`: f on leaves, of which the first n are x."""
    f, n = branch
    return jax.lax.cond(condition, f, lambda *leaves: list(leaves[:n]), *leaves)


@partial(_seldom.defjvp, symbolic_zeros=True)
def _seldom_jvp(branch, primals, tangents):
    f, n = branch
    condition, *leaves = primals
    moving = [k for k, t in enumerate(tangents[1:]) if not isinstance(t, SymbolicZero)]
    shown = [k for k in range(n) if jnp.issubdtype(leaves[k].dtype, jnp.inexact)]

    def restricted(leaves: Leaves) -> Callable[..., list[Any]]:
        def g(*chosen: Any) -> list[Any]:
            full = list(leaves)
            for k, x in zip(moving, chosen, strict=True):
                full[k] = x
            out = f(*full)
            return [out[k] for k in shown]

        return g

    def push(condition: Any, leaves: Leaves, ts: Leaves) -> list[Any]:
        def go() -> list[Any]:
            return jax.jvp(restricted(leaves), [leaves[k] for k in moving], list(ts))[1]

        def stay() -> list[Any]:
            at = dict(zip(moving, ts, strict=True))
            return [at[k] if k in at else jnp.zeros_like(leaves[k]) for k in shown]

        return jax.lax.cond(condition, go, stay)

    def pull(condition: Any, leaves: Leaves, cts: Leaves) -> list[Any]:
        def go() -> list[Any]:
            return list(jax.vjp(restricted(leaves), *(leaves[k] for k in moving))[1](list(cts)))

        def stay() -> list[Any]:
            at = dict(zip(shown, cts, strict=True))
            return [at[k] if k in at else jnp.zeros_like(leaves[k]) for k in moving]

        return jax.lax.cond(condition, go, stay)

    out = _seldom(branch, condition, *leaves)
    found = _linear(push, pull, (condition, *leaves), [tangents[1 + k] for k in moving])
    at = dict(zip(shown, found, strict=True))
    return out, [
        at[k] if k in at else SymbolicZero(jax.typeof(y).to_tangent_aval())
        for k, y in enumerate(out)
    ]


# -- a linear map that is not taken apart -----------------------------------------------------

seldom_p = jex.Primitive("graftsim_seldom")
seldom_p.multiple_results = True


def _linear(push: Callable, pull: Callable, given: Leaves, ts: Leaves) -> list[Any]:
    """push(condition, leaves, ts), linear in ts, with pull as its transpose."""

    def at(f: Callable) -> Callable[..., list[Any]]:
        return lambda *xs: f(xs[0], xs[1 : len(given)], xs[len(given) :])

    avals = [jax.typeof(x) for x in given]
    forward = jax.make_jaxpr(at(push))(*avals, *map(jax.typeof, ts))

    @cache
    def backward() -> Any:
        return jax.make_jaxpr(at(pull))(*avals, *forward.out_avals)

    return seldom_p.bind(*given, *ts, map=forward, transpose=backward, given=len(given))


@seldom_p.def_abstract_eval
def _abstract(*_: Any, map: Any, **__: Any) -> list[Any]:
    return list(map.out_avals)


def _run(*args: Any, map: Any, **_: Any) -> list[Any]:
    return jex.jaxpr_as_fun(map)(*args)


seldom_p.def_impl(lambda *args, **params: jax.jit(partial(_run, **params))(*args))
mlir.register_lowering(seldom_p, mlir.lower_fun(_run, multiple_results=True))


def _jvp(primals: Leaves, tangents: Leaves, *, map: Any, transpose: Any, given: int):
    if all(type(t) is ad.Zero for t in tangents[:given]):
        ts = [ad.instantiate_zeros(t) for t in tangents[given:]]
        out, d = (
            seldom_p.bind(*primals[:given], *x, map=map, transpose=transpose, given=given)
            for x in (primals[given:], ts)
        )
        return out, d
    ts = [ad.instantiate_zeros(t) for t in tangents]
    return jax.jvp(partial(_run, map=map), list(primals), ts)


def _transposed(cts: Leaves, *args: Any, map: Any, transpose: Any, given: int):
    cts = [ad.instantiate_zeros(ct) for ct in cts]
    out = seldom_p.bind(*args[:given], *cts, map=transpose(), transpose=lambda: map, given=given)
    return [None] * given + out


def _batched(args: Leaves, dims: Leaves, *, map: Any, transpose: Any, given: int):
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    linear = [
        batching.bdim_at_front(x, d, size) for x, d in zip(args[given:], dims[given:], strict=True)
    ]
    axes = list(dims[:given])

    def mapped(closed: Any) -> Any:
        f = jax.vmap(jex.jaxpr_as_fun(closed), [*axes, *(0 for _ in closed.in_avals[given:])])
        ends = [jax.ShapeDtypeStruct((size, *a.shape), a.dtype) for a in closed.in_avals[given:]]
        return jax.make_jaxpr(f)(*(jax.typeof(x) for x in args[:given]), *ends)

    out = seldom_p.bind(
        *args[:given], *linear, map=mapped(map), transpose=cache(lambda: mapped(transpose())),
        given=given,
    )  # fmt: skip
    return out, [0] * len(out)


ad.primitive_jvps[seldom_p] = _jvp
ad.primitive_transposes[seldom_p] = _transposed
batching.primitive_batchers[seldom_p] = _batched
