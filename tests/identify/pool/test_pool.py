"""Tasks: in order, kept, the same wherever they run, and not lost with a worker or a driver."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import machines
import numpy as np
import pytest

import graftsim as gs
import swing
from graftsim.identify.pool.pool import Pool, identity
from graftsim.identify.pool.workers import cluster_executor, local_executor

ROOT = Path(__file__).resolve().parents[3]
SEARCH = gs.RandomRestarts(40, seed=1)


@pytest.fixture(scope="module")
def problem():
    """Two numbers of a swing."""
    return swing.problem()


@pytest.fixture(scope="module")
def serial(problem):
    """Its fit after a search in this process."""
    return gs.fit(problem, search=SEARCH)


@pytest.fixture(scope="module")
def processes():
    """Two processes that share what they compile with nobody else."""
    with Pool(local_executor(2)) as pool:
        yield pool


@pytest.fixture(scope="module")
def cluster():
    """A dask scheduler with two workers, and a pool on it."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        executor = cluster_executor(found.scheduler_address)
        yield Pool(executor), found
        executor._client.close()


def factors(n):
    """Items for `swing.scaled`."""
    return [{"factor": float(k)} for k in range(n)]


def check(problem, found):
    """Results of `swing.scaled` are in the order of the items."""
    start = problem.parameters.start
    for k, f in enumerate(found):
        assert isinstance(f["theta"], np.ndarray)
        np.testing.assert_array_equal(f["theta"], start * k)


def test_a_problem_can_be_sent():
    """Parameters of every kind, a graft and recordings survive; what is read-only stays so."""
    recording = machines.pendulum_recording()
    simulator = machines.pendulum_start().graft(
        gs.Blueprint(gs.Graft("joint.tau_passive[*]", inputs=["joint.qd[*]"]))
    )
    free = {
        "link.length[rod1]": gs.Positive(),
        "joint.damping[*]": gs.Positive(shared=True),
        "sensor.delay[*]": gs.Positive(),
        "simulator.dt": gs.Positive(),
    }
    one = gs.Problem(simulator, recording, free, horizon=0.2)
    two = pickle.loads(pickle.dumps(one))
    assert identity(two) == identity(one)
    assert two.parameters.names == one.parameters.names
    theta = one.parameters.start * 1.01
    a, b = one.setup_at(theta), two.setup_at(theta)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)
    assert not two.recordings[0][recording.names[0]].values.flags.writeable
    other = gs.Problem(simulator, recording, free, horizon=0.2, holdout=recording)
    assert identity(other) != identity(one)


def test_results_are_kept(problem, tmp_path):
    """A second map reads them; what is damaged, or of another item or problem, is run again."""
    ran, said = [], []

    def counted(problem, item):
        ran.append(item["factor"])
        return swing.scaled(problem, item)

    pool = Pool(store=tmp_path / "kept", progress=lambda *a: said.append(a))
    check(problem, pool.map(counted, problem, factors(4), "a"))
    assert said == [(k, 4) for k in range(5)]
    check(problem, pool.map(counted, problem, factors(4), "a"))
    assert said[5:] == [(4, 4)]
    path = tmp_path / "kept" / "a-2.npz"
    path.write_bytes(path.read_bytes()[:50])
    other = factors(4)
    other[3] = {"factor": 3.0 + 1e-15}
    pool.map(counted, problem, other, "a")
    assert ran[4:] == [2.0, other[3]["factor"]]
    pool.map(counted, swing.problem(5.0), factors(2), "a")
    assert ran[6:] == [0.0, 1.0]
    assert sorted(p.name for p in path.parent.iterdir()) == [f"a-{k}.npz" for k in range(4)]
    with pytest.raises(gs.ProblemError, match="cannot be the name"):
        pool.map(counted, problem, factors(1), "a/b")


def test_any_executor_will_do(problem):
    """Threads: in order; an exception comes back as it is, with the task that raised it."""
    with Pool(ThreadPoolExecutor(2)) as pool:
        check(problem, pool.map(swing.scaled, problem, factors(5), "a"))
        with pytest.raises(gs.ProblemError, match="two is not possible") as caught:
            pool.map(swing.wrong, problem, [0, 1, 2], "numbers")
    assert "In task 2 of 'numbers'" in caught.value.__notes__[0]


def test_a_lost_process_is_replaced(problem, processes, tmp_path):
    """A worker that is killed takes nothing with it; it is said, and others go on."""
    items = [{"folder": str(tmp_path), "index": k} for k in range(4)]
    with pytest.warns(gs.GraftsimWarning, match="a worker was lost .*BrokenProcessPool"):
        found = processes.map(swing.dies_once, problem, items, "a")
    assert [int(f["index"]) for f in found] == [0, 1, 2, 3]
    check(problem, processes.map(swing.scaled, problem, factors(3), "a"))


