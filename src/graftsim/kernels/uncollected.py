"""No search for garbage while a kernel is made: its objects are many and all needed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's search for cycles rests inside; what counts references does not.

    It goes through all objects again and again as their number grows, which is a tenth and more of
    the time that a kernel takes.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
