"""A kernel as a JAX primitive: jit, grad, jvp and vmap work through it.

One primitive calls a `Function` with arguments that are batched or shared. Its derivative rules
call the functions that JAX derives from it, compiled like any other; its batching rule turns the
mapped axis into lanes. On other platforms than the CPU the function runs as JAX traced it.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex
from jax.interpreters import ad, batching, mlir

from graftsim.kernels.function import Function
from graftsim.kernels.ir.sizes import value
from graftsim.kernels.machine_code import Code

_THREADS: ContextVar[int | None] = ContextVar("graftsim_threads", default=None)


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Split the lanes over n threads inside this block (default: GRAFTSIM_THREADS, or all cores).

    The result does not depend on it.
    """
    token = _THREADS.set(max(int(n), 1))
    try:
        yield
    finally:
        _THREADS.reset(token)


def thread_count() -> int:
    """Threads that a call made now may use."""
    n = _THREADS.get()
    return n or int(os.environ.get("GRAFTSIM_THREADS") or 0) or _cores()


def _cores() -> int:
    # Cores of this process, where the system can tell.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


THREAD_WORK = 100_000


kernel_p = jex.Primitive("graftsim_kernel")
kernel_p.multiple_results = True


def call(function: Function, args: Sequence[Any]) -> list[Any]:
    """Evaluate on kernels."""
    batched = (False,) * len(args)
    return kernel_p.bind(
        *args, function=function, batched=batched, size=None, threads=thread_count(), source=None,
        steps=function.length([x.shape for x in args]),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _jitted(**params: Any) -> Any:
    return jax.jit(lambda *args: kernel_p.bind(*args, **params))


@kernel_p.def_impl
def _impl(*args: Any, **params: Any) -> list[Any]:
    return _jitted(**params)(*args)


@kernel_p.def_abstract_eval
def _abstract(
    *args: Any, function: Function, size: int | None, steps: int | None, **_: Any
) -> list[Any]:
    lead = () if size is None else (size,)
    from jax.core import ShapedArray

    avals = function.out_avals
    return [ShapedArray((*lead, *function.shape(a, steps)), a.dtype) for a in avals]


# -- evaluation -----------------------------------------------------------------------------


def _on_cpu(
    *args: Any, function: Function, batched: tuple[bool, ...], size: int | None, threads: int,
    source: Any, steps: int | None,
) -> list[Any]:  # fmt: skip
    many = size is not None and size > 1
    code = function.code(batched, many, steps)
    tiles = 1 if size is None else -(-size // code.lanes)
    operands = [
        _operand(x, own, used, size, tiles, code.lanes)
        for x, own, used in zip(args, batched, code.used, strict=True)
    ]
    shapes = [function.shape(a, steps) for a in function.out_avals]
    stored = [
        jax.ShapeDtypeStruct((tiles, math.prod(shape), code.lanes), a.dtype)
        for shape, a in zip(shapes, function.out_avals, strict=True)
    ]
    # A thread costs some ten microseconds to start; so many operations take longer than that.
    threads = min(threads, max(1, value(code.work, steps) * tiles // THREAD_WORK))
    table = code.launch_table(tiles, threads, steps)
    outs = _foreign(code, stored)(table, *operands, *code.constants)
    return [_from_tiles(y, size, shape) for y, shape in zip(outs, shapes, strict=True)]


def _foreign(code: Code, shapes: list[Any]) -> Any:
    return jax.ffi.ffi_call(code.name, shapes)


def _operand(x: Any, own: bool, used: bool, size: int | None, tiles: int, lanes: int) -> Any:
    if not used:
        return jnp.zeros((1,), x.dtype)
    return _to_tiles(x, size, tiles, lanes) if own else jnp.reshape(x, -1)


def _to_tiles(x: Any, size: int | None, tiles: int, lanes: int) -> Any:
    """[size, ...] to [tiles, elements, lanes]; the last simulation fills the last tile up."""
    assert size is not None
    n = int(np.prod(x.shape[1:], dtype=np.int64))
    x = jnp.reshape(x, (size, n))
    if tiles * lanes > size:
        x = jnp.concatenate([x, jnp.broadcast_to(x[-1:], (tiles * lanes - size, n))])
    if lanes == 1:
        return x
    return jnp.transpose(jnp.reshape(x, (tiles, lanes, n)), (0, 2, 1))


def _from_tiles(y: Any, size: int | None, shape: tuple[int, ...]) -> Any:
    if size is None:
        return jnp.reshape(y, shape)
    tiles, n, lanes = y.shape
    y = jnp.reshape(jnp.transpose(y, (0, 2, 1)), (tiles * lanes, n))[:size]
    return jnp.reshape(y, (size, *shape))


def _elsewhere(
    *args: Any, function: Function, batched: tuple[bool, ...], size: int | None, **_: Any
) -> list[Any]:
    if size is None:
        return function(*args)
    axes = [0 if own else None for own in batched]
    return jax.vmap(function.__call__, in_axes=axes)(*args)


mlir.register_lowering(kernel_p, mlir.lower_fun(_elsewhere, multiple_results=True))
mlir.register_lowering(kernel_p, mlir.lower_fun(_on_cpu, multiple_results=True), platform="cpu")


# -- derivatives ----------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, function: Function, **params: Any
) -> tuple[list[Any], list[Any]]:
    outs = kernel_p.bind(*primals, function=function, **params)
    where = tuple(k for k, t in enumerate(tangents) if not isinstance(t, ad.Zero))
    real = [k for k, a in enumerate(function.out_avals) if np.issubdtype(a.dtype, np.floating)]
    zeros = [ad.Zero(jax.typeof(y).to_tangent_aval()) for y in outs]
    if not where or not real:
        return outs, zeros
    batched = params["batched"]
    params |= {
        "function": function.tangent(where),
        "batched": (*batched, *(batched[k] for k in where)),
        "source": (function, where, None),
    }
    moved = kernel_p.bind(*primals, *(tangents[k] for k in where), **params)
    for k, y in zip(real, moved, strict=True):
        zeros[k] = y
    return outs, zeros


def _transpose(
    cotangents: Sequence[Any], *args: Any, function: Function, batched: tuple[bool, ...],
    size: int | None, threads: int, source: Any, steps: int | None,
) -> list[Any]:  # fmt: skip
    primal, where, halves = source
    own, n = len(primal.in_avals), len(args) - len(where)
    assert not any(ad.is_undefined_primal(a) for a in args[:n])
    lead = () if size is None else (size,)
    cts = [
        jnp.zeros((*lead, *function.shape(a, steps)), a.dtype) if isinstance(c, ad.Zero) else c
        for c, a in zip(cotangents, function.out_avals, strict=True)
    ]
    # Tangents that are not asked for are not computed.
    asked = tuple(k for k, a in zip(where, args[n:], strict=True) if ad.is_undefined_primal(a))
    if halves is None or asked != where:
        pull, n = primal.cotangent(asked, steps), own
    else:
        pull = halves.pull
    results = kernel_p.bind(
        *args[:n], *cts, function=pull,
        batched=(*batched[:n], *(size is not None for _ in cts)), size=size, threads=threads,
        source=None, steps=steps,
    )  # fmt: skip
    found = dict(zip(asked, results, strict=True))
    out: list[Any] = [None] * (len(args) - len(where))
    for k, lane in zip(where, batched[-len(where) :], strict=True):
        ct = found.get(k)
        if ct is not None and size is not None and not lane:
            # A shared argument gathers from all simulations, in a fixed order.
            ct = jnp.sum(ct, axis=0)
        out.append(ct)
    return out


def _linearize(
    is_vjp: bool, moving: Sequence[bool], *primals: Any, function: Function, **params: Any
) -> tuple[list[Any], list[bool], list[Any], Callable[..., list[Any]]]:
    """Results, which of them move, what to keep, and tangents of the results by it.

    Where reverse mode is to come, the forward pass is the one that keeps what it needs.
    """
    where = tuple(k for k, a in enumerate(function.in_avals) if moving[k] and _real(a))
    count = len(function.out_avals)
    real = [_real(a) and bool(where) for a in function.out_avals]
    halves = function.halves(where, params["steps"]) if is_vjp and any(real) else None
    outs = kernel_p.bind(*primals, function=halves.keep if halves else function, **params)
    kept = [outs[k] for k in halves.kept] if halves else []
    batched, size = params["batched"], params["size"]
    zeros = [ad.Zero(jax.typeof(y).to_tangent_aval()) for y in outs[:count]]

    def tangents(residuals: Sequence[Any], *moved: Any) -> list[Any]:
        if not any(real):
            return list(zeros)
        lanes = (*batched, *(size is not None for _ in kept), *(batched[k] for k in where))
        own = {
            "function": function.tangent(where, halves),
            "batched": lanes,
            "source": (function, where, halves),
        }
        chosen = (ad.instantiate_zeros(moved[k]) for k in where)
        each = iter(kernel_p.bind(*residuals, *chosen, **params | own))
        return [next(each) if own else zero for own, zero in zip(real, zeros, strict=True)]

    return outs[:count], real, [*primals, *kept], tangents


def _structured(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule of linearisation as JAX wants it from 0.11.1 on, with residuals of a second kind."""

    def with_none(*args: Any, **params: Any) -> tuple[Any, ...]:
        outs, real, kept, tangents = rule(*args, **params)
        return outs, real, kept, None, lambda own, _, *moved: tangents(own, *moved)

    return with_none


def _real(aval: Any) -> bool:
    return np.issubdtype(aval.dtype, np.floating)


ad.primitive_jvps[kernel_p] = _jvp
ad.primitive_transposes[kernel_p] = _transpose
# Not among JAX's public names. Without it the way back runs the forward pass once more.
with contextlib.suppress(ImportError, AttributeError):
    from jax._src.interpreters import ad as _inner

    _inner.primitive_linearizations[kernel_p] = (
        _linearize if jax.__version_info__ < (0, 11, 1) else _structured(_linearize)
    )


def _batch(
    args: Sequence[Any], dims: Sequence[Any], *, batched: tuple[bool, ...], size: int | None,
    **params: Any,
) -> tuple[list[Any], list[int]]:  # fmt: skip
    count = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    new, flags = [], []
    for x, d, own in zip(args, dims, batched, strict=True):
        mapped = d is not None
        if mapped:
            x = jnp.moveaxis(x, d, 0)
        if size is not None and (own or mapped):
            if not mapped:
                x = jnp.broadcast_to(x[None], (count, *x.shape))
            elif not own:
                x = jnp.broadcast_to(x[:, None], (count, size, *x.shape[1:]))
            x = jnp.reshape(x, (count * size, *x.shape[2:]))
        new.append(x)
        flags.append(own or mapped)
    total = count if size is None else count * size
    outs = kernel_p.bind(*new, batched=tuple(flags), size=total, **params)
    if size is not None:
        outs = [jnp.reshape(y, (count, size, *y.shape[1:])) for y in outs]
    return outs, [0] * len(outs)


batching.primitive_batchers[kernel_p] = _batch
