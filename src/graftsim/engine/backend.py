"""Roll-outs on compiled kernels: which function is compiled, and what is known of its numbers.

The kernel is a function of every number of the simulator, so that all can be differentiated and
batched. But most numbers of a mechanism are zeros and ones that never change, and code that knows
them is many times smaller: where a leaf is a concrete array, its entries 0, 1 and -1 are built in,
and quaternions of right angles, and the kernel is shared by all simulators with the same pattern. A
leaf that is traced (under grad, vmap, or an argument of a jitted function) is an input as a whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.kernels import CompiledFunction, compile, length
from graftsim.model.checks import RIGHT_ANGLES

# What a roll-out computes, of simulator, state, controls and more.
Stepper = Callable[..., Any]

_KERNELS: OrderedDict[Any, CompiledFunction] = OrderedDict()
# By the identity of leaves: those leaves, what is known of them, and its key.
_PATTERNS: OrderedDict[tuple[int, ...], tuple[list[Any], list[Any], Any]] = OrderedDict()
_KEEP = 128


def steps_on_kernels(
    stepper: Stepper,
    simulator: Any,
    state: Any,
    controls: Float[Array, "t nu"],
    how: tuple[Any, ...],
    *,
    any_length: bool,
) -> Any:
    """`stepper(simulator, state, controls, *how)` on a kernel, compiled on first use.

    any_length: one kernel serves all numbers of steps, else each has its own.
    Raises KernelError for something that kernels do not know.
    """
    leaves, tree = jax.tree.flatten(simulator)
    # Weights of grafts change all the time: nothing of them is built in. They are the last leaves.
    own = len(leaves) - len(jax.tree.leaves(simulator.grafts))
    known, own_key = _patterns(leaves[:own])
    known = [*known, *(None for _ in leaves[own:])]
    # One step needs no loop.
    lone = controls.shape[0] < 2 or not any_length
    key = (
        stepper, tree, how, own_key,
        _shapes((*leaves[own:], *jax.tree.leaves(state))), controls.shape[1:], controls.dtype,
        controls.shape[0] if lone else None,
    )  # fmt: skip
    kernel = _KERNELS.get(key)
    if kernel is None:

        def run(leaves: list[Array], state: Any, controls: Array) -> Any:
            return stepper(jax.tree.unflatten(tree, leaves), state, controls, *how)

        steps = controls.shape[0] if lone else length()
        example = jax.ShapeDtypeStruct((steps, *controls.shape[1:]), controls.dtype)
        patterns = [*known, *(None for _ in jax.tree.leaves((state, controls)))]
        kernel = compile(run, leaves, state, example, known=patterns)
        _keep(_KERNELS, key, kernel)
    return kernel(leaves, state, controls)


def _patterns(leaves: list[Any]) -> tuple[list[np.ndarray | None], Any]:
    """Per leaf: numbers to build in, NaN elsewhere; None if it is traced.

    And a key that leaves of the same shapes and patterns share.
    """
    ids = tuple(map(id, leaves))
    found = _PATTERNS.get(ids)
    # The leaves are kept with the entry, so that an id cannot be another array's by now.
    if found is None:
        known = [_pattern(x) for x in leaves]
        key = _shapes(leaves), tuple(None if k is None else k.tobytes() for k in known)
        found = _keep(_PATTERNS, ids, (leaves, known, key))
    return found[1:]


def _shapes(leaves: Sequence[Any]) -> tuple[Any, ...]:
    # A law of the user's own may have Python numbers among its leaves.
    return tuple((np.shape(x), getattr(x, "dtype", type(x))) for x in leaves)


def _pattern(x: Any) -> np.ndarray | None:
    """Numbers to build in."""
    if isinstance(x, Tracer) or not jnp.issubdtype(jnp.result_type(x), jnp.floating):
        return None
    values = np.asarray(x, float)
    pattern = np.where(np.isin(values, (0.0, 1.0, -1.0)), values, np.nan)
    if values.ndim == 2 and values.shape[1] == 4:
        right = np.isin(np.abs(values), RIGHT_ANGLES.astype(x.dtype)).all(1)
        pattern[right] = values[right]
    return pattern if np.isfinite(pattern).any() else None


def _keep(store: OrderedDict[Any, Any], key: Any, value: Any) -> Any:
    store[key] = value
    if len(store) > _KEEP:
        store.popitem(last=False)
    return value
