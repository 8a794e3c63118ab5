"""No recording is too odd to be looked at: short, constant, huge, tiny, of other clocks."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from swings import pendulum

import graftsim as gs
from graftsim.check import Finding, Robot, grouped

KINDS = ("torque", "position", "velocity", None)
ROBOTS = [Robot(pendulum(kind), 0.01) for kind in KINDS]
NAMES = (
    "joint.q[j]",
    "joint.qd[j]",
    "joint.tau[j]",
    "control[a]",
    "signal[s]",
    "link.position[rod]",
)
SIZES = (1, 2, 3, 9, 30, 120)


@st.composite
def recordings(draw):
    """Some channels, each with samples and a clock of its own."""
    channels = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        n = draw(st.sampled_from(SIZES))
        rng = np.random.default_rng(draw(st.integers(0, 3)))
        time = np.cumsum(rng.uniform(0.1, 1.9, n)) * draw(st.sampled_from([1e-6, 0.01, 10.0]))
        shape = (n, 3) if name.startswith("link.") else (n,)
        values = {
            "still": np.full(shape, 0.3),
            "noise": rng.standard_normal(shape),
            "steps": np.round(np.cumsum(rng.standard_normal(shape), axis=0)),
            "rising": np.cumsum(np.abs(rng.standard_normal(shape)), axis=0),
        }[draw(st.sampled_from(["still", "noise", "steps", "rising"]))]
        values = values * draw(st.sampled_from([1e-12, 1.0, 1e9]))
        channels[name] = gs.Channel(name, time, values, "SI")
    return gs.Recording(channels, "odd")


@settings(max_examples=150)
@given(logs=st.lists(recordings(), min_size=1, max_size=2), which=st.integers(0, len(ROBOTS) - 1))
def test_findings_of_anything(logs, which):
    """Findings are findings, their numbers finite, and they can be grouped; nothing is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        findings = gs.check(ROBOTS[which], logs)
    assert all(isinstance(f, Finding) and np.isfinite(f.number) and f.remedy for f in findings)
    assert len(grouped(findings)) <= len(findings)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_handful_of_samples(n):
    """A recording of a few samples is looked at too."""
    time = 0.01 * np.arange(n)
    channels = [gs.Channel(name, time, time, "SI") for name in NAMES[:4]]
    log = gs.Recording({c.name: c for c in channels}, "few")
    assert not [f for f in gs.check(ROBOTS[0], log) if f.level == "error"]
