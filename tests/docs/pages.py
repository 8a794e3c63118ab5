"""What a reader can run of a page: its blocks of code, in order."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"(?:<!-- not run: (.+?) -->\n+)?^( *)```(\w+)\n(.*?)^ *```$", re.M | re.S)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, its first line, and why it is not run, or ''."""

    language: str
    text: str
    line: int
    spared: str


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in some languages; scripts that it shows whole are tested as such."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        spared, indent, language, code = match.groups()
        code = re.sub(f"^{indent}", "", code, flags=re.M)
        line = text.count("\n", 0, match.start(4)) + 1
        if language in languages and not code.startswith("--8<--"):
            found.append(Block(language, code, line, spared or ""))
    return found


def commands(block: Block) -> list[str]:
    """The calls of graftsim in a block of shell, a line each."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    return [x.strip() for x in lines if re.match(r"\s*(\S*/)?graftsim [a-z]", x)]
