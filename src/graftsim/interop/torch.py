"""A JAX function as a layer in PyTorch, with its derivatives (`pip install 'graftsim[torch]'`).

Tensors and arrays share their memory by DLPack. What JAX reads later, on the way back, PyTorch is
told of (`save_for_backward`), so that a tensor changed in between is an error and not a wrong
gradient; results are computed when a call returns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from graftsim.errors import InteropError, PrecisionError
from graftsim.precision import default_dtype, resolve_dtype

_WIDE = (torch.float64, torch.int64, torch.complex128)
_NUMPY = (torch.float64, torch.float32, torch.int64, torch.int32, torch.bool)
# Bytes of a tensor that is copied.
SMALL = 16_384
_PROCESS = os.getpid()


class Layer:
    """A function of tensors, made by `layer`."""

    def __init__(self, settings: _Settings) -> None:
        self._settings, self._x64 = settings, _x64()
        self._program = lru_cache(maxsize=64)(lambda *key: _Program(settings.flat(*key)))

    def __getstate__(self) -> tuple[_Settings, bool]:
        return self._settings, self._x64

    def __setstate__(self, state: tuple[_Settings, bool]) -> None:
        self.__init__(state[0])
        self._x64 = state[1]

    def __call__(self, *args: Any) -> Any:
        """Evaluate; arguments and results are trees (tuples, dicts, states) of tensors.

        Other leaves (numbers, arrays) are constants. Raises InteropError: a tensor on another
        device, a process forked from one that has loaded this module; PrecisionError: float64 or
        int64 while JAX computes in 32 bits.
        """
        leaves, tree = jax.tree.flatten(args)
        tensors = tuple(k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor))
        given = [leaves[k] for k in tensors]
        self._check(given)
        constants = [x for x in leaves if not isinstance(x, torch.Tensor)]
        results, form = self._program(tree, tensors)(given, constants)
        return jax.tree.unflatten(form.tree, results)

    def _check(self, given: Sequence[torch.Tensor]) -> None:
        if os.getpid() != _PROCESS:
            raise InteropError(
                "This process was forked from one in which JAX may run threads, which do not come "
                "along: a call could wait for ever. Start workers afresh: "
                "DataLoader(..., multiprocessing_context='spawn')."
            )
        if self._x64 and not _x64():
            raise PrecisionError(
                "The layer was made in a process with 64-bit JAX, and this one has 32 bits. Set "
                "the environment variable JAX_ENABLE_X64=1, which workers inherit."
            )
        for x in given:
            if x.device.type != "cpu":
                raise InteropError(
                    f"The layer computes on the CPU, got a tensor on {x.device}: use x.cpu()."
                )
            if x.dtype in _WIDE and not _x64():
                raise PrecisionError(
                    f"Got a tensor of {x.dtype}, while JAX computes in 32 bits. Call "
                    "jax.config.update('jax_enable_x64', True) before the simulator and the layer "
                    "are made, or give x.to(torch.float32)."
                )


def layer(
    function: Callable[..., Any],
    *,
    batched: bool | Sequence[bool] = False,
    dtype: Any = None,
) -> Layer:
    """A JAX function as a differentiable function of PyTorch tensors.

    function: of arrays, or of trees of them (tuples, dicts, a `State`), with results of the same
    kind; it is jitted once for each set of shapes. On a CPU roll-outs in it run on kernels, and
    `backward` on their pull-backs. batched: whether tensors have a leading axis of simulations,
    which go side by side; a sequence says so for each argument. Results then all have that axis,
    and shared arguments gather their gradients from all. dtype: the float type that the function
    gets; results come back in the widest float type of the tensors given. None: as they come.
    Gradients have the type of their tensors, of first order.

    Zero copies where tensors are contiguous and begin on 64 bytes, as PyTorch allocates them.
    Raises PrecisionError: dtype float64 while JAX computes in 32 bits.
    """
    axes = batched if isinstance(batched, bool) else tuple(bool(b) for b in batched)
    return Layer(_Settings(function, axes, None if dtype is None else resolve_dtype(dtype)))


@dataclass(frozen=True)
class _Settings:
    """What `layer` was asked for."""

    function: Callable[..., Any]
    batched: bool | tuple[bool, ...]
    dtype: Any

    def flat(self, tree: Any, tensors: tuple[int, ...]) -> Flat:
        """The function of flat arguments, `tensors` the places of those that are tensors."""

        def f(given: Sequence[Any], constants: Sequence[Any]) -> tuple[list[Any], _Form]:
            own, rest = iter(given), iter(constants)
            leaves = [
                self._inside(next(own) if k in tensors else next(rest))
                for k in range(tree.num_leaves)
            ]
            args = jax.tree.unflatten(tree, leaves)
            results, out_tree = jax.tree.flatten(self._mapped(args)(*args))
            results = self._outside([jnp.asarray(y) for y in results], given)
            return results, _Form(out_tree, tuple(map(_real, results)))

        return f

    def _inside(self, x: Any) -> Any:
        return jnp.asarray(x, self.dtype) if self.dtype is not None and _real(x) else x

    def _outside(self, results: list[Any], given: Sequence[Any]) -> list[Any]:
        types = [x.dtype for x in given if _real(x)]
        if self.dtype is None or not types:
            return results
        return [y.astype(jnp.result_type(*types)) if _real(y) else y for y in results]

    def _mapped(self, args: Sequence[Any]) -> Callable[..., Any]:
        if self.batched is False:
            return self.function
        own = (True,) * len(args) if self.batched is True else self.batched
        if len(own) != len(args) or not any(own):
            raise InteropError(
                f"batched={self.batched} for {len(args)} arguments: one word for each, and at "
                "least one of them True."
            )
        return jax.vmap(self.function, in_axes=tuple(0 if b else None for b in own))


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Form:
    """How results are nested, and which of the flat ones are floats."""

    tree: Any
    real: tuple[bool, ...]


# Of tensors and of constants: results, floats first, and their form.
Flat = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], _Form]]


class _Program:
    """A flat function, compiled; the pull-backs made of it are programs again."""

    def __init__(self, f: Flat) -> None:
        self.f, self.run = f, jax.jit(f)
        self.pull = lru_cache(maxsize=64)(self._pull)

    def __call__(
        self, given: Sequence[torch.Tensor], constants: Sequence[Any]
    ) -> tuple[list[torch.Tensor], _Form]:
        """Results, with a gradient where one is asked for."""
        if torch.is_grad_enabled() and any(x.requires_grad for x in given):
            form, *results = _Function.apply(self, constants, *given)
            return results, form
        return self.evaluate(given, constants)

    def evaluate(
        self, given: Sequence[torch.Tensor], constants: Sequence[Any]
    ) -> tuple[list[torch.Tensor], _Form]:
        """Results alone, computed."""
        arrays, form = self.run([_array(x) for x in given], constants)
        return _tensors(arrays, given), form

    def _pull(self, needed: tuple[bool, ...]) -> _Program:
        """Of arguments and cotangents of float results: cotangents of the tensors `needed`."""
        n = len(needed)

        def back(given: Sequence[Any], constants: Sequence[Any]) -> tuple[list[Any], _Form]:
            def of(chosen: list[Any]) -> list[Any]:
                left = iter(chosen)
                every = [next(left) if own else x for own, x in zip(needed, given[:n], strict=True)]
                results, form = self.f(every, constants)
                return [y for y, real in zip(results, form.real, strict=True) if real]

            chosen = [x for own, x in zip(needed, given[:n], strict=True) if own]
            (found,) = jax.vjp(of, chosen)[1](list(given[n:]))
            return found, _Form(None, (True,) * len(found))

        return _Program(back)


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, program: _Program, constants: Any, *given: torch.Tensor) -> Any:
        results, form = program.evaluate(given, constants)
        ctx.program, ctx.constants, ctx.real = program, constants, form.real
        ctx.save_for_backward(*given)
        ctx.mark_non_differentiable(
            *(y for y, real in zip(results, form.real, strict=True) if not real)
        )
        return form, *results

    @staticmethod
    def backward(ctx: Any, _: None, *cotangents: torch.Tensor) -> Any:
        needed = ctx.needs_input_grad[2:]
        floats = [c for c, real in zip(cotangents, ctx.real, strict=True) if real]
        found, _form = ctx.program.pull(needed)([*ctx.saved_tensors, *floats], ctx.constants)
        left = iter(found)
        return None, None, *(next(left) if own else None for own in needed)


def _array(x: torch.Tensor) -> Any:
    x = x.detach()
    if x.nbytes <= SMALL and x.dtype in _NUMPY:
        # JAX copies it in a twentieth of the time that it takes to share it.
        return x.numpy()
    return jax.dlpack.from_dlpack(x.contiguous())


def _tensors(arrays: Sequence[jax.Array], others: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Results, each in memory of its own, since PyTorch may write to it."""
    jax.block_until_ready(arrays)
    taken = {x.data_ptr() for x in others}
    found = []
    for y in arrays:
        x = torch.from_dlpack(y)
        if x.data_ptr() in taken:
            x = x.clone()
        taken.add(x.data_ptr())
        found.append(x)
    return found


def _real(x: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jnp.floating)


def _x64() -> bool:
    return default_dtype() == np.float64
