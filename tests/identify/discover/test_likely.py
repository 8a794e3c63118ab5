"""Little data: what both recordings have is likely, and what one has alone is not."""

from types import SimpleNamespace

import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.discover.findings import _signed
from graftsim.identify.discover.formula import Term, _doubtful
from graftsim.identify.discover.likely import agree
from graftsim.identify.discover.parts import Part, differ, spread
from graftsim.identify.problem.parameters import Group
from graftsim.identify.words import Sureness

MASS, DT, NOISE = 0.06, 1 / 15, 0.05
FALL = {
    "candidates": {"joint.tau_passive[height]": ("joint.qd[height]",)},
    "network": gs.MLP(2), "horizon": 0.8, "stride": 0.1, "noise": {"joint.q[height]": NOISE},
    "growth": (1.0,),
}  # fmt: skip


def ball():
    """A mass on a vertical slide, in vacuum."""
    b = gs.Builder("ball")
    b.link("ball", joint="prismatic", joint_name="height", axis=(0, 0, 1), mass=MASS,
           inertia=1e-4)  # fmt: skip
    return gs.Simulator(b.build(), 1 / 60, integrator=gs.RungeKutta4())


def drop(drag, seed):
    """Heights at 15 Hz of a fall of 2.6 s from 3 m/s on, drag (1/m), with noise that has a memory
    like that of a camera's view: v = -v_t tanh(g t / v_t + a).
    """
    rng, t, g = np.random.default_rng(seed), DT * np.arange(39), 9.81
    height = 40 - 3 * t - g * t**2 / 2
    if drag:
        v = np.sqrt(g / drag)
        a = np.arctanh(3 / v)
        height = 40 - np.log(np.cosh(g * t / v + a) / np.cosh(a)) / drag
    noise = np.zeros(len(t))
    for i in range(1, len(t)):
        noise[i] = 0.6 * noise[i - 1] + 0.8 * NOISE * rng.normal()
    columns = {"time": t, "joint.q[height]": height + noise}
    return gs.recording_from_arrays(columns, name=f"drop {seed}")


def judged(first, second):
    """A discovery from one drop, judged by another."""
    return gs.discover(ball(), first, holdout=second, **FALL)


def test_drag_of_two_drops_is_likely():
    """Windows of 0.8 s hardly show it; both drops as wholes do, and agree."""
    found = judged(drop(0.002, 0), drop(0.002, 1))
    (finding,) = found.findings
    assert finding.sureness == Sureness.LIKELY and found.certain == ()
    assert [p.name for p in finding.parts] == ["drop 0", "drop 1"]
    said = found.sentences()[0]
    assert said.startswith("Likely, not certain: joint.tau_passive[height] lacks an effect of")
    assert "A third recording, held out" in said
    part = found.as_dict()["findings"][0]
    assert part["sureness"] == "likely, not certain" and len(part["parts"]) == 2


@pytest.mark.parametrize("first", [0.0, 0.006])
def test_what_only_one_drop_has_is_not_said(first):
    """Nothing in both, or in the second alone: nothing is found."""
    assert judged(drop(first, 2), drop(0.0, 3)).findings == ()


def test_halves_of_one_drop():
    """Its beginning is fitted, its end judges: both have the drag, which is likely then."""
    (finding,) = gs.discover(ball(), drop(0.012, 0), holdout=0.5, **FALL).findings
    assert finding.sureness == Sureness.LIKELY
    assert [p.name for p in finding.parts] == ["drop 0, beginning", "drop 0, end"]


def test_parts_agree_by_sign_size_and_deviation():
    """Each has it, of one sign, and it does not vary by more than half."""
    both = [Part("a", 0.9, 0.1), Part("b", 1.2, 0.2)]
    assert agree(both) and not differ(both)
    assert not agree([Part("a", 0.9, 0.1), Part("b", -1.2, 0.2)])
    assert not agree([Part("a", 0.9, 0.1), Part("b", 0.3, 0.2)])
    assert not agree([Part("a", 0.3, 0.01), Part("b", 1.9, 0.02)])


def test_recordings_that_differ():
    """Of two exact values the random effect is their difference over the root of two."""
    parts = [Part("a", 0.2, 1e-6), Part("b", 1.8, 1e-6)]
    tau, chance = spread(parts)
    assert tau == pytest.approx(1.6 / np.sqrt(2), rel=1e-6) and chance < 1e-6
    assert differ(parts)
    assert not differ(parts[:1])


def test_a_term_that_the_data_do_not_tell_has_no_interval():
    """Neither "nan" nor "inf" is said of it."""
    group = Group("library 1", "j", "joint.qd[j]")
    term = Term(group, "linear", -0.25, float("inf"), "N m s/rad", "joint.qd[j]")
    assert _signed(term) == "- (0.2500, ± unknown) joint.qd[j]"
    assert _signed(term._replace(std=0.01)) == "- (0.250 ± 0.020) joint.qd[j]"


def test_of_terms_that_are_known_equally_badly_the_first_stays():
    """Libraries begin with the simplest term; a row keeps its last one."""
    group = Group("library 1", "j", "joint.qd[j]")
    problem = SimpleNamespace(parameters=SimpleNamespace(groups=(group,), group=[0, 0]))
    unknown, theta = np.array([np.inf, np.inf]), np.array([0.3, 0.1])
    assert _doubtful(problem, [0, 1], theta, unknown) == 1
    assert _doubtful(problem, [0], theta, unknown) is None
    assert _doubtful(problem, [0, 1], theta, np.array([0.2, 0.01])) == 0
