"""Fits to disjoint halves of the data: what chance explains, and what it does not."""

import sys
from types import SimpleNamespace

import machines
import numpy as np
import pytest
from rich.console import Console

import graftsim as gs
import zoo
from graftsim.cli.halves import with_halves
from graftsim.identify.fit.halves import resampling, split


def run(damping, seed):
    """Three seconds of the double pendulum with this damping at both joints."""
    model = zoo.double_pendulum(damping=damping)
    moved = machines.roll(model, [1.0, 0.5], integrator=gs.ImplicitDamping())
    return machines.recording(model, moved, seed=seed, name=f"run {seed}")


def problem(*recordings):
    """Its damping, free."""
    free = {"joint.damping[*]": gs.Positive()}
    return gs.Problem(machines.pendulum_start(), recordings, free, growth=(1.0,))


def test_halves_of_one_machine_agree():
    """Every other recording: four of one machine, two numbers, within three deviations."""
    rows = gs.halves(problem(*(run(0.05, seed) for seed in range(4))))
    assert len(rows) == 2
    assert all(row.apart < 3 for row in rows)
    assert all(row.overlap for row in rows)
    assert "they agree" in rows[-1].text or "differ by" in rows[-1].text


def test_a_machine_that_changed_is_found():
    """Damping of the second recording is twice that of the first: no file explains it."""
    posed = problem(run(0.05, 0), run(0.15, 1))
    rows = gs.halves(posed)
    assert rows[0].apart > 10
    assert "does not explain it" in rows[0].text
    result = gs.fit(posed)
    said = with_halves(posed, result, Console(quiet=True)).warnings
    assert any("halves of the data say" in w and "differ by" in w for w in said)


def test_one_recording_is_cut_in_the_middle():
    """The halves have no sample in common but perhaps the one in the middle."""
    first, second = split((run(0.05, 0),))
    a, b = first[0].overlap, second[0].overlap
    assert a[1] <= b[0] and np.isclose(a[1], b[0], atol=0.02)


@pytest.mark.parametrize(("recordings", "law", "drawn"), [
    (10, gs.contact.SpringDamper(), True), (9, gs.contact.SpringDamper(), False), (40, None, False),
])  # fmt: skip
def test_recordings_with_contact_are_drawn_again(recordings, law, drawn):
    """Where no covariance knows of the other minima, and there are enough to draw from."""
    posed = SimpleNamespace(simulator=SimpleNamespace(contact=law))
    how = resampling(posed, recordings)
    assert how == ({"bootstrap": gs.Bootstrap(40, by="recording")} if drawn else {})


def test_halves_ask_for_their_own_intervals(monkeypatch):
    """Of the shorter half; an option that is given goes before."""
    asked = []

    def fit(part, **how):
        asked.append((len(part.given), how))
        return SimpleNamespace(parameters=())

    module = sys.modules[split.__module__]
    monkeypatch.setattr(module, "fit", fit)
    monkeypatch.setattr(module, "resampling", lambda _, count: {"bootstrap": count})
    posed = problem(*(run(0.05, 0) for _ in range(5)))
    assert gs.halves(posed) == gs.halves(posed, bootstrap=None) == ()
    assert asked == [(n, {"bootstrap": b}) for b in (2, None) for n in (3, 2)]
