"""N5: steps that are too long for a fit's own intervals are shortened by the command line."""

import json

import numpy as np
import pytest

import graftsim as gs
from graftsim.cli import main
from graftsim.cli.finer import finer_problem

NOISE = 4e-3


@pytest.fixture(scope="module")
def log():
    """A driven arm at 200 Hz, simulated in very short steps, and the arm's file numbers off."""

    def arm(armature, damping):
        builder = gs.Builder("arm")
        builder.link("arm", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=0.01,
                     armature=armature, damping=damping)  # fmt: skip
        builder.actuator("arm", "arm", "torque")
        return builder.build()

    t = 0.005 * np.arange(800)
    u = 2.0 * np.sin(2 * np.pi * 0.9 * t) + 1.5 * np.sin(2 * np.pi * 2.3 * t)
    truth = gs.Simulator(arm(0.02, 0.15), 0.005, substeps=200)
    run = truth.rollout(truth.initial_state(), u[:, None])
    q = np.asarray(run.q[:, 0]) + NOISE * np.random.default_rng(0).normal(size=len(run.q))
    columns = {"time": np.asarray(run.time), "q": q, "u": np.append(u, u[-1])}
    mapping = {"joint.q[arm]": "q", "control[arm]": "u"}
    recording = gs.recording_from_arrays(columns, mapping, name="log", time="time")
    return arm(0.03, 0.1), columns, recording


def problem(log, substeps):
    start, _, recording = log
    free = {"joint.armature[*]": gs.Positive(), "joint.damping[*]": gs.Positive()}
    of = gs.Simulator(start, 0.005, substeps=substeps, integrator=gs.ImplicitDamping())
    return gs.Problem(of, recording, free, noise={"joint.q[arm]": NOISE}, holdout=0)


def test_the_step_is_in_the_interval_with_the_file(log):
    """Armature in steps of 5 ms is many deviations off; the shift says how far, to first order."""
    result = gs.fit(problem(log, 1))
    for name, true in (("joint.armature[arm]", 0.02), ("joint.damping[arm]", 0.15)):
        row = next(r for r in result.parameters if r.name == name)
        assert row.low_with_file < true < row.high_with_file
        if abs(row.value - true) > 5 * row.std:
            assert row.value + row.step == pytest.approx(true, abs=abs(row.step) / 3)
    worst = max(abs(r.step) / r.std for r in result.parameters)
    assert worst > 2
    assert any("substeps=" in w for w in result.warnings)


def test_sub_steps_are_found_with_which_it_does_not_matter(log):
    """What is proposed brings the shift below two tenths, and then nothing more is proposed."""
    posed = problem(log, 10)
    result = gs.fit(posed)
    finer, why = finer_problem(posed, result)
    assert "--substeps 10 keeps them" in why
    again = gs.fit(finer)
    assert max(abs(r.step) / r.std for r in again.parameters) < 0.2
    row = next(r for r in again.parameters if r.name == "joint.armature[arm]")
    assert abs(row.value - 0.02) < 4 * row.std


def test_the_command_line_does_it(log, tmp_path, capsys):
    """Unless sub-steps were given."""
    model, columns, _ = log
    gs.write_mjcf(model, tmp_path / "arm.xml")
    lines = [",".join(("time", "joint.q[arm]", "control[arm]"))]
    rows = zip(columns["time"], columns["q"], columns["u"], strict=True)
    lines += [",".join(f"{x:.9g}" for x in row) for row in rows]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    args = ["fit", str(tmp_path / "arm.xml"), str(tmp_path / "log.csv"), "--free",
            "joint.armature[*]", "joint.damping[*]", "--noise", f"joint.q[arm]={NOISE}",
            "--out", str(tmp_path / "out")]  # fmt: skip
    main(args)
    assert "fitting again with" in capsys.readouterr().err
    found = json.loads((tmp_path / "out" / "fit.json").read_text())
    row = next(r for r in found["parameters"] if r["name"] == "joint.armature[arm]")
    assert abs(row["step"]) < 0.2 * row["std"]
    main([*args, "--substeps", "5"])
    assert "fitting again" not in capsys.readouterr().err
