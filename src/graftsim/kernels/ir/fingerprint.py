"""The name of a jaxpr: a digest of all that the rules of primitives may read of it.

Equal digests mean equal programs; equal programs nearly always have equal digests. What has no
content that could be written down (a Python function, say) gives a jaxpr no name.
"""

from __future__ import annotations

import dataclasses
import hashlib
from enum import Enum
from typing import Any

import numpy as np
from jax import Array
from jax.core import AbstractValue
from jax.extend import core as jex

from graftsim.kernels.ir.jaxprs import is_jaxpr, opened, parameters

# Parameters of calls that say how JAX derives, places and prints them, not what they compute.
_APART = {
    "jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "name", "in_shardings", "out_shardings",
    "in_layouts", "out_layouts", "ctx_mesh", "sharding", "out_sharding",
    "compiler_options_kvs", "donated_invars", "pull_back",
}  # fmt: skip
# Primitives whose rules are from outside the package, which no digest follows.
UNNAMED: set[str] = set()
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Nameless(TypeError):
    """Something without content that could be written down."""


def fingerprint(closed: Any) -> str | None:
    """Digest of a closed jaxpr; None if it has no name."""
    try:
        return _Names().closed(closed)
    except Nameless:
        return None


def digest(*parts: str) -> str:
    """Of texts, one after the other."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def of_array(x: Any) -> str:
    """Of an array of numbers: type, shape and bytes."""
    x = np.ascontiguousarray(x)
    return f"{x.dtype}{x.shape}{hashlib.sha256(x.tobytes()).hexdigest()}"


class _Names:
    """Names of jaxprs, those inside others once each."""

    def __init__(self) -> None:
        # The jaxpr is kept, so that its id stays its own.
        self._known: dict[int, tuple[Any, str]] = {}

    def closed(self, closed: Any) -> str:
        """Of a jaxpr with its constants, if it has any."""
        jaxpr, consts = opened(closed)
        return digest(self.jaxpr(jaxpr), *map(self.value, consts))

    def jaxpr(self, jaxpr: Any) -> str:
        """Of a jaxpr, whatever its variables are called."""
        if id(jaxpr) not in self._known:
            self._known[id(jaxpr)] = jaxpr, self._written(jaxpr)
        return self._known[id(jaxpr)][1]

    def _written(self, jaxpr: Any) -> str:
        number: dict[Any, int] = {}

        def bound(v: Any) -> str:
            number[v] = len(number)
            return _aval(v.aval)

        def read(v: Any) -> str:
            if isinstance(v, jex.Literal):
                return f"{self.value(v.val)}:{_aval(v.aval)}"
            return str(number[v])

        parts = [bound(v) for v in (*jaxpr.constvars, *jaxpr.invars)]
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in UNNAMED:
                raise Nameless(eqn.primitive.name)
            told = [f"{k}={self.value(x)}" for k, x in sorted(parameters(eqn).items())
                    if k not in _APART]  # fmt: skip
            parts += [eqn.primitive.name, *told, *map(read, eqn.invars), *map(bound, eqn.outvars)]
            parts.append(";")
        return digest(*parts, *map(read, jaxpr.outvars))

    def value(self, x: Any) -> str:
        """Of a constant or a parameter. Raises Nameless."""
        if isinstance(x, _PLAIN):
            return repr(x)
        if isinstance(x, Enum):
            return f"{type(x).__name__}.{x.name}"
        if isinstance(x, tuple | list):
            return f"{type(x).__name__}({','.join(map(self.value, x))})"
        if isinstance(x, np.ndarray | np.generic | Array):
            return of_array(x)
        if isinstance(x, np.dtype):
            return str(x)
        if isinstance(x, AbstractValue):
            return _aval(x)
        if is_jaxpr(x):
            return self.closed(x)
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            own = (getattr(x, f.name) for f in dataclasses.fields(x))
            return f"{type(x).__name__}({','.join(map(self.value, own))})"
        return _other(x)


def _aval(aval: Any) -> str:
    return f"{aval.dtype}{aval.shape}{getattr(aval, 'weak_type', '')}"


def _other(x: Any) -> str:
    # A length that is given in the call writes itself as a formula.
    from jax import export

    if export.is_symbolic_dim(x):
        return str(x)
    raise Nameless(type(x).__name__)
