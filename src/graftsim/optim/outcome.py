"""How a minimisation ended, and what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Advised(StrEnum):
    """A text and what to do about it: members are (text, `advice`), equal to the text."""

    advice: str

    def __new__(cls, text: str, advice: str) -> Self:
        member = str.__new__(cls, text)
        member._value_ = text
        member.advice = advice
        return member


class Outcome(Advised):
    """How a minimisation ended: equal to its name as text, with `advice` for whoever reads it."""

    CONVERGED = "converged", ""
    ITERATION_LIMIT = (
        "iteration limit",
        "The solver reached its limit of iterations before it converged: allow more.",
    )
    STALLED = (
        "stalled",
        "No step lowers the cost, and yet its gradient is not zero: these numbers are not a "
        "minimum. Shorten the windows, or start elsewhere.",
    )
    NON_FINITE = (
        "non-finite",
        "The simulation left the finite numbers: these numbers are not a minimum. Shorten the "
        "step or the windows, or start elsewhere.",
    )
    DOMINATED = (
        "dominated",
        "Another start came much lower, and this one was not catching up: it was given up.",
    )
