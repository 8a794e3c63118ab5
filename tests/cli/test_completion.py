"""Completion: the script for bash completes there, those for other shells hold the same words."""

import contextlib
import io
import shutil
import subprocess

import pytest

from graftsim.cli import STRUCTS, main

TRY = """
{script}
function=$(complete -p graftsim | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({words}); COMP_CWORD=$(({count} - 1))
$function graftsim "${{COMP_WORDS[COMP_CWORD]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p graftsim
"""


@pytest.fixture(scope="module")
def script():
    """The script for bash."""

    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert main(["completion", "bash"]) == 0
    return written.getvalue()


def completed(script, folder, *words):
    """What bash offers after words, the last unfinished; and how it is registered."""
    quoted = " ".join(f"'{w}'" for w in words)
    text = TRY.format(script=script, words=quoted, count=len(words))
    done = subprocess.run(["bash"], input=text, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    *offered, registered = done.stdout.splitlines()
    return [x for x in offered if x], registered


WORDS = pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("fi",), ["fit"]),
        (("fit", "robot.urdf", "--fr"), ["--free"]),
        (("simulate", "r", "--integrator", ""), ["implicit_damping", "rk4", "semi_implicit_euler"]),
        (("fit", "--run", "ru"), ["run.toml"]),
        (("fit", "ro"), []),
    ],
)


@WORDS
def test_bash_completes(script, tmp_path, words, offered):
    """Commands, flags, values and files; where there is nothing, bash's own files."""
    (tmp_path / "run.toml").touch()
    found, registered = completed(script, tmp_path, "graftsim", *words)
    assert sorted(x for x in found if not words[-1] or x.startswith(words[-1])) == offered
    assert "-o default" in registered


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@WORDS
def test_fish_completes(tmp_path, capsys, words, offered):
    """The same, asked of fish itself."""
    assert main(["completion", "fish"]) == 0
    (tmp_path / "words.fish").write_text(capsys.readouterr().out)
    (tmp_path / "run.toml").touch()
    ask = f"source words.fish; complete -C 'graftsim {' '.join(words)}'"
    done = subprocess.run(["fish", "-c", ask], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    # Where it finds nothing that begins alike, fish offers what has these letters in this order.
    begun = [x for x in found if x.startswith(words[-1]) and x not in ("run.toml", "words.fish")]
    assert set(offered) <= set(found) and set(begun) <= set(offered)


def test_bash_knows_every_command(script, tmp_path):
    """No command is missing."""
    found, _ = completed(script, tmp_path, "graftsim", "")
    assert set(STRUCTS) <= set(found)


@pytest.mark.parametrize(("shell", "files"), [("zsh", "_files\n"), ("fish", "complete --command")])
def test_other_shells(shell, files, capsys):
    """Every command and flag, descriptions in one line, and files."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    spec = next(x for x in script.splitlines() if "COMPLETION_SPEC =" in x)
    assert all(f"'{command}'" in spec for command in STRUCTS) and "'--horizon'" in spec
    assert "\\n" not in spec and files in script


def test_no_shell_is_wrong_use(capsys):
    """The shells that there are, and code 2."""
    with pytest.raises(SystemExit) as stopped:
        main(["completion", "tcsh"])
    assert stopped.value.code == 2
    assert "fish" in capsys.readouterr().err
