"""Build the pages, with warnings as errors, and check what came out.

    python docs/build_site.py             # writes site/
    python docs/build_site.py --no-build  # checks site/ as it is

Every link leads to a file of the site and to a place in it, every picture says in words what it
shows, and nothing is fetched from elsewhere. `zensical serve` shows the pages while they are
written.
"""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
# What a page fetches by itself, and where the address stands.
FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The places, links and pictures of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.mute: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps what a tag says of places, links and pictures."""
        has = dict(attrs)
        self.places |= {has[k] or "" for k in ("id", "name") if k in has}
        if tag == "a" and has.get("href"):
            self.links.append(has["href"] or "")
        if tag == "img" and not (has.get("alt") or "").strip():
            self.mute.append(has.get("src") or "")
        address = has.get(FETCHED.get(tag, ""))
        if address and not (tag == "link" and has.get("rel") == "canonical"):
            self.fetched.append(address)


def faults(site: Path) -> list[str]:
    """What is wrong with a built site, a line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: the picture {x} has no alternative text" for x in page.mute]
        found += [f"{name}: {x} is fetched from elsewhere" for x in page.fetched if _outside(x)]
        for link in {x for x in page.links + page.fetched if not _outside(x)}:
            if fault := _lost(link, path, site, pages):
                found.append(f"{name}: {link} {fault}")
    return sorted(found)


def _outside(address: str) -> bool:
    """Whether an address is not of the site."""
    parts = urlsplit(address)
    return bool(parts.scheme and parts.scheme != "data") or bool(parts.netloc)


def _lost(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> str:
    """Why a link of a page leads nowhere, or nothing."""
    parts = urlsplit(link)
    if parts.scheme:
        return ""
    # Pages of errors are shown at any address, so their links begin at the site's root.
    base = site if parts.path.startswith("/") else path.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "is not there"
    page = pages.get(target)
    # The theme makes `__...` itself, in the browser.
    anchor = unquote(parts.fragment)
    if page and anchor and not anchor.startswith("__") and anchor not in page.places:
        return "names a place that is not there"
    return ""


def main() -> None:
    """Builds, unless told not to, and ends with 1 if anything is wrong."""
    if "--no-build" not in sys.argv[1:]:
        subprocess.run(["zensical", "build", "--clean", "--strict"], cwd=ROOT, check=True)
    found = faults(SITE.resolve())
    print(*found, sep="\n")
    print(f"{len(list(SITE.rglob('*.html')))} pages, {len(found)} faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
