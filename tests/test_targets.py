"""Figures beside their targets: what is written can be read back, whatever a script hands over."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from graftsim.targets import Figures, write_json


@dataclasses.dataclass
class Pair:
    """Something with fields."""

    left: object
    right: object


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (np.bool_(True), True),
        (np.int32(3), 3),
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (float("-inf"), None),
        (np.array([[1.0, np.inf]]), [[1.0, None]]),
        (np.array([True, False]), [True, False]),
        ({1: np.int64(2), (3, 4): "x"}, {"1": 2, "(3, 4)": "x"}),
        ((1, 2), [1, 2]),
        (Path("a") / "b", "a/b"),
        (Pair(np.bool_(0), Pair(None, 1)), {"left": False, "right": {"left": None, "right": 1}}),
    ],
)  # fmt: skip
def test_content_is_read_back_as_plain_values(tmp_path, content, read):
    """Numbers of NumPy, not-a-numbers, data classes, paths, keys of any kind."""
    write_json(tmp_path / "a.json", {"content": content})
    assert json.loads((tmp_path / "a.json").read_text()) == {"content": read}


def test_figures_of_numpy(tmp_path, capsys):
    """Comparisons of NumPy numbers are NumPy's booleans: they are written, and count."""
    file = tmp_path / "figures.json"
    figures = Figures("Title", seed=np.int64(3), json_path=str(file))
    figures.at_most("error", np.float64(0.01), np.float64(0.05), "rad")
    figures.at_least("count", np.int32(3), 4)
    figures.at_most("lost", np.float64("nan"), 1.0)
    figures.note("time", np.float32(1.5), "s")
    assert not figures.finish()
    content = json.loads(file.read_text())
    assert [f["holds"] for f in content["figures"]] == [True, False, False, None]
    assert [f["value"] for f in content["figures"]] == [0.01, 3.0, None, 1.5]
    assert content["seed"] == 3
    assert "FAILS" in capsys.readouterr().out
