"""A branch that is seldom taken, whose derivatives are computed within it.

JAX splits the derivative of a `cond` in two: one branch that keeps whatever the derivative will
need, and a later one that uses it. For a branch that is large and seldom taken that is all wrong:
the common way has to hand on zeros for everything kept, and a compiler no longer sees what is zero.
Here the derivative is one branch of its own, in forward and in reverse mode, which computes again
what it needs from the arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import core
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
    ends = [leaves[k] for k in shown]
    found = _linear(push, pull, (condition, *leaves), [tangents[1 + k] for k in moving], ends)
    at = dict(zip(shown, found, strict=True))
    return out, [
        at[k] if k in at else SymbolicZero(jax.typeof(y).to_tangent_aval())
        for k, y in enumerate(out)
    ]


# -- a linear map that is not taken apart -----------------------------------------------------

seldom_p = jex.Primitive("graftsim_seldom")
seldom_p.multiple_results = True


class Traced:
    """A closed jaxpr that is traced when it is first read; reverse mode never reads half of them.

    outs: the avals of its results.
    """

    def __init__(self, f: Callable[..., Leaves], avals: Leaves, outs: Leaves) -> None:
        self._f, self.in_avals, self.outs = f, avals, outs

    @cached_property
    def closed(self) -> jex.ClosedJaxpr:
        """The jaxpr with its constants."""
        return jax.make_jaxpr(self._f)(*self.in_avals)

    @property
    def jaxpr(self) -> Any:
        """The jaxpr."""
        return self.closed.jaxpr

    @property
    def consts(self) -> Leaves:
        """Values of its constants."""
        return self.closed.consts

    @property
    def eqns(self) -> Leaves:
        """Its equations."""
        return self.closed.eqns

    def __call__(self, *args: Any) -> list[Any]:
        """Evaluate it."""
        return jex.jaxpr_as_fun(self.closed)(*args)

    def mapped(self, size: int, axes: Leaves) -> Traced:
        """The same of `size` arguments each, along these axes; results have them in front."""

        def many(x: Any, axis: int | None) -> Any:
            if axis is None:
                return x
            return jax.ShapeDtypeStruct((*x.shape[:axis], size, *x.shape[axis:]), x.dtype)

        avals = [many(x, axis) for x, axis in zip(self.in_avals, axes, strict=True)]
        return Traced(jax.vmap(self, axes), avals, [many(x, 0) for x in self.outs])


def _linear(push: Callable, pull: Callable, given: Leaves, ts: Leaves, outs: Leaves) -> list[Any]:
    """push(condition, leaves, ts), linear in ts, with pull as its transpose; outs: like results."""

    def at(f: Callable) -> Callable[..., list[Any]]:
        return lambda *xs: f(xs[0], xs[1 : len(given)], xs[len(given) :])

    known, moving, shown = ([jax.typeof(x) for x in xs] for xs in (given, ts, outs))
    forward = Traced(at(push), [*known, *moving], shown)
    backward = Traced(at(pull), [*known, *shown], moving)
    return seldom_p.bind(*given, *ts, linear_map=forward, pull_back=backward, given=len(given))


@seldom_p.def_abstract_eval
def _abstract(*_: Any, linear_map: Traced, **__: Any) -> list[Any]:
    return [core.ShapedArray(x.shape, x.dtype) for x in linear_map.outs]


def _run(*args: Any, linear_map: Traced, **_: Any) -> list[Any]:
    return linear_map(*args)


seldom_p.def_impl(lambda *args, **params: jax.jit(partial(_run, **params))(*args))
mlir.register_lowering(seldom_p, mlir.lower_fun(_run, multiple_results=True))


def _jvp(primals: Leaves, tangents: Leaves, *, linear_map: Traced, pull_back: Traced, given: int):
    if all(type(t) is ad.Zero for t in tangents[:given]):
        ts = [ad.instantiate_zeros(t) for t in tangents[given:]]
        out, d = (
            seldom_p.bind(
                *primals[:given], *x, linear_map=linear_map, pull_back=pull_back, given=given
            )
            for x in (primals[given:], ts)
        )
        return out, d
    ts = [ad.instantiate_zeros(t) for t in tangents]
    return jax.jvp(linear_map, list(primals), ts)


def _transposed(cts: Leaves, *args: Any, linear_map: Traced, pull_back: Traced, given: int):
    cts = [ad.instantiate_zeros(ct) for ct in cts]
    out = seldom_p.bind(
        *args[:given], *cts, linear_map=pull_back, pull_back=linear_map, given=given
    )
    return [None] * given + out


def _batched(args: Leaves, dims: Leaves, *, linear_map: Traced, pull_back: Traced, given: int):
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    linear = [
        batching.bdim_at_front(x, d, size) for x, d in zip(args[given:], dims[given:], strict=True)
    ]
    forward, backward = (
        f.mapped(size, [*dims[:given], *(0 for _ in f.in_avals[given:])])
        for f in (linear_map, pull_back)
    )
    out = seldom_p.bind(*args[:given], *linear, linear_map=forward, pull_back=backward, given=given)
    return out, [0] * len(out)


ad.primitive_jvps[seldom_p] = _jvp
ad.primitive_transposes[seldom_p] = _transposed
batching.primitive_batchers[seldom_p] = _batched
