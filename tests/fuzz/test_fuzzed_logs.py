"""Logs made wrong: fitted or refused with a message."""

import pytest
from harness import cases, run
from hypothesis import given, strategies as st
from mutations import flipped, table

pytestmark = pytest.mark.slow
FIT = (
    "fit", "arm.urdf", "--free", "joint.damping[*]", "--horizon", "0.25", "--growth", "1.0",
    "--iterations", "1", "--out", "out",
)  # fmt: skip


def test_changed_tables(place, clock):
    """Cells, columns, titles, rows."""
    right = (place / "log.csv").read_text()

    @cases(60)
    @given(text=table(right), missing=st.sampled_from(["error", "gap"]))
    def read(text, missing):
        if not clock.up:
            (place / "log.csv").write_text(text)
            run(*FIT, "log.csv", "--missing", missing)

    read()


@pytest.mark.parametrize("name", ["log.csv", "log.npz"])
def test_changed_bytes(place, clock, name):
    """Flipped, lost, added."""
    right = (place / name).read_bytes()

    @cases(60)
    @given(content=flipped(right))
    def read(content):
        if not clock.up:
            (place / name).write_bytes(content)
            run(*FIT, name)

    read()


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".npz", ".parquet", ".npy", ""])
def test_any_bytes(place, clock, suffix):
    """A log of anything under any name."""

    @cases(30)
    @given(content=st.binary(max_size=300))
    def read(content):
        if not clock.up:
            (place / f"any{suffix}").write_bytes(content)
            assert run(*FIT, f"any{suffix}")[0] == 2

    read()
