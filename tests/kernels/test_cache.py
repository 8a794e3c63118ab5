"""Machine code on disk: found again, rebuilt when damaged, limited, and never in the way."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graftsim as gs
from graftsim.kernels.codegen import cache

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import jax.numpy as jnp
from graftsim import kernels
from graftsim.kernels.codegen import cache
found = []
read = cache.read
cache.read = lambda key: found.append(read(key)) or found[-1]
print(float(kernels.compile(lambda x: jnp.sin(x) * 3, 1.0)(0.5)), sum(f is not None for f in found))
"""


def run(folder: Path | str) -> str:
    """Compile and call a function in another process; its value, and how often code was found."""
    env = os.environ | {"GRAFTSIM_KERNEL_CACHE": str(folder), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_finds_the_code(tmp_path):
    """And how it is called; a damaged file of either is noticed and built anew."""
    first = run(tmp_path)
    assert first.endswith(" 0")
    value = first.split()[0]
    assert run(tmp_path) == f"{value} 2"
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        file.write_bytes(file.read_bytes()[:-7])
        assert run(tmp_path) == f"{value} 1"
        assert run(tmp_path) == f"{value} 2"


def test_several_processes_at_once(tmp_path):
    """All get the value; one builds the code and the others read it; nothing else is left."""
    env = os.environ | {"GRAFTSIM_KERNEL_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    running = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [p.communicate(timeout=120)[0].split() for p in running]
    assert len({value for value, _ in said}) == 1
    # Who comes late finds how it is called, too.
    assert sorted(min(int(found), 1) for _, found in said) == [0, 1, 1]
    assert [p.name.startswith(".new") for p in tmp_path.iterdir()] == [False, False]


def test_a_lock_goes_with_its_process(tmp_path, monkeypatch):
    """Who waits for a process that is killed, goes on; its lock file is no hindrance either."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    code = (
        "from graftsim.kernels.codegen import cache\n"
        "with cache.once('key'): print('in', flush=1); input()"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    holder = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout.readline() == b"in\n"
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    with cache.once("key"):
        pass  # It is patient only so long.
    monkeypatch.setattr(cache, "PATIENCE", 100.0)
    holder.kill()
    holder.wait()
    with cache.once("key"):
        assert [p.name for p in tmp_path.iterdir()] == [".lock-key"]
    assert list(tmp_path.iterdir()) == []


def test_no_folder_and_no_permission(tmp_path):
    """An empty name turns the cache off; a place that cannot be written costs speed alone."""
    assert run("").endswith(" 0")
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(blocked / "below").endswith(" 0")


def test_the_oldest_go_first(tmp_path):
    """Down to the limit, by when they were last used."""
    for k in range(5):
        path = tmp_path / f"k{k}"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 + k, 1000 + k))
    cache.trim(tmp_path, limit=250)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k3", "k4"]


@pytest.mark.parametrize("content", [b"", b"short", bytes(200)])
def test_damage_of_any_kind_reads_as_nothing(tmp_path, monkeypatch, content):
    """And the damaged file is removed."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    (tmp_path / "key").write_bytes(content)
    assert cache.read("key") is None
    assert not (tmp_path / "key").exists()
    cache.write("key", b"code")
    assert cache.read("key") == b"code"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such bits")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch, mode):
    """Neither read nor written, and said once with what to do."""
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(mode)
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(place))
    with pytest.warns(gs.GraftsimWarning, match="chmod go-w"):
        cache.write("key", b"code")
    assert list(place.iterdir()) == []
    assert cache.read("key") is None


def test_a_replaced_file_is_not_run(tmp_path, monkeypatch):
    """A digest without the user's key, a file that others may write, a link: built anew."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    cache.write("key", b"code")
    file = tmp_path / "key"
    good = file.read_bytes()
    assert cache.read("key") == b"code"
    file.write_bytes(hashlib.sha256(b"evil").digest() + b"evil")
    assert cache.read("key") is None
    assert not file.exists()
    file.write_bytes(good)
    file.chmod(0o666)
    assert cache.read("key") is None
    (tmp_path / "elsewhere").write_bytes(good)
    file.symlink_to(tmp_path / "elsewhere")
    assert cache.read("key") is None


def test_folders_are_made_for_the_user_alone(tmp_path, monkeypatch):
    """The cache and the key: 0700 and 0600, whatever the umask."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GRAFTSIM_KERNEL_CACHE", raising=False)
    cache.write("key", b"code")
    own = tmp_path / "home" / "graftsim"
    modes = [p.stat().st_mode & 0o777 for p in (own, own / "kernels", own / "key")]
    assert modes == [0o700, 0o700, 0o600]
    assert cache.read("key") == b"code"
    (own / "key").chmod(0o644 | 0o020)
    assert cache.read("key") is None
