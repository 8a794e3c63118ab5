"""Mechanisms with loops."""

import pytest

import closed_mechanisms as closed


@pytest.fixture(scope="session")
def mechanism(tmp_path_factory):
    """(name) -> model, read once."""
    models = {}

    def of(name):
        if name not in models:
            text = closed.GRIPPER if name == "gripper" else closed.MJCF[name]
            models[name] = closed.load(text, tmp_path_factory.mktemp("robots"), name)
        return models[name]

    return of
