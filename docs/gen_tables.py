"""Write tables into the pages: parameters and variables from the code's own catalogues, and results
from the files in docs/results that experiments wrote (`--json`), with machine and date. Those that
docs/results.md has no place for stand in docs/figures.md, in the order of their names.

python docs/gen_tables.py            rewrites the pages
python docs/gen_tables.py --check    exits with 1 when a page is out of date
"""

import json
import sys
from pathlib import Path

from graftsim.model.catalogue import PARAMETERS
from graftsim.taps import CATALOGUE

DOCS = Path(__file__).parent
HOLDS = {True: "holds", False: "FAILS", None: ""}


def catalogue(entries) -> str:
    """A Markdown table; alternatives of a unit (turning | sliding) are written with 'or'."""
    lines = ["| name | a row for each | unit | meaning |", "|---|---|---|---|"]
    for name, entry in entries.items():
        unit = entry.unit.replace(" | ", " or ")
        lines.append(f"| `{name}` | {entry.rows} | {unit} | {entry.meaning} |")
    return "\n".join(lines)


def figures(path: Path) -> str:
    """The figures of an experiment beside their targets, and where and when they were made."""
    made = json.loads(path.read_text(encoding="utf-8"))
    lines = ["| figure | value | target | |", "|---|---|---|---|"]
    for f in made["figures"]:
        value = "not finite" if f["value"] is None else f"{f['value']:.5g}"
        lines.append(f"| {f['name']} | {value} {f['unit']} | {f['target']} | {HOLDS[f['holds']]} |")
    versions = ", ".join(f"{name} {v}" for name, v in made["versions"].items())
    return "\n".join([*lines, "", f"*{made['date']}, {made['machine']}, {versions}.*"])


def section(path: Path) -> str:
    """Heading, script and table."""
    made = json.loads(path.read_text(encoding="utf-8"))
    script = f"`experiments/{path.stem}.py`, {made['seconds']:.0f} s"
    return f"## {made['title']}\n\n{script}\n\n{figures(path)}"


def pages() -> dict[str, dict[str, str]]:
    """Tables by page and mark."""
    kept = sorted((DOCS / "results").glob("*.json"))
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    among = [path for path in kept if f"<!-- figures {path.stem} -->" in text]
    others = [path for path in kept if path not in among]
    return {
        "model.md": {"parameters": catalogue(PARAMETERS)},
        "variables.md": {"variables": catalogue(CATALOGUE)},
        "results.md": {f"figures {path.stem}": figures(path) for path in among},
        "figures.md": {"figures": "\n\n".join(map(section, others))},
    }


def with_table(text: str, mark: str, content: str) -> str:
    """The text with `content` between `<!-- mark -->` and `<!-- end mark -->`."""
    begin, end = f"<!-- {mark} -->", f"<!-- end {mark} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"The page has no place for the table: {begin} ... {end}.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def main() -> int:
    stale = []
    for page, tables in pages().items():
        path = DOCS / page
        new = old = path.read_text(encoding="utf-8")
        for mark, content in tables.items():
            new = with_table(new, mark, content)
        if new == old:
            continue
        stale.append(page)
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"out of date: {', '.join(stale)}. Run python docs/gen_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
