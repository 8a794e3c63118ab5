"""The papers of a release agree: version, citation, changelog."""

import datetime
import re
from pathlib import Path

import graftsim

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_citation_is_of_this_version():
    """CITATION.cff names the version that the package has."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited and cited[1] == graftsim.__version__


def test_versions_stand_in_order_with_their_dates():
    """[Unreleased] first, then versions with their dates, both falling."""
    first, *others = re.findall(r"^## (.+)$", TEXT, re.M)
    assert first == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", x) for x in others]
    assert all(found), others
    order = [(*map(int, m.groups()[:3]), datetime.date.fromisoformat(m[4])) for m in found if m]
    assert order == sorted(order, reverse=True)


def test_lines_stand_under_the_kinds_of_changes():
    """Each kind once a version, in their order, and none of them empty."""
    for version in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        parts = re.split(r"^### (.+)$", version, flags=re.M)
        kinds = parts[1::2]
        assert kinds == [k for k in KINDS if k in kinds], kinds
        assert all(re.search(r"^- ", x, re.M) for x in parts[2::2])
