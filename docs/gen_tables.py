"""Write the tables of parameters and variables into the pages, from the code's own catalogues.

python docs/gen_tables.py            rewrites docs/model.md and docs/variables.md
python docs/gen_tables.py --check    exits with 1 when a page is out of date
"""

import sys
from pathlib import Path

from graftsim.model.catalogue import PARAMETERS
from graftsim.taps import CATALOGUE

DOCS = Path(__file__).parent
TABLES = {"model.md": ("parameters", PARAMETERS), "variables.md": ("variables", CATALOGUE)}


def table(entries) -> str:
    """A Markdown table; alternatives of a unit (turning | sliding) are written with 'or'."""
    lines = ["| name | a row for each | unit | meaning |", "|---|---|---|---|"]
    for name, entry in entries.items():
        unit = entry.unit.replace(" | ", " or ")
        lines.append(f"| `{name}` | {entry.rows} | {unit} | {entry.meaning} |")
    return "\n".join(lines)


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
    for page, (mark, entries) in TABLES.items():
        path = DOCS / page
        old = path.read_text(encoding="utf-8")
        new = with_table(old, mark, table(entries))
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
