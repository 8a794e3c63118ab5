"""Discovery: what is missing is found with its row and input, and nothing where nothing is."""

import json
from types import SimpleNamespace

import jax.numpy as jnp
import machines
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import SemiImplicitEuler
from graftsim.identify.discover.discover import _unused
from graftsim.identify.discover.score_test import _gains, _tail
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.words import Sureness
from graftsim.model.catalogue import with_leaf
from graftsim.optim.local_solver import Point

DAMPING = 0.06
STARTS = ([1.0, 0.5], [-0.8, 0.9], [0.4, -1.2])
OPTIONS = {
    "candidates": {"joint.tau_passive[*]": ("joint.qd",)},
    "network": gs.MLP(2),
    "horizon": 0.3,
}


def simulator(damping=(0.0, 0.0)):
    """A double pendulum without friction but for these dampings."""
    model = with_leaf(zoo.double_pendulum(), "joint.damping", jnp.array(damping))
    return gs.Simulator(model, machines.DT, integrator=SemiImplicitEuler())


def recordings(damping):
    """Three seconds of its swinging from three states, angles and rates with noise."""
    model, out = simulator(damping).model, []
    for k, q in enumerate(STARTS):
        moved = machines.roll(model, q, integrator=SemiImplicitEuler())
        out.append(machines.recording(model, moved, rates=True, seed=k, name=f"run {k}"))
    return out


@pytest.fixture(scope="module")
def viscous():
    """The second joint is damped, the model says it is not."""
    first, second, third = recordings((0.0, DAMPING))
    lines = []
    found = gs.discover(
        simulator(), [first, second], holdout=third, progress=lines.append, **OPTIONS
    )
    return found, lines


@pytest.fixture(scope="module")
def complete():
    """The model says all there is, a network that adds nothing included; its damping is free."""
    truth = gs.Simulator(zoo.pendulum(damping=DAMPING), machines.DT)
    moved = machines.roll(truth.model, [1.0], integrator=SemiImplicitEuler())
    known = gs.Graft("joint.tau", "joint.qd", network=gs.Library("linear"), name="known")
    start = gs.Simulator(zoo.pendulum(damping=0.5 * DAMPING), machines.DT)
    return gs.discover(
        start.graft(gs.Blueprint(known)),
        machines.recording(truth.model, moved, rates=True),
        {"joint.damping[*]": gs.Positive()},
        holdout=0.5,
        **OPTIONS | {"candidates": {"joint.tau_passive[*]": ("joint.q", "joint.qd")}},
    )


def test_planted_damping_is_found(viscous):
    """The right row and input, a linear term of the right size, and the noise is reached."""
    found, lines = viscous
    (finding,) = found.findings
    names = zoo.double_pendulum().tree.dofs
    assert finding.target == f"joint.tau_passive[{names[1]}]"
    assert finding.inputs == (f"joint.qd[{names[1]}]",)
    (term,) = finding.formula
    assert term.kind == "linear" and term.unit == "N m/(rad/s)"
    assert term.value == pytest.approx(-DAMPING, rel=0.05)
    assert abs(term.value + DAMPING) < 4 * term.std
    assert found.costs["network"] < 0.1 * found.costs["physics"]
    assert found.costs["formula"] < 1.3 * found.noise
    assert finding.cost_without > 10 * finding.cost
    assert found.complete
    assert any(f"by joint.qd[{names[1]}]: kept" in line for line in lines)


def test_what_was_found_is_said(viscous):
    """The sentences name variable, input, coefficient with its interval, and the errors."""
    found, _ = viscous
    first, last = found.sentences()
    names = zoo.double_pendulum().tree.dofs
    assert first.startswith(
        f"joint.tau_passive[{names[1]}] lacks an effect of joint.qd[{names[1]}]: without it"
    )
    assert "As a formula, in N m: - (0.0" in first and f") joint.qd[{names[1]}]." in first
    assert "times the sensor noise" in last
    assert str(found) == "\n".join(found.sentences())


def test_the_network_is_on_the_simulator(viscous):
    """`simulator` has the network, and simulates better than before."""
    found, _ = viscous
    assert found.simulator.grafts.labels == (found.findings[0].graft,)
    for e in found.result.errors:
        assert e.heldout_after < 0.7 * e.heldout_before


