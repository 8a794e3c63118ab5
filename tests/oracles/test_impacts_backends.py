"""Slopes through impacts by both backends, in both modes, and in float32: all rows of the table."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from impacts_table import A1

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import impact_scenes
from impact_rows import CHECKS, SINGLE

pytestmark = pytest.mark.slow
ROWS = [r for r in CHECKS if r != "I9 leg" or A1.is_file()]


# XLA takes minutes to compile the steps of the polyhedral law.
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("law", ["ncp", "lcp"])
@pytest.mark.parametrize("row", ROWS)
def test_kernels_agree_with_xla(row, law):
    """To 1e-6 of the largest slope, by each impulse law that the row has."""
    check = CHECKS[row]
    rules = impact_scenes.laws(check)
    if law not in rules:
        pytest.skip(f"{row} is not one of this law")
    kernel, xla = (
        impact_scenes.slopes(check.scene, rules[law], check.steps[0], backend=backend)
        for backend in ("kernel", "xla")
    )
    np.testing.assert_allclose(kernel, xla, rtol=0, atol=1e-6 * np.abs(xla).max())


@pytest.mark.parametrize("row", ROWS)
def test_both_modes_agree(row):
    """Reverse and forward, to 1e-6 of the largest slope."""
    check = CHECKS[row]
    law = impact_scenes.laws(check)["ncp"]
    forward, reverse = (
        impact_scenes.slopes(check.scene, law, check.steps[0], mode=mode)
        for mode in (jax.jacfwd, jax.jacrev)
    )
    np.testing.assert_allclose(reverse, forward, rtol=0, atol=1e-6 * np.abs(forward).max())


@pytest.mark.parametrize("row", ROWS)
def test_single_precision(row):
    """Slopes in float32, in a process of its own, are right within 2 %."""
    values = impact_scenes.in_single(tuple(ROWS))[row]
    assert not isinstance(values, str), values
    assert CHECKS[row].errors(values)[0] < SINGLE
