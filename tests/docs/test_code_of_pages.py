"""The code of every page runs: its blocks, one after the other, are a program.

What a page takes for granted stands in `assumed/PAGE.py`: names that its first block uses, and
`holds`, which says what must be true in the end. A block that cannot run carries a comment
`<!-- not run: reason -->` before it.
"""

import glob
import linecache
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graftsim.cli import main
from pages import PAGES, blocks, commands

ASSUMED = Path(__file__).parent / "assumed"
LANGUAGES = ("python", "py")
WITH_CODE = [p for p in PAGES if any(not b.spared for b in blocks(p, *LANGUAGES))]
# Pages whose commands are run too, with the files of `machine.py`.
WITH_COMMANDS = ("how_do_i",)


def execute(text: str, name: str, line: int, names: dict) -> None:
    """Runs code as a part of the file that it stands in, for errors and `inspect`."""
    padded = "\n" * (line - 1) + text
    file = f"<{name}:{line}>"
    linecache.cache[file] = (len(padded), None, padded.splitlines(True), file)
    exec(compile(padded, file, "exec"), names)


def call(command: str) -> None:
    """Runs a command of the shell in this process."""
    words = [w for x in shlex.split(command, comments=True)[1:] for w in (glob.glob(x) or [x])]
    assert main(words) == 0, command


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: p.stem)
def test_code_runs(page, place, monkeypatch):
    """Nothing raises, and what the page says holds."""
    module = ModuleType("__page__")
    monkeypatch.setitem(sys.modules, "__page__", module)
    assumed = ASSUMED / f"{page.stem}.py"
    if assumed.exists():
        execute(assumed.read_text(), assumed.name, 1, module.__dict__)
    shell = ("sh",) if page.stem in WITH_COMMANDS else ()
    for block in blocks(page, *LANGUAGES, *shell):
        if block.spared:
            continue
        if block.language == "sh":
            for command in commands(block):
                call(command)
        else:
            execute(block.text, page.name, block.line, module.__dict__)
    if "holds" in module.__dict__:
        module.holds()


def test_every_assumption_has_its_page():
    """No file of assumptions is left over."""
    assert {p.stem for p in ASSUMED.glob("*.py")} <= {p.stem for p in WITH_CODE}