def test_discovery_is_json(viscous):
    """Findings, steps and scores as plain numbers; NaN becomes null."""
    text = json.dumps(viscous[0].as_json(), allow_nan=False)
    content = json.loads(text)
    part = content["discovery"]
    assert part["findings"][0]["formula"][0]["kind"] == "linear"
    assert {"variable", "input", "score"} == set(part["scores"][0])
    assert part["steps"][0]["kept"] is True
    assert part["remaining"] >= max(s["score"] for s in part["scores"])
    assert content["grafts"][0]["label"] == part["findings"][0]["graft"]


def test_nothing_is_found_where_nothing_is_missing(complete):
    """No finding, no network, and it is said so."""
    assert complete.findings == () and complete.formula is None
    assert complete.complete
    assert complete.sentences()[0].startswith("Nothing is missing: of 2 pairs")
    assert complete.result.value("joint.damping[bob]") == pytest.approx(DAMPING, rel=0.05)


def test_planted_effects_are_found_not_only_likely(viscous):
    """Three recordings agree on the size of what was planted."""
    (finding,) = viscous[0].findings
    assert finding.sureness == Sureness.FOUND and viscous[0].certain == (finding,)
    assert [p.name for p in finding.parts] == ["run 0", "run 1", "run 2"]
    for part in finding.parts:
        assert abs(part.value - 1) < 4 * part.std < 0.5


def test_too_few_held_out_windows_are_refused():
    """An improvement on three windows is no evidence; without any there is no judge at all."""
    first = recordings((0.0, 0.0))[0]
    with pytest.raises(gs.ProblemError, match="Windows held out: 3, too few"):
        gs.discover(simulator(), first, holdout=0.33, **OPTIONS)
    with pytest.raises(gs.ProblemError, match="needs recordings that are held out"):
        gs.discover(simulator(), first, holdout=0.0, **OPTIONS)


def test_wrong_candidates_are_named():
    """Unknown variables and rows, and an empty choice."""
    first = recordings((0.0, 0.0))[0]
    options = OPTIONS | {"holdout": 0.5}
    with pytest.raises(gs.VariableError, match=r"no variable named 'joint\.qdot'"):
        gs.discover(
            simulator(), first, **options | {"candidates": {"joint.tau[*]": ("joint.qdot",)}}
        )
    with pytest.raises(gs.VariableError, match="selects no row"):
        gs.discover(
            simulator(), first, **options | {"candidates": {"joint.tau[knee]": ("joint.qd",)}}
        )
    with pytest.raises(gs.ProblemError, match="without memory"):
        gs.discover(simulator(), first, **options | {"network": gs.GRU(2)})
    with pytest.raises(gs.ProblemError, match="no candidate"):
        gs.discover(simulator(), first, **options | {"candidates": {}})


def test_networks_that_are_there_stay_as_they_are(complete):
    """What the simulator has already is neither trained nor a candidate, and keeps its name."""
    (known,) = complete.simulator.grafts.grafts
    assert known.label == "known" and (np.asarray(known.trainable) == 0).all()
    assert "known" not in complete.targets
    assert complete.result.grafts[0].label == "known"
    assert _unused("known", complete.simulator.grafts.labels) == "known 2"
    assert _unused("other", complete.simulator.grafts.labels) == "other"


def test_score_test_is_calibrated():
    """Under noise alone, the probabilities of single groups are uniform, and their least, times
    their number, falls below a level no more often than that.
    """
    blueprint = gs.Blueprint(
        gs.Graft(
            "joint.tau_passive[*]", "joint.qd", shared=False, name="speed",
            network=gs.Library("linear", "quadratic", "coulomb"),
        ),
        gs.Graft(
            "joint.tau_passive[*]", "joint.q", shared=False, name="position",
            network=gs.Library("linear", "sine"),
        ),
    )  # fmt: skip
    start = simulator((0.0, DAMPING)).graft(blueprint)
    problem = gs.Problem(
        start, recordings((0.0, DAMPING))[:1], ["joint.damping[*]"], horizon=0.3, growth=(1.0,)
    )
    windows = problem.train_windows()
    theta, local = problem.parameters.start, np.zeros((len(windows), problem.nlocal))
    r, J_t, J_l = compile_windows(problem, windows).jacobian(theta, local)
    active = np.flatnonzero(problem.parameters.group < 0)
    # What initial states and damping take away: noise is seen after they have been fitted.
    w, m, s = J_l.shape
    every = np.zeros((w * m, len(active) + w * s))
    every[:, : len(active)] = J_t[..., active].reshape(w * m, -1)
    for i in range(w):
        every[i * m : (i + 1) * m, len(active) + i * s : len(active) + (i + 1) * s] = J_l[i]
    basis = np.linalg.qr(every)[0]
    used = (np.abs(J_l).max(-1) > 0).reshape(-1) | (np.abs(r).reshape(-1) > 0)
    samples, rng = float(used.sum()), np.random.default_rng(0)
    freedom = samples - basis.shape[1]

    def linear(left):
        """The fit, if it were linear, with this noise."""
        return SimpleNamespace(jacobian=lambda theta, local: (left, J_t, J_l))

    groups, single, least = len(problem.parameters.groups), [], []
    for _ in range(300):
        noise = rng.normal(size=w * m) * used
        left = (noise - basis @ (basis.T @ noise)).reshape(w, m)
        point = Point(theta, local, 0.5 * float(np.sum(left**2)), 1e-3)
        look = SimpleNamespace(point=point, kept=[], compiled=linear(left))
        gains = _gains(problem, look)
        chances = [_tail(gain, rank, point.cost, freedom) for gain, rank in gains.values()]
        single += chances
        least.append(groups * min(chances))
    assert np.mean(single) == pytest.approx(0.5, abs=0.05)
    for level in (0.05, 0.1):
        assert np.mean(np.array(single) < level) < level + 0.02
        assert np.mean(np.array(least) < level) < level + 0.03


