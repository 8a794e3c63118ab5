"""`graftsim fit --workers`, `--cluster`: where a search runs, and what is refused."""

import json

import pytest

QUICK = ["--dt", "0.01", "--horizon", "0.3", "--growth", "1.0", "--initial", "measured", "--quiet"]
SEARCH = ["--free", "joint.damping[*]=0:1", "--search", "random_restarts", "--seed", 3]


def test_wrong_places(cli, place, tmp_path):
    """Both at once, a negative number, no scheduler: an error each; an old checkpoint stays."""
    pytest.importorskip("distributed")
    (tmp_path / "checkpoint.npz").write_bytes(b"old")
    common = ["fit", place / "robot.urdf", place / "a.csv", *QUICK, *SEARCH, "--out", tmp_path]
    for options, said in (
        (["--workers", 2, "--cluster", "tcp://127.0.0.1:9"], "give one"),
        (["--workers", -1], "--workers: a whole number >= 0 is expected, not -1"),
        (["--starts", 0], "--starts: a whole number >= 1 is expected, not 0"),
        (["--cluster", "somewhere"], "is no address of a dask scheduler"),
    ):
        code, _, err = cli(*common, *options)
        assert code == 2
        assert said in err
    # Without a search there is nothing to spread, which is said.
    code, _, err = cli(*common[:3], "--dt", "0.01", "--out", tmp_path, "--cluster", "somewhere")
    assert code == 2
    assert "note: only a search and a bootstrap are spread over workers" in err
    assert (tmp_path / "checkpoint.npz").read_bytes() == b"old"


@pytest.mark.slow
def test_workers_and_cluster_give_the_answer_of_one_process(cli, place, tmp_path):
    """To the last digit that is written; finished tasks lie beside the checkpoint."""
    distributed = pytest.importorskip("distributed")
    found = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        for name, options in {
            "one": [],
            "two": ["--workers", 2],
            "dask": ["--cluster", cluster.scheduler_address],
        }.items():
            out = tmp_path / name
            code, _, err = cli(
                "fit",
                place / "robot.urdf",
                place / "a.csv",
                *QUICK,
                *SEARCH,
                "--out",
                out,
                *options,
            )
            assert code == 0, err
            found.append(json.loads((out / "fit.json").read_text())["parameters"])
            assert len(list((out / "checkpoint.npz.tasks").iterdir())) == 4
    assert found[1] == found[0]
    assert found[2] == found[0]