def test_processes_give_the_same_bits(problem, serial, processes, tmp_path):
    """A driver that stops after the first task goes on from there, to the serial answer."""

    def stop(done, of):
        if done == 1:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "fit.npz"
    stopped, said = Pool(processes.executor, progress=stop), []
    with pytest.raises(KeyboardInterrupt):
        gs.fit(problem, search=SEARCH, checkpoint=checkpoint, pool=stopped)
    pool = Pool(processes.executor, progress=lambda *a: said.append(a))
    found = gs.fit(problem, search=SEARCH, checkpoint=checkpoint, pool=pool)
    assert said == [(1, 3), (2, 3), (3, 3)]
    assert found.theta.tolist() == serial.theta.tolist()
    assert found.settings["search"] == serial.settings["search"]
    assert {p.name for p in tmp_path.iterdir()} == {"fit.npz", "fit.npz.tasks"}


def test_a_cluster_loses_nothing_with_a_worker(problem, cluster, tmp_path):
    """Tasks in order on dask workers, one of which is killed midway."""
    pool, _ = cluster
    check(problem, pool.map(swing.scaled, problem, factors(20), "a"))
    items = [{"folder": str(tmp_path), "index": k} for k in range(6)]
    found = pool.map(swing.dies_once, problem, items, "b")
    assert [int(f["index"]) for f in found] == list(range(6))
    assert (tmp_path / "1").exists()


def test_wrong_addresses_and_numbers():
    """Each is an error that says what to do."""
    pytest.importorskip("distributed")
    with pytest.raises(gs.ProblemError, match=r"no address .*tcp://host:8786"):
        cluster_executor("nonsense")
    with pytest.raises(gs.ProblemError, match=r"No dask scheduler answers at .* 0.3 s"):
        cluster_executor("tcp://127.0.0.1:9", patience=0.3)
    with pytest.raises(gs.ProblemError, match="1 or more"):
        local_executor(0)


def test_without_dask_the_extra_is_named(monkeypatch):
    """A missing package is an error with the name of the extra."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(gs.ProblemError, match=r"graftsim\[cluster\]"):
        cluster_executor("tcp://127.0.0.1:8786")


@pytest.mark.slow
def test_four_dask_workers_give_the_answer_of_one(problem, serial):
    """The same bits with one worker, with four, and with four of which one is killed midway."""
    distributed = pytest.importorskip("distributed")
    for count in (1, 4):
        with distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
        ) as found:
            executor = cluster_executor(found.scheduler_address)
            killed = []

            def kill(done, of, killed=killed, found=found):
                if done == 1 and killed == [None]:
                    killed[0] = next(iter(found.workers.values())).pid
                    os.kill(killed[0], signal.SIGKILL)

            pool = Pool(executor, progress=kill)
            assert gs.fit(problem, search=SEARCH, pool=pool).theta.tolist() == serial.theta.tolist()
            killed.append(None)
            with warnings.catch_warnings():
                # Of one worker, what it held is lost too, which is said.
                warnings.simplefilter("ignore", gs.GraftsimWarning)
                again = gs.fit(problem, search=SEARCH, pool=pool)
            assert again.theta.tolist() == serial.theta.tolist()
            assert killed[0] is not None
            executor._client.close()


@pytest.mark.slow
def test_a_task_that_kills_every_worker_ends(problem):
    """After some losses without a result between, the map gives up and says why."""
    with (
        Pool(local_executor(1)) as pool,
        pytest.warns(gs.GraftsimWarning, match="a worker was lost"),
        pytest.raises(gs.ProblemError, match="lost 4 times in a row"),
    ):
        pool.map(swing.always_dies, problem, [0], "a")


DRIVER = """
import sys
sys.path[:0] = sys.argv[3:]
import graftsim as gs, swing
from graftsim.identify.pool.pool import Pool
from graftsim.identify.pool.workers import local_executor
if __name__ == "__main__":
    search = gs.RandomRestarts(40, seed=1)
    with Pool(local_executor(2), progress=lambda *a: print(*a, flush=True)) as pool:
        found = gs.fit(swing.problem(), search=search, checkpoint=sys.argv[1], pool=pool)
    print(found.theta.tolist())
"""


@pytest.mark.slow
def test_killed_drivers_go_on_to_the_same_answer(serial, tmp_path):
    """`kill -9` after the first task and a little later; no worker is left behind."""
    psutil = pytest.importorskip("psutil")
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, tmp_path / "driver.py", tmp_path / "fit.npz", ROOT / "src"]
    command = [*map(str, command), str(ROOT / "tests"), str(ROOT / "tests/identify")]
    for after in (0.0, 0.3):
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in driver.stdout:
            if not line.startswith("0 "):
                break
        workers = psutil.Process(driver.pid).children()
        time.sleep(after)
        driver.kill()
        driver.wait()
        assert psutil.wait_procs(workers, timeout=30)[1] == []
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.stdout.splitlines()[-1] == str(serial.theta.tolist()), done.stderr
    assert not done.stdout.startswith("0 ")
