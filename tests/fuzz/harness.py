"""Runs the command in this process, as hostile input meets it, and says what must never happen."""

import contextlib
import io
import signal
import time
import traceback
import warnings

import pytest
from hypothesis import HealthCheck, settings

from graftsim.cli import main

# What a command may end with.
CODES = {0, 1, 2, 130}
# A command may take so long (s), and a test.
LIMIT, BUDGET = 60, 60


class TooLong(BaseException):
    """Raised by the clock; of no kind that the command catches."""


def _ring(*_):
    raise TooLong


def run(*args):
    """Exit code and standard error of a command; the test fails on what no user should see."""
    args = [str(a) for a in args]
    out, err = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            code = main(args)
    except SystemExit as stopped:
        code = stopped.code
    except TooLong:
        pytest.fail(f"graftsim {args} takes longer than {LIMIT} s")
    except BaseException:
        pytest.fail(f"graftsim {args}\n{traceback.format_exc()}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    said = err.getvalue()
    assert code in CODES, (args, code, said)
    assert "Traceback" not in said
    if code == 2:
        assert said.strip(), (args, "refused without a word")
    return code, said


class Clock:
    """A test stops looking for more when its time is up; what it has seen counts."""

    def __init__(self):
        self.end = time.monotonic() + BUDGET

    @property
    def up(self):
        return time.monotonic() > self.end


def cases(count):
    """So many examples, the same each time, that need not be small."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
