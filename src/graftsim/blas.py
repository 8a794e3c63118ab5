"""BLAS on one thread: products of a fit are small, and threads that wait for more of them spin.

A fit's largest product, J^T J of some 100,000 x 40, takes 10 ms on one thread. On two it is no
quicker, and OpenBLAS's idle threads then spin on cores that the roll-outs need: on a busy machine
that multiplied the processor time of whole fits by three.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def one_blas_thread(function: Callable[P, R]) -> Callable[P, R]:
    """The function with BLAS held to one thread while it runs, as it was before afterwards."""

    @wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> R:
        # SciPy brings a BLAS of its own: only what is loaded can be held.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return function(*args, **kwargs)

    return held
