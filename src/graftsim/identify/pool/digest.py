"""Fingerprint of a problem: are two of them the same, numbers and data?"""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import numpy as np

from graftsim.identify.problem.problem import Problem


def digest(problem: Problem) -> str:
    """Of the starting model, the bounds and priors, the loss and the samples, in hexadecimal."""
    p, found = problem.parameters, hashlib.sha256()
    found.update(repr(problem.criterion).encode())
    numbers: list[Any] = jax.tree.leaves(problem.setup)
    numbers += [p.start, p.lower, p.upper, p.prior_mean, p.prior_std]
    for recording in problem.train:
        for channel in recording.channels.values():
            found.update(channel.name.encode())
            numbers += [channel.time, channel.values]
    for array in numbers:
        found.update(np.ascontiguousarray(np.asarray(array)).tobytes())
    return found.hexdigest()