def test_one_law_of_several_rows_is_found():
    """Two rods in a liquid of which the model knows nothing: quadratic drag in the turning and
    across the rods, as the engine's medium has it, in one law for both; inputs are features.
    """

    def swimmer(**medium):
        b, parent = gs.Builder("swimmer", gravity=(0, 0, 0), **medium), "world"
        for k in range(2):
            b.link(f"rod{k}", parent, joint_name=f"j{k}", axis=(0, 0, 1), origin=(0, 0.1 * k, 0),
                   mass=0.01, com=(0, 0.05, 0),
                   inertia=(8.6667e-6, 3.3667e-7, 8.3367e-6))  # fmt: skip
            if medium:
                b.surround(f"rod{k}", (0, 0.05, 0), box=(0.002, 0.1, 0.02))
            parent = f"rod{k}"
        return gs.Simulator(b.build(), 2e-3)

    truth, logs = swimmer(density=1000.0), []
    for k, rates in enumerate(([9.0, -4.0], [-6.0, 11.0], [8.0, 8.0], [-3.0, -10.0])):
        run = truth.rollout(truth.initial_state(qd=jnp.array(rates)), steps=150)
        columns = {f"joint.q[j{i}]": np.asarray(run.q[:, i]) for i in range(2)}
        columns |= {f"joint.qd[j{i}]": np.asarray(run.qd[:, i]) for i in range(2)}
        logs.append(gs.recording_from_arrays(columns, name=f"run {k}", time=2e-3))

    def sampled(log, t):
        channels = ([log[f"joint.{k}[j{i}]"] for i in range(2)] for k in ("q", "qd"))
        return tuple(
            np.array([np.interp(t, c.time, c.values[:, 0]) for c in own]) for own in channels
        )

    turning = gs.Feature(lambda v: v[2], "link.com_velocity[*]", "turning")
    found = gs.discover(
        swimmer(),
        logs[:3],
        candidates={
            "link.com_force[*].nz": (turning,),
            "link.com_force[*].fx": ("link.com_velocity[*].vx", "link.com_velocity[*].vy"),
        },
        shared=True,
        network=gs.MLP(2),
        holdout=logs[3],
        horizon=0.06,
        initial=sampled,
        fit_initial=False,
        noise=dict.fromkeys(logs[0].names, 1e-4),
    )
    laws = {f.target: {t.kind: t.value for t in f.formula} for f in found.findings}
    assert set(laws) == {"link.com_force[*].nz", "link.com_force[*].fx"}
    assert np.isclose(laws["link.com_force[*].fx"]["quadratic"], -1.0, rtol=0.02)
    assert np.isclose(laws["link.com_force[*].nz"]["quadratic"], -3.125e-5, rtol=0.02)
    assert all(
        f.inputs[0].startswith(("turning", "link.com_velocity[*].vx")) for f in found.findings
    )


def test_candidates_are_single_numbers():
    """A wrench is six of them, and the message names one."""
    with pytest.raises(gs.ProblemError, match=r"one number a row.*such as link\.force\[\*\]\.nx"):
        gs.discover(
            simulator(), recordings((0, 0)), holdout=0.5, horizon=0.3,
            candidates={"link.force[*]": ("link.velocity[*].wx",)},
        )  # fmt: skip
