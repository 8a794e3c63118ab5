"""What a number that is off does to the parameters beyond first order: a refit.

The shift that linear algebra gives is no fact where it is large. Newton's method with the curvature
of the optimum (the chord method) finds the parameters that fit as well as before with the number
off: an iteration costs residuals alone. Where it does not settle, nothing better is known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from graftsim.identify.results.information import positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.optim.arrowhead import inverse, reduced

ITERATIONS = 10
# Done when a step is below this share of the way so far; lost when steps do not shrink.
SETTLED, SHRINKS = 0.03, 0.8

# (theta [p], local [w, s]) -> residuals [w, m], of the parameters that are free.
Residual = Callable[[np.ndarray, np.ndarray], np.ndarray]


def refit(
    at: Linearisation, residual: Residual, shift: Float[np.ndarray, " p"]
) -> Float[np.ndarray, " p"] | None:
    """How far the parameters [p] move with the residuals of a model that differs; None: unknown.

    at: the optimum of the model as it is. shift: what first order says, where the search begins.
    """
    n, bounds = at.normal(), at.bounds
    C_inv = inverse(n.C) if n.C.shape[-1] else n.C
    BC = n.B @ C_inv
    S_inv = positive_inverse(reduced(n)[0])
    std = np.sqrt(np.maximum(np.diag(S_inv), 1e-300))
    w_prior, w_local = bounds.prior_std**-2, bounds.local_std**-2

    def gradient(theta: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """That of the model that differs, less that of the optimum: of theta, and of local."""
        r = residual(theta, local) - at.r
        g = np.einsum("wmp,wm->p", at.J_t, r) + w_prior * (theta - at.theta)
        return g, np.einsum("wms,wm->ws", at.J_l, r) + w_local * (local - at.local)

    theta, last = np.clip(at.theta + shift, bounds.lower, bounds.upper), np.inf
    local = at.local - np.einsum("wps,p->ws", BC, theta - at.theta)
    for _ in range(ITERATIONS):
        g, g_l = gradient(theta, local)
        step = -S_inv @ (g - np.einsum("wps,ws->p", BC, g_l))
        step = np.clip(theta + step, bounds.lower, bounds.upper) - theta
        size = float(np.max(np.abs(step) / std))
        if not size <= SHRINKS * last:
            return None
        local = local - np.einsum("wst,wt->ws", C_inv, g_l) - np.einsum("wps,p->ws", BC, step)
        theta, last = theta + step, size
        if size <= SETTLED * max(float(np.max(np.abs(theta - at.theta) / std)), 1.0):
            return theta - at.theta
    return None
