"""A log format from outside the package: one class in a file of its own."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.io.logs.tables import array_table


class JSONLines(gs.LogFormat):
    """One JSON object a line, all with the same keys."""

    name = "JSON lines"
    suffixes = (".jsonl",)

    def read(self, path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        if not lines:
            raise gs.LogError(f"{path}: there is no line in it.")
        return array_table({k: np.array([x[k] for x in lines]) for k in lines[0]}, str(path))


FORMATS = (*gs.LOG_FORMATS, JSONLines())


@pytest.fixture
def log(tmp_path):
    """A pendulum's swing of two seconds, with degrees for angles."""
    simulator = gs.Simulator(zoo.chain(1, damping=0.1), 0.01)
    start = simulator.initial_state(jnp.array([1.0]))
    path = zoo.rollout(simulator, start, jnp.zeros((200, 0)))
    rows = zip(0.01 * np.arange(201), np.degrees(path.q[:, 0]).tolist(), strict=True)
    file = tmp_path / "swing.jsonl"
    file.write_text("\n".join(json.dumps({"time": float(t), "angle": q}) for t, q in rows))
    return file


def test_its_recordings_are_read_and_fitted(log):
    """With units, clock and checks as for any other log; the damping comes back."""
    model = zoo.chain(1, damping=0.3)
    joint = model.tree.joints[0]
    columns = {f"joint.q[{joint}]": gs.ColumnSpec("angle", unit="deg")}
    recording = gs.read_recording(log, columns, formats=FORMATS)
    assert recording.name == "swing" and recording.duration == pytest.approx(2.0)
    problem = gs.Problem(
        gs.Simulator(model, 0.01),
        recording,
        {f"joint.damping[{joint}]": gs.Positive()},
        horizon=0.4,
        noise={f"joint.q[{joint}]": 1e-4},
    )
    assert gs.fit(problem).value(f"joint.damping[{joint}]") == pytest.approx(0.1, rel=1e-4)
    assert gs.read_recordings(str(log), columns, formats=FORMATS)[0].name == "swing"


def test_without_it_the_file_is_refused(log):
    """By its suffix, with those that are read; with it, its own errors are heard."""
    with pytest.raises(gs.LogError, match=r"cannot read '.jsonl' files; use .csv"):
        gs.read_recording(log)
    log.write_text("")
    with pytest.raises(gs.LogError, match="there is no line"):
        gs.read_recording(log, formats=FORMATS)
    with pytest.raises(gs.LogError, match=r"use .csv.*.jsonl"):
        gs.read_recording("log.xyz", formats=FORMATS)
