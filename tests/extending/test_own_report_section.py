"""A section of the report from outside the package: one class and one template."""

import re
from html import unescape
from pathlib import Path
from typing import ClassVar

import pytest

import graftsim as gs
import swing
from graftsim.identify.words import Misfit, Status
from graftsim.report import SECTIONS, Section

TEMPLATE = """\
<section id="payload">
<h2>Payload</h2>
{% for name, kilograms in masses %}
<p>{{ name }} weighs {{ kilograms }} kg.</p>
{% endfor %}
</section>
"""


class Payload(Section):
    """What the links weigh."""

    anchor: ClassVar[str] = "payload"
    title: ClassVar[str] = "Payload <all>"
    template: ClassVar[str] = "payload.html"

    def __init__(self, folder: Path, least: float = 0.0):
        self.folder, self.least = folder, least

    def applies(self, subject):
        """Only of heavy robots."""
        return float(subject.result.model.link.mass.sum()) > self.least

    def context(self, subject):
        """Name and mass of each link."""
        model = subject.result.model
        masses = [f"{m:.2f}" for m in model.link.mass.tolist()]
        return {"masses": list(zip((f"<{n}>" for n in model.tree.links), masses, strict=True))}


@pytest.fixture(scope="module")
def result():
    """A fit."""
    return gs.fit(swing.problem(38.0))


@pytest.fixture
def folder(tmp_path):
    """A folder with the template."""
    (tmp_path / "payload.html").write_text(TEMPLATE, encoding="utf-8")
    return tmp_path


def page(result, folder, *sections):
    """The page's markup."""
    path = gs.write_report(result, folder / "out", sections=sections)
    return re.sub(r"<(script|style)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL)


def anchors(html):
    """Sections in the order of the page, and of its navigation."""
    named = re.findall(r'<section id="(\w+)"', html)
    return named, re.findall(r'<a href="#(\w+)">', html)


def test_a_section_stands_where_it_is_put(result, folder):
    """In the page and in its navigation, its values escaped; all others are as they were."""
    html = page(result, folder, SECTIONS[2], Payload(folder), *SECTIONS[3:])
    named, linked = anchors(html)
    assert named == linked == ["parameters", "payload", "errors", "signals", "convergence",
                               "uncertainty", "replay", "run"]  # fmt: skip
    assert "<p>&lt;link0&gt; weighs 1.00 kg.</p>" in html
    assert '<a href="#payload">Payload &lt;all&gt;</a>' in html


def test_a_section_with_nothing_to_say_is_left_out(result, folder):
    """Its own decision; by default, the page has those of the package that apply."""
    html = page(result, folder, *SECTIONS, Payload(folder, least=50.0))
    assert anchors(html) == anchors(page(result, folder, *SECTIONS))
    assert "Payload" not in unescape(html)


def test_sections_of_the_package_have_a_template_each():
    """With their own name and place on the page."""
    assert len({s.anchor for s in SECTIONS}) == len({s.template for s in SECTIONS}) == len(SECTIONS)
    for s in SECTIONS:
        text = (s.folder / s.template).read_text(encoding="utf-8")
        assert text.startswith(f'<section id="{s.anchor}">')


def test_verdicts_are_enumerations_that_equal_their_words(result):
    """So that files and old code have what they had."""
    row = result.parameters[0]
    assert row.status is Status.CONDITIONAL and row.status == "conditional"
    assert isinstance(result.lack.verdict, Misfit)
    assert result.as_json()["parameters"][0]["status"] == "conditional"
    assert f"{Status.NOT_IDENTIFIABLE}" == "not identifiable"
