"""The table of named strategies and the classes it points to agree."""

import pytest

from graftsim.strategies import CONTACT_LAWS, INTEGRATORS, LOSSES, find


@pytest.mark.parametrize(
    "table", [CONTACT_LAWS, INTEGRATORS, LOSSES], ids=["laws", "integrators", "losses"]
)
def test_classes_have_the_names_of_the_table(table):
    """So that a message, a file and a flag call a strategy by the same name."""
    for name, place in table.items():
        kind = find(place)
        assert kind.name == name
        assert type(kind()).name == name
