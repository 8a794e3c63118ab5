"""Logs made wrong: fitted or refused with a message."""

import json

import pytest
from harness import cases, run
from hypothesis import given, strategies as st
from mutations import flipped, table

from log_samples import FILES, write_lerobot

pytestmark = pytest.mark.slow
KEYS = ("fps", "features", "codebase_version", "total_episodes")
NAMES = ({"names": 3}, {"names": ["a", "a"]}, {"names": [["a"], {"b": ["c"]}]}, None)
JSON = ({}, [], "x", -1, 1e400, "10", True, *({"action": names} for names in NAMES))
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


@pytest.mark.parametrize("suffix", [*FILES, "parquet"])
def test_changed_bytes_of_each_format(tmp_path, monkeypatch, clock, suffix):
    """Flipped, lost, added: a run file, or a message that names the log."""
    monkeypatch.chdir(tmp_path)
    name = f"log.{suffix}"
    if suffix == "parquet":
        folder = write_lerobot(tmp_path / "set", episodes=1)
        path = folder / "data" / "chunk-000" / "file-000.parquet"
    else:
        path = FILES[suffix](tmp_path / name)
    right = path.read_bytes()

    @cases(150)
    @given(content=flipped(right))
    def read(content):
        if not clock.up:
            path.write_bytes(content)
            code, said = run("import", path, "--force")
            assert code != 2 or path.name in said

    read()


def test_changed_info_of_a_data_set(tmp_path, monkeypatch, clock):
    """Letters gone, values of other types."""
    monkeypatch.chdir(tmp_path)
    info = write_lerobot(tmp_path / "set") / "meta" / "info.json"
    right = info.read_bytes()

    @cases(100)
    @given(content=flipped(right), odd=st.sampled_from([*JSON, None]), at=st.sampled_from(KEYS))
    def read(content, odd, at):
        if not clock.up:
            if odd is not None:
                facts = json.loads(right)
                facts[at] = odd
                content = json.dumps(facts).encode()
            info.write_bytes(content)
            run("import", "set", "--force")

    read()


def test_odd_options_of_import(place, clock):
    """Runs, robots and outputs that are none."""
    odd = ["", "#", "log.csv#", "log.csv#0", "arm.urdf", "*", "**", "/", "nowhere/x", "\0", "-"]

    @cases(60)
    @given(
        log=st.sampled_from(["log.csv", "log.npz", *odd]),
        robot=st.sampled_from(["arm.urdf", "arm.xml", *odd]),
        out=st.sampled_from(["run2.toml", *odd[4:]]),
    )
    def read(log, robot, out):
        if not clock.up:
            run("import", f"--robot={robot}", f"--out={out}", "--", log)

    read()


PIECES = [
    "joint.q[{n}]", "joint.q[joint{n}]", "{", "}", "{n}", "q_{n}", "control[{a}{b}]", "{a}{b}",
    "time", "0.01", "nan", "=", "[", "pos", "signal[{n}_{n}]", "{n}_{n}",
]  # fmt: skip


def test_odd_mappings(place, clock):
    """Patterns with blanks in odd places."""
    text = (place / "log.csv").read_text()
    (place / "log.csv").write_text(text.replace("joint.q[", "q_").replace("]", ""))

    @cases(80)
    @given(left=st.sampled_from(PIECES), right=st.sampled_from(PIECES), more=st.booleans())
    def read(left, right, more):
        if not clock.up:
            run(*FIT, "log.csv", "--columns", f"{left}={right}", *(["time=time"] if more else []))

    read()
