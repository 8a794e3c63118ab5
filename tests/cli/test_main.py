"""The command itself: help, version, unknown commands, exit codes, what it imports."""

import subprocess
import sys

import pytest

import graftsim
from graftsim.cli import main

RUN = (
    "import sys\nfrom graftsim.cli import main\ncode = None\n"
    "try:\n    code = main({args!r})\nexcept SystemExit as e:\n    code = e.code\n"
    "heavy = ('jax', 'mujoco', 'scipy', 'matplotlib', 'graftsim.engine', 'graftsim.identify')\n"
    "print('LOADED', [m for m in heavy if m in sys.modules])\n"
    "sys.exit(code)"
)


def fresh(*args):
    """A command in a process of its own, which says at the end what it loaded."""
    code = RUN.format(args=list(args))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--help"], 0),
        (["fit", "--help"], 0),
        (["discover", "--help"], 0),
        (["inspect", "--help"], 0),
        (["simulate", "--help"], 0),
        (["fit", "--iteration", "3"], 2),
        (["fit"], 2),
        (["discover"], 2),
        (["simulate"], 2),
    ],
)
def test_help_and_wrong_flags_load_nothing_heavy(args, code):
    """What needs no robot answers without loading JAX."""
    done = fresh(*args)
    assert done.returncode == code, done.stderr
    assert "LOADED []" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("flags", [[], ["--parameters"]])
def test_inspect_of_a_urdf_loads_the_array_library_and_no_more(place, flags):
    """A look at a robot file waits for JAX alone: no solver, no estimation, no MuJoCo."""
    done = fresh("inspect", str(place / "robot.urdf"), *flags)
    assert done.returncode == 0, done.stderr
    assert "LOADED ['jax']" in done.stdout


def test_inspect_compiles_no_program(place):
    """Numbers are read as arrays of NumPy: slices of JAX arrays are compiled, 20 ms each."""
    code = (
        "import jax\njax.config.update('jax_log_compiles', True)\n"
        "from graftsim.cli import main\nimport sys\n"
        f"sys.exit(main(['inspect', {str(place / 'robot.urdf')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Compiling" not in done.stderr


def test_computes_in_float64_as_a_program(place):
    """Started as a program, the command turns on float64 before JAX is loaded."""
    code = (
        "from graftsim.cli import main\nimport sys\n"
        f"code = main(['inspect', {str(place / 'robot.urdf')!r}, '--json'])\n"
        "import jax\nprint(jax.numpy.zeros(()).dtype, file=sys.stderr)\nsys.exit(code)"
    )
    env_free = {"JAX_ENABLE_X64": "", "JAX_PLATFORMS": ""}
    import os

    environment = {k: v for k, v in os.environ.items() if k not in env_free}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith("float64")


def test_usage(cli):
    """Without arguments the usage goes to standard error with code 2; asked for, to output."""
    code, out, err = cli()
    assert (code, out) == (2, "")
    assert "graftsim fit ROBOT LOG" in err
    code, out, err = cli("--help")
    assert (code, err) == (0, "")
    assert "graftsim inspect ROBOT" in out


def test_version(cli):
    """--version prints the name and the number."""
    code, out, _ = cli("--version")
    assert code == 0
    assert out == f"graftsim {graftsim.__version__}\n"


def test_runs_as_a_module():
    """`python -m graftsim` is the command."""
    run = [sys.executable, "-m", "graftsim", "--version"]
    assert subprocess.run(run, capture_output=True, text=True).stdout == (
        f"graftsim {graftsim.__version__}\n"
    )


@pytest.mark.parametrize(("wrong", "near"), [("simulte", "simulate"), ("Fit", "fit")])
def test_unknown_command(cli, wrong, near):
    """A command that does not exist is answered with the nearest."""
    code, out, err = cli(wrong, "x")
    assert (code, out) == (2, "")
    assert f"no command '{wrong}'" in err
    assert near in err


@pytest.mark.parametrize("args", [["fit", "r.urdf", "--fre", "x"], ["inspect", "r", "--jsn"]])
def test_unknown_flag(args, capsys):
    """A flag that does not exist ends with code 2 and the nearest flag."""
    with pytest.raises(SystemExit) as stopped:
        main(args)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert args[2] if args[0] == "inspect" else "--fre" in said
    assert "--free" in said or "--json" in said


def test_help_names_values_and_groups(capsys):
    """The help of fit shows what stands for each value, in groups, without type noise."""
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for part in (
        "ROBOT",
        "LOG...",
        "--free SELECTOR[=DOMAIN]...",
        "data options",
        "--out FOLDER",
        "simulation options",
        "solver options",
        "Example:",
        "--horizon S",
    ):
        assert part in shown
    assert "{None}" not in shown
    assert "STR" not in shown


def test_interrupt(monkeypatch, cli, place):
    """Ctrl-C ends with 130 and one line."""
    from graftsim.cli import inspect

    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(inspect, "run", stop)
    code, out, err = cli("inspect", place / "robot.urdf")
    assert (code, out, err) == (130, "", "graftsim inspect: interrupted.\n")


@pytest.mark.parametrize(
    "flags",
    ["--dt nan", "--dt inf", "--dt 1e-308", "--dt=-1", "--seed=-1", "--seconds nan", "--seconds 0",
     "--substeps 0", "--noise nan", "--ground inf"],
)  # fmt: skip
def test_numbers_out_of_their_range(capsys, flags):
    """A usage error that names the flag, before anything is read."""
    assert main(["simulate", "nowhere.urdf", *flags.split()]) == 2
    flag = flags.replace("=", " ").split()[0]
    assert f"graftsim simulate: {flag}: a " in capsys.readouterr().err


@pytest.mark.parametrize("line", ["dt = nan", "seed = -1", "iterations = -1", "holdout = 1.5"])
def test_numbers_of_a_run_file_out_of_their_range(tmp_path, capsys, line):
    """The same ranges hold in run files."""
    run = tmp_path / "run.toml"
    run.write_text(line + "\n")
    assert main(["fit", "nowhere.urdf", "log.csv", "--run", str(run)]) == 2
    assert f"{line.split()[0]} = " in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 7 TiB"), RuntimeError("RESOURCE_EXHAUSTED: 7 TiB wanted")],
)
def test_too_little_memory(monkeypatch, cli, place, error):
    """What does not fit is an error with code 2, whoever noticed it."""
    from graftsim.cli import inspect

    def grow(options):
        raise error

    monkeypatch.setattr(inspect, "run", grow)
    code, _, err = cli("inspect", place / "robot.urdf")
    assert code == 2
    assert err == f"graftsim inspect: not enough memory: {error}\n"
