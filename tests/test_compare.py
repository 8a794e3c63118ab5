"""Figures of two runs beside each other."""

import json

import compare
import numpy as np
import pytest

from graftsim.targets import Figures


def written(folder, name, **values):
    """A file of figures, each with a target of at most one."""
    folder.mkdir(exist_ok=True)
    figures = Figures(name, json_path=str(folder / f"{name}.json"))
    for key, value in values.items():
        figures.at_most(key, value, 1.0)
    figures.finish()


def test_changes_by_their_share(tmp_path):
    """A change is a share of the larger figure; what came or went, or a file, is one too."""
    old, new = tmp_path / "old", tmp_path / "new"
    written(old, "a", same=0.5, moved=0.8, gone=0.1, never=np.nan)
    written(new, "a", same=0.5, moved=0.4, fresh=0.1, never=np.nan)
    written(new, "b", alone=0.2)
    found = {c.where: c.share for c in compare.changes(old, new)}
    assert found["a: same"] == found["a: never"] == 0.0
    assert found["a: moved"] == pytest.approx(0.5)
    assert {found[k] for k in ("a: gone", "a: fresh", "b: alone")} == {np.inf}


def test_the_exit_code_tells(tmp_path, monkeypatch, capsys):
    """0 where nothing moved by more than the share; 1 if something did, or misses its target."""
    old, new = tmp_path / "old", tmp_path / "new"
    written(old, "a", x=0.5)
    written(new, "a", x=0.504)
    monkeypatch.setattr("sys.argv", ["compare.py", str(old), str(new)])
    assert compare.main() == 0
    monkeypatch.setattr("sys.argv", ["compare.py", str(old), str(new), "--share", "0.001"])
    assert compare.main() == 1
    assert "a: x" in capsys.readouterr().out
    written(old, "a", x=1.5)
    written(new, "a", x=1.5)
    monkeypatch.setattr("sys.argv", ["compare.py", str(old), str(new), "--json", f"{old}.json"])
    assert compare.main() == 1
    assert json.loads((tmp_path / "old.json").read_text())["share"] == 0.01
