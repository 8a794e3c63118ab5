"""The code of every page runs: its blocks, one after the other, are a program.

What a page takes for granted stands in `assumed/PAGE.py`: names that its first block uses, and
`holds`, which says what must be true in the end. A block that cannot run carries a comment
`<!-- not run: reason -->` before it; one that `<!-- wants: packages -->` runs where all of them are
installed.
"""

import glob
import linecache
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import PAGES, ROOT, blocks, commands

from graftsim.cli import main

ASSUMED = Path(__file__).parent / "assumed"
LANGUAGES = ("python", "py")
WITH_CODE = [p for p in PAGES if any(not b.spared for b in blocks(p, *LANGUAGES))]
# Pages whose commands are run too, with the files of `machine.py`.
WITH_COMMANDS = ("how_do_i",)
# Pages that are run as a file, since their processes import it again.
AS_FILE = ("scale",)
# Minutes each.
SLOW = ("discovery", "how_do_i", "locomotion", "policies", "posterior", "scale")


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


def run_file(page: Path) -> None:
    """Runs the code of a page, what it takes for granted before it, as a script."""
    parts = [(ASSUMED / f"{page.stem}.py").read_text()]
    parts += [b.text for b in blocks(page, *LANGUAGES) if not b.spared]
    parts.append('if __name__ == "__main__":\n    holds()\n')
    Path("page.py").write_text("\n".join(parts))
    subprocess.run([sys.executable, "page.py"], check=True)


def params():
    """The pages with code, those that take minutes marked."""
    for page in WITH_CODE:
        marks = [pytest.mark.slow, pytest.mark.timeout(900)] if page.stem in SLOW else []
        yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.parametrize("page", list(params()))
def test_code_runs(page, place, monkeypatch):
    """Nothing raises, and what the page says holds."""
    if page.stem in AS_FILE:
        run_file(page)
        return
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


def test_the_list_for_language_models_names_pages():
    """Each link of llms.txt leads to a page."""
    text = (ROOT / "docs/llms.txt").read_text()
    named = re.findall(r"\]\((\w+)/\)", text)
    assert named and all((ROOT / f"docs/{x}.md").is_file() for x in named)
