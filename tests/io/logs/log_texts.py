"""Logs as texts, and the message of one that is refused."""

import numpy as np
import pytest

from graftsim.errors import LogError
from graftsim.io.logs.read import read_recording

ANGLE = {"joint.q[a]": "pos"}


def write(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(n=300, dt=0.01, **columns):
    """A CSV text: time, then columns given as functions of time."""
    time = np.arange(n) * dt
    names = ["time", *columns]
    data = np.stack([time, *(f(time) for f in columns.values())], axis=1)
    rows = [",".join(map(repr, row)) for row in data.tolist()]
    return "\n".join([",".join(names), *rows]) + "\n"


def refused(path, columns=ANGLE, **options):
    with pytest.raises(LogError) as caught:
        read_recording(path, columns, **options)
    return str(caught.value)
