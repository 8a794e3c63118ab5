"""BLAS keeps to one thread within fits, and is as before afterwards."""

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (brings a BLAS of its own)
from threadpoolctl import threadpool_info, threadpool_limits

from graftsim.blas import one_blas_thread
from graftsim.identify.discover.discover import discover
from graftsim.identify.evidence.landscape import landscape
from graftsim.identify.fit.fit import fit
from graftsim.identify.posterior.nuts import nuts


def threads():
    """Of each BLAS that is loaded."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_inside_and_as_many_as_before_afterwards():
    """Also after an error."""
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        assert before and set(one_blas_thread(threads)()) == {1}
        assert threads() == before
        with pytest.raises(np.linalg.LinAlgError):
            one_blas_thread(np.linalg.inv)(np.zeros((2, 2)))
        assert threads() == before


@pytest.mark.parametrize("function", [fit, discover, landscape, nuts])
def test_what_takes_minutes_runs_on_one_thread(function):
    """Fits, screenings, landscapes and draws: seen where they first look at their problem."""
    seen = []

    class Problem:
        def __getattr__(self, name):
            seen.append(threads())
            raise InterruptedError

    more = {landscape: ("x", "y"), discover: (Problem(), ())}.get(function, ())
    with threadpool_limits(2, user_api="blas"), pytest.raises(InterruptedError):
        function(Problem(), *more)
    assert set(seen[0]) == {1}
