"""Compiled programs of a control problem: a simulator as one vector of numbers, and kernels of it.

Trajectory optimisation calls its programs hundreds of times a second: a simulator's many leaves are
packed into one operand, and what is built into the code (zeros and ones, as for roll-outs) is part
of the form, which simulators with other masses share.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, KernelError
from graftsim.kernels import compile

_FORMS: OrderedDict[Any, Form] = OrderedDict()
_PACKED: OrderedDict[Any, tuple[list[Any], Packed]] = OrderedDict()
_PROGRAMS: OrderedDict[Any, Callable[..., Any]] = OrderedDict()
_KEEP = 128


@dataclass(frozen=True, eq=False)
class Form:
    """What simulators share that run on the same code: structure, shapes, numbers built in.

    One object for each: it is compared as such, since hashing a robot's structure takes longer than
    a short solve.
    """

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    # Of all numbers in a row: 0, 1 and -1 where a number is that, NaN elsewhere.
    built_in: bytes

    def unpack(self, numbers: Float[Array, " p"]) -> Simulator:
        """The simulator with these numbers."""
        sizes = [int(np.prod(s)) for s in self.shapes]
        ends = np.cumsum(sizes).tolist()
        leaves = [
            numbers[end - size : end].reshape(shape)
            for end, size, shape in zip(ends, sizes, self.shapes, strict=True)
        ]
        return jax.tree.unflatten(self.tree, leaves)


class Packed(NamedTuple):
    """A simulator in two parts: what code is made for, and numbers that it is given."""

    form: Form
    numbers: Float[Array, " p"]

    @classmethod
    def of(cls, simulator: Simulator) -> Packed:
        """Of a simulator with concrete numbers."""
        leaves, tree = jax.tree.flatten(simulator)
        ids = tree, tuple(map(id, leaves))
        found = _PACKED.get(ids)
        if found is None:
            own = len(leaves) - len(jax.tree.leaves(simulator.grafts))
            # The leaves are kept with the entry, so that an id cannot be another array's by now.
            found = _keep(_PACKED, ids, (leaves, cls(*_pack(leaves, tree, own))))
        return found[1]


def _pack(leaves: list[Any], tree: Any, own: int) -> tuple[Form, Array]:
    flat = [np.asarray(x, np.float64).ravel() for x in leaves]
    # Weights of grafts change all the time: nothing of them is built in. They come last.
    pattern = [np.where(np.isin(x, (0.0, 1.0, -1.0)), x, np.nan) for x in flat[:own]]
    pattern += [np.full(x.shape, np.nan) for x in flat[own:]]
    key = tree, tuple(np.shape(x) for x in leaves), np.concatenate(pattern).tobytes()
    form = _FORMS.get(key)
    if form is None:
        form = _keep(_FORMS, key, Form(*key))
    return form, jnp.asarray(np.concatenate(flat), jnp.result_type(leaves[0]))


def program(f: Callable[..., Any], *examples: Any, form: Form | None = None) -> Callable[..., Any]:
    """f as a kernel of arguments like the examples, made once for their shapes.

    f is hashable: a function of a module, or a frozen object with __call__. form: of the simulator
    whose numbers are the first argument. What kernels do not know runs on XLA, with a warning.
    """
    leaves, tree = jax.tree.flatten(examples)
    shapes = tuple((np.shape(x), np.dtype(jnp.result_type(x)).name) for x in leaves)
    key = (f, form, tree, shapes)
    found = _PROGRAMS.get(key)
    if found is None:
        known = [None if form is None else np.frombuffer(form.built_in)]
        known += [None for _ in leaves[1:]]
        try:
            found = compile(f, *examples, known=known)
        except KernelError as error:
            warnings.warn(f"Control runs on XLA: {error}", GraftsimWarning, stacklevel=4)
            found = f
        _keep(_PROGRAMS, key, found)
    return found


def _keep(store: OrderedDict[Any, Any], key: Any, value: Any) -> Any:
    store[key] = value
    if len(store) > _KEEP:
        store.popitem(last=False)
    return value
