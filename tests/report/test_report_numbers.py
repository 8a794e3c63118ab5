"""Numbers are printed with the digits that they deserve."""

import math

import pytest

from graftsim.report.numbers import decimal, duration, percent, places_for, rounded, times, unit


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (1.03123, 0.021, "1.031"),
        (0.05031, 0.0011, "0.0503"),
        (1234.5, 120.0, "1230"),
        (-0.2481, 0.0047, "−0.2481"),
        (2.1e-6, 1.4e-5, "2.1×10⁻⁶"),
        (3.14159, math.nan, "3.142"),
        (3.14159, 0.0, "3.142"),
        (0.0, 0.01, "0.000"),
        (math.nan, 0.1, "–"),
        (9.9996e8, 1e6, "1.0000×10⁹"),
    ],
)
def test_value_has_two_digits_of_its_uncertainty(value, std, text):
    """The last digit printed is the second of the standard deviation."""
    assert decimal(value, places_for(std, value)) == text


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (rounded(0.016123), "0.0161"),
        (rounded(-1e-7, 2), "−1.0×10⁻⁷"),
        (rounded(0.0), "0"),
        (rounded(math.inf), "∞"),
        (rounded(244.0, 4), "244.0"),
        (percent(0.0432), "4.3\N{NARROW NO-BREAK SPACE}%"),
        (percent(50.0), "> 1000\N{NARROW NO-BREAK SPACE}%"),
        (percent(math.nan), "–"),
        (times(8.46), "8.5"),
        (times(1234.0), "1230"),
        (duration(0.123), "0.12 s"),
        (duration(62.0), "1 min 2 s"),
        (duration(7261.0), "2 h 1 min"),
        (unit("kg m^2"), "kg m²"),
        (unit("1"), ""),
    ],
)
def test_other_forms(made, text):
    """Significant digits, percentages, ratios, durations and units."""
    assert made == text
