"""Derivatives by many numbers that a fit withheld, from residuals alone.

A derivative's kernel is the largest there is, and would be compiled for one call. Differences by a
small share of each number's plausible size need the residuals' kernel, which refits need as well,
and all of them go side by side. Numbers that touch different sensors share a difference, as they do
a tangent (`runs.shared_tangents`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.shared_tangents import Touch


def differences(
    program: ResidualProgram,
    theta: np.ndarray,
    local: np.ndarray,
    names: Sequence[str],
    sizes: Float[np.ndarray, " k"],
    touches: Bool[np.ndarray, "s k"] | None,
) -> Float[np.ndarray, "w m k"]:
    """Derivatives of the residuals by numbers of these plausible sizes.

    touches: which sensors each should touch, if that is known. One difference more checks it.
    """
    k, eps = len(names), float(np.finfo(program.dtype).eps)
    share = eps ** (1 / 3)

    def along(seeds: np.ndarray) -> np.ndarray:
        """Derivatives [w, m, n] along seeds [n, k] of numbers in units of their sizes."""
        off = np.concatenate([np.zeros((1, k)), share * seeds * sizes])
        found = program.displaced(theta, local, names, off)
        return np.moveaxis((found[1:] - found[0]) / share, 0, -1)

    J = None
    if touches is not None:
        # Second order and rounding are far below this, what a column touches unforeseen is not.
        touch = Touch(len(touches), k, agrees=share**0.5)
        every = np.arange(k)
        touch.suppose(every, touches, np.ones(k))
        shared = touch.shared(every)
        if shared is not None:
            J = touch.whole(every, shared, along(shared.seeds), program.widths)
    J = along(np.eye(k)) if J is None else J
    # What rounding leaves of a number without effect, far below any noise.
    largest = np.maximum(J.max((0, 1), initial=0.0), -J.min((0, 1), initial=0.0))
    return J * np.where(largest < share, 0.0, 1 / sizes)
