"""Jaxprs of every JAX that is allowed, read in one way.

Up to 0.10 a closed jaxpr is a jaxpr beside the values of its constants, and a scan counts its
operands; from 0.11 on each jaxpr holds its constants itself, and a scan has trees of its operands
and results. Only this module knows of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax.extend import core as jex


def is_jaxpr(x: Any) -> bool:
    """Is this a jaxpr, closed or not?"""
    return hasattr(x, "eqns")


def opened(x: Any) -> tuple[Any, Sequence[Any]]:
    """A jaxpr, closed or not, as one whose variables can be given, and its constants."""
    return (getattr(x, "jaxpr", x), x.consts) if hasattr(x, "consts") else (x, ())


def inside(eqn: Any) -> Iterator[Any]:
    """Jaxprs that an equation calls; also one that is traced no sooner than it is read."""
    yield from jex.jaxprs_in_params(eqn.params)
    if "linear_map" in eqn.params:
        yield opened(eqn.params["linear_map"])[0]


def part_of(x: Any, constants: Sequence[Any], **parts: Any) -> Any:
    """A closed jaxpr with other `constvars` and their values, `invars`, `outvars` and `eqns`."""
    if getattr(x, "jaxpr", x) is x:
        return x.replace(consts=constants, **parts)
    return jex.ClosedJaxpr(x.jaxpr.replace(**parts), constants)


def parameters(eqn: Any) -> dict[str, Any]:
    """Of an equation; those of a scan as its operands are counted.

    They are `num_consts` that are the same in each turn, `num_carry` that go round, and rows.
    """
    params = eqn.params
    if "ft_in" not in params:
        return params
    fixed, carried, _ = params["ft_in"].unpack()
    rest = {k: x for k, x in params.items() if k not in ("ft_in", "ft_out")}
    return {**rest, "num_consts": len(fixed), "num_carry": len(carried)}
