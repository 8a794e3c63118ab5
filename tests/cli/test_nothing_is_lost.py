"""What a fit is asked for is checked before it; what fails after it is a warning in its report."""

import errno
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from graftsim.cli import fit as command, reports
from graftsim.identify.evidence import certainty
from graftsim.io import write
from graftsim.viewer import libraries

SHORT = ("--horizon", "0.25", "--growth", "1.0", "--iterations", "3")


@pytest.fixture
def no_fit(monkeypatch):
    """A fit that begins fails the test."""
    monkeypatch.setattr(command, "fit", lambda *_, **__: pytest.fail("the fit has begun"))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--landscape", "link.com[upper].x", "joint.damping[elbow]"], "needs bounds for link.com"),
        (["--landscape", "joint.damping[knee]", "joint.damping[elbow]"], "joint.damping[knee]"),
        (["--landscape", "joint.damping[elbow]"], "takes two parameters, got 1"),
        (["--profile", "joint.damping[knee]"], "profile of 'joint.damping[knee]'"),
        (["--bootstrap", "1"], "at least two"),
        (["--bootstrap", "50", "--bootstrap-by", "recording"], "at least two recordings"),
        (["--starts", "8", "--search", "auto"], "--starts goes with a search that is named"),
        (["--workers", "2", "--cluster", "tcp://here:1"], "give one"),
    ],
)
def test_evidence_that_cannot_be_given_is_refused_before_the_fit(
    cli, place, tmp_path, no_fit, flags, said
):
    """Code 2 and one message; no folder is left behind."""
    free = ["--free", "joint.damping[*]", "link.com[upper].x"]
    out = tmp_path / "deep" / "out"
    code, _, err = cli("fit", place / "robot.urdf", place / "a.csv", *free, *flags, "--out", out)
    assert code == 2
    assert said in err
    assert not (tmp_path / "deep").exists()


def test_a_search_of_what_has_no_range_is_refused_before_the_fit(cli, place, tmp_path, no_fit):
    """A number that starts at zero without bounds gives no box to draw from."""
    flags = [
        "--free",
        "link.com[upper].x",
        "--search",
        "random_restarts",
        "--out",
        tmp_path / "out",
    ]
    code, _, err = cli("fit", place / "robot.urdf", place / "a.csv", *flags)
    assert code == 2
    assert "needs bounds for link.com[upper].x" in err


@pytest.mark.parametrize("asked", ["fit", "discover"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read(cli, tmp_path, asked):
    """Neither robot nor log is looked at."""
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "out", "/proc/out"):
        code, _, err = cli(asked, "nowhere.urdf", "nowhere.csv", "--out", out)
        assert code == 2
        assert f"{out}: no folder that can be written into" in err


@pytest.mark.parametrize("out", ["nowhere/m.csv", ""])
def test_a_log_that_cannot_be_written_is_refused_before_the_simulation(cli, tmp_path, out):
    """Of simulate and excite."""
    for asked in ("simulate", "excite"):
        code, _, err = cli(asked, "nowhere.urdf", "--out", tmp_path / out)
        assert code == 2
        assert "folder" in err and "nowhere.urdf" not in err


def test_a_library_that_the_report_needs_is_missed_before_the_fit(cli, monkeypatch, tmp_path):
    """Not after it."""
    there = importlib.util.find_spec
    monkeypatch.setattr(
        libraries.importlib.util,
        "find_spec",
        lambda name, *more: None if name == "matplotlib" else there(name, *more),
    )
    code, _, err = cli("fit", "nowhere.urdf", "nowhere.csv", "--out", tmp_path / "out")
    assert code == 2
    assert "needs matplotlib" in err and "pip install" in err


def test_evidence_that_fails_after_the_fit_is_a_warning_in_the_report(
    cli, place, tmp_path, monkeypatch
):
    """A singular matrix in a profile, no memory for a landscape, a robot file that goes wrong."""

    def fails(error):
        def fail(*_, **__):
            raise error

        return fail

    monkeypatch.setattr(certainty, "profile", fails(np.linalg.LinAlgError("Singular matrix")))
    monkeypatch.setattr(certainty, "bootstrap", fails(ValueError("no replica")))
    monkeypatch.setattr(command, "landscape", fails(MemoryError("too many cells")))
    monkeypatch.setattr(write, "write_mjcf", fails(RuntimeError("a bug")))
    out = tmp_path / "out"
    code, said, err = cli(
        "fit", place / "robot.urdf", place / "a.csv", "--free", "joint.damping[*]=0:1", *SHORT,
        "--profile", "joint.damping[elbow]", "--bootstrap", "10", "--landscape",
        "joint.damping[elbow]", "joint.damping[shoulder]", "--out", out, "--json",
    )  # fmt: skip
    assert code in (0, 1), err
    page = (out / "report.html").read_text()
    facts = json.loads((out / "fit.json").read_text())
    assert facts == json.loads(said)
    for sentence in (
        "The profile of joint.damping[elbow] failed: Singular matrix",
        "The bootstrap failed, intervals are from the covariance: no replica",
        "The landscape over joint.damping[elbow] and joint.damping[shoulder] failed",
    ):
        assert any(sentence in w for w in facts["warnings"])
        assert sentence in page
    assert "The robot file could not be written: RuntimeError: a bug" in page
    assert all(np.isfinite(r["std"]) for r in facts["parameters"])


def test_a_report_that_cannot_be_written_leaves_the_numbers(cli, place, tmp_path, monkeypatch):
    """A full disk: they are printed, and kept where there is room."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reports, "write_report", full)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code, said, err = cli(
        "fit", place / "robot.urdf", place / "a.csv", "--free", "joint.damping[*]=0:1", *SHORT,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 1
    assert "joint.damping[elbow]" in said
    assert "No space left on device" in err
    kept = Path(re.search(r"The numbers are in (.*)", err)[1])
    assert json.loads(kept.read_text())["parameters"]
