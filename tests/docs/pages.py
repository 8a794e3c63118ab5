"""What a reader can run of a page: its blocks of code, in order."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(
    r"(?:<!-- (not run|wants): ([^\n]+?) -->\n+)?^( *)```(\w+)\n(.*?)^ *```$", re.M | re.S
)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, its first line, and why it is not run, or ''."""

    language: str
    text: str
    line: int
    spared: str


def missing(packages: str) -> str:
    """Those of some packages, with commas between, that are not installed."""
    return ", ".join(x for x in packages.split(", ") if find_spec(x) is None)


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in some languages; scripts that it shows whole are tested as such."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        comment, words, indent, language, code = match.groups()
        code = re.sub(f"^{indent}", "", code, flags=re.M)
        line = text.count("\n", 0, match.start(5)) + 1
        spared = missing(words) if comment == "wants" else words or ""
        if language in languages and not code.startswith("--8<--"):
            found.append(Block(language, code, line, spared))
    return found


def commands(block: Block) -> list[str]:
    """The calls of graftsim in a block of shell, a line each."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    return [x.strip() for x in lines if re.match(r"\s*(\S*/)?graftsim [a-z]", x)]
