"""How noisy a sensor is, estimated from its own samples: the scale that whitens residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftsim.recordings.recording import Recording
from graftsim.sensors.sensor import Sensor

# A quantised or very clean signal still deserves a scale: this share of its spread.
FLOOR = 1e-3
BLOCK = 100


def estimate_noise(spec: Sensor, recordings: Sequence[Recording]) -> np.ndarray:
    """Standard deviation of each residual component [r], in the sensor's unit.

    Third differences remove smooth motion; their median size, over sqrt(20) times the Gaussian
    ratio, is the white part. The floor is a thousandth of the signal's spread over short blocks.
    """
    rough, spread = [], []
    for recording in recordings:
        if spec.channel not in recording:
            continue
        values = recording[spec.channel].values
        if len(values) > 8:
            third = np.abs(np.diff(values, n=3, axis=0))
            rough.append(np.median(third, axis=0) / (np.sqrt(20.0) * 0.6745))
        spread.append(_spread(values))
    noise = np.median(rough, axis=0) if rough else np.zeros(spec.width)
    noise = np.maximum(noise, FLOOR * np.median(spread, axis=0))
    noise = spec.residual_noise(noise)
    return np.where(noise > 0, noise, 1.0)


def _spread(values: np.ndarray) -> np.ndarray:
    """Median standard deviation over blocks: a joint that keeps turning has no bound on its own."""
    blocks = np.array_split(values, max(len(values) // BLOCK, 1))
    return np.median([b.std(axis=0) for b in blocks], axis=0)
