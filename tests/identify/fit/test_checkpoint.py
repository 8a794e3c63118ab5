"""Checkpoints: a stopped fit goes on to the same result; a file that is not its own is refused."""

import dataclasses
import json
import os

import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import ImplicitDamping
from graftsim.identify.fit import checkpoint
from graftsim.identify.fit.state import FitState


class Stop(Exception):
    """What a progress callback raises to stop a fit."""


@pytest.fixture(scope="module")
def problem(undriven):
    """Damping of a single pendulum on two horizons."""
    return posed(undriven)


def posed(recording, damping=0.5, **options):
    """The problem with other data or settings."""
    start = gs.Simulator(zoo.pendulum(damping=damping), 0.01, integrator=ImplicitDamping())
    settings = {"horizon": 0.4, "growth": (0.3, 1.0)} | options
    return gs.Problem(start, recording, {"joint.damping[*]": gs.Positive()}, **settings)


@pytest.fixture(scope="module")
def whole(problem, tmp_path_factory):
    """The uninterrupted fit, and the checkpoint it left."""
    path = tmp_path_factory.mktemp("whole") / "fit.npz"
    return gs.fit(problem, checkpoint=path), path


def same(a, b):
    """Every number of two results is the same, bit by bit."""
    assert [r.value for r in a.parameters] == [r.value for r in b.parameters]
    np.testing.assert_array_equal(a.covariance, b.covariance)
    assert a.errors == b.errors
    assert a.outcome == b.outcome
    strip = [dataclasses.replace(h, seconds=0.0) for h in a.history]
    assert strip == [dataclasses.replace(h, seconds=0.0) for h in b.history]


@pytest.mark.parametrize(("stage", "iteration"), [(0, 2), (1, 1)])
def test_stopped_fit_goes_on_to_the_same_result(problem, whole, tmp_path, stage, iteration):
    """Stopped in either horizon and resumed, the fit ends with the same bits and history."""
    path = tmp_path / "deep" / "fit.npz"

    def stop(entry, *_):
        if (entry.stage, entry.iteration) == (stage, iteration):
            raise Stop

    with pytest.raises(Stop):
        gs.fit(problem, checkpoint=path, progress=stop)
    same(gs.fit(problem, checkpoint=path), whole[0])
    assert [p.name for p in path.parent.iterdir()] == ["fit.npz"]


def test_finished_fit_is_not_run_again(problem, whole):
    """Resuming a finished fit gives its result without another iteration."""
    called = []
    again = gs.fit(problem, checkpoint=whole[1], progress=lambda *a: called.append(a))
    assert called == []
    same(again, whole[0])


def test_writing_is_atomic(problem, whole, tmp_path, monkeypatch):
    """A write that dies halfway, or before the file is put in place, leaves the last one whole."""
    path = tmp_path / "fit.npz"
    path.write_bytes(whole[1].read_bytes())
    saved = checkpoint.Checkpoint(path, problem)
    state = saved.read()

    def half(file, **arrays):
        file.write(b"PK half a file")
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(checkpoint.np, "savez", half)
        saved.write(state)
    assert path.read_bytes() == whole[1].read_bytes()

    def dies(a, b):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", dies)
        saved.write(state)
    assert path.read_bytes() == whole[1].read_bytes()


@pytest.mark.parametrize("content", ["text", "empty", "cut", "array", "other npz"])
def test_unreadable_file_is_named(problem, whole, tmp_path, content):
    """A file that is cut off, or none of ours, is an error that says what to do."""
    path = tmp_path / "fit.npz"
    if content == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif content == "other npz":
        np.savez(path, theta=np.zeros(3))
    else:
        full = whole[1].read_bytes()
        path.write_bytes({"text": b"hello\n", "empty": b"", "cut": full[: len(full) // 2]}[content])
    with pytest.raises(gs.ProblemError, match=r"fit.npz cannot be read .*Delete it"):
        checkpoint.Checkpoint(path, problem).read()


def test_another_format_is_named(problem, whole, tmp_path):
    """A file of an earlier version says which it has, and which is read."""
    with np.load(whole[1]) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays["facts"])) | {"version": 2}
    path = tmp_path / "fit.npz"
    np.savez(path, **(arrays | {"facts": np.array(json.dumps(facts))}))
    with pytest.raises(gs.ProblemError, match=r"has format 2, .* reads 3"):
        checkpoint.Checkpoint(path, problem).read()


@pytest.mark.parametrize("change", ["data", "start", "bounds", "horizon", "loss"])
def test_checkpoint_of_another_problem_is_refused(whole, undriven, change):
    """Other samples, another start, other bounds or settings: the checkpoint does not fit."""
    channel = undriven["joint.q[bob]"]
    other = {
        "data": lambda: posed(
            undriven.with_channel(channel.replace(values=channel.values + 1e-9)),
            noise={"joint.q[bob]": 1e-3},
        ),
        "start": lambda: posed(undriven, damping=0.4),
        "bounds": lambda: gs.Problem(
            gs.Simulator(zoo.pendulum(damping=0.5), 0.01, integrator=ImplicitDamping()),
            undriven,
            {"joint.damping[*]": gs.Bounds(0, 9)},
            horizon=0.4,
            growth=(0.3, 1.0),
        ),
        "horizon": lambda: posed(undriven, horizon=0.5),
        "loss": lambda: posed(undriven, loss="huber"),
    }[change]()
    with pytest.raises(gs.ProblemError, match=r"belongs to another problem"):
        checkpoint.Checkpoint(whole[1], other).read()


def test_without_a_path_nothing_is_written(problem, tmp_path, monkeypatch):
    """No path, no file."""
    monkeypatch.chdir(tmp_path)
    saved = checkpoint.Checkpoint(None, problem)
    saved.write(FitState.at(problem.parameters.start))
    assert saved.read() is None
    assert list(tmp_path.iterdir()) == []
