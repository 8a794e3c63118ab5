"""Networks and discoveries on the page: sentences, tables, curves; and none of it without them."""

from __future__ import annotations

import dataclasses
import json
import re
from html import unescape

import numpy as np
import pytest
from synthetic_grafts import (
    ELBOW,
    FRICTION,
    discovery,
    grafted_result,
    nothing,
    summary,
)
from synthetic_result import result

import graftsim as gs
from graftsim.identify.discover.parts import Part
from graftsim.identify.words import Sureness
from graftsim.report import write_report
from graftsim.report.discovery import advice, formula_along, head
from graftsim.report.grafts import GraftsSection
from graftsim.report.learned import MOST, largest
from graftsim.report.page import render
from graftsim.report.scores import legend, table
from graftsim.report.section import Subject


def words(page: str) -> str:
    """The page's text, without markup and scripts."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a discovery's report."""
    path = tmp_path_factory.mktemp("discovery")
    gs.write_report(discovery(), path)
    return path


@pytest.fixture(scope="module")
def page(folder):
    """Its page."""
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fit_page():
    """The page of a fit with a network."""
    return render(grafted_result())


def test_folder_holds_numbers_robot_and_weights(folder):
    """Four files; the weights can be put on a simulator again, the numbers are read back."""
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["fit.json", "grafts.safetensors", "report.html", "robot.xml"]
    again = gs.load_grafts(discovery().result.start, folder / "grafts.safetensors")
    assert again.grafts.labels == ("friction",)
    content = json.loads((folder / "fit.json").read_text())
    assert content["discovery"]["sentences"] == discovery().sentences()
    assert len(content["discovery"]["scores"]) == 8
    assert content["grafts"][0]["curves"][0]["x"][0] == -5.0
    terms = content["discovery"]["findings"][0]["formula"]
    assert terms[0]["low"] < terms[0]["value"] < terms[0]["high"]


def test_old_weights_do_not_stay_beside_a_fit_without(tmp_path):
    """A folder that is written again has no weights of another fit."""
    write_report(grafted_result(replays=(), traces=()), tmp_path)
    assert (tmp_path / "grafts.safetensors").exists()
    write_report(result(replays=(), traces=()), tmp_path)
    assert not (tmp_path / "grafts.safetensors").exists()


def test_sentences_of_the_discovery_are_the_headline(page):
    """Title and opening say what is missing, in the discovery's own words."""
    text = words(page)
    assert "One effect is missing: joint.qd[shoulder] on joint.tau_passive[shoulder]" in text
    for sentence in discovery().sentences():
        assert re.sub(r"\s+", " ", sentence) in text
    assert text.index("What is missing") < text.index("What the grafts explain")
    assert text.index("What the grafts explain") < text.index("Errors by channel")


def test_what_was_tried_is_explained(page):
    """Each pair with the noise it leaves, and why it was kept or not."""
    text = words(page)
    for part in (
        "kept: the held-out error falls by 96",
        "not kept: the held-out error falls by 0.42",
        "no more than chance",
        "it does not carry over",
        "not fitted: so much is promised by chance with a probability of 0.020",
        "Held-out error over the noise: 30.0 without this effect, 1.14 with the network, "
        "1.05 with the formula",
    ):
        assert part in text, part


def test_formula_is_drawn_and_its_coefficients_have_intervals(page):
    """The table of terms, the model's parameter for one, and a dashed curve over the network's."""
    text = words(page)
    assert (
        "sign(joint.qd[shoulder]) −0.3000 −0.3039 to −0.2961 N m joint.friction[shoulder]" in text
    )
    assert "free joint.friction[shoulder] and look for the rest again" in text
    curves = page[page.index('class="multiples"') :]
    assert "var(--before)" in curves[: curves.index("</figure>")]


def test_formula_along_a_curve():
    """The formula at the points of the curve: its weights times its terms."""
    found = discovery()
    (finding,) = found.findings
    curve = finding.summary.curves[0]
    expected = -FRICTION * np.tanh(curve.x / (0.02 * 2.0)) + 0.02 * curve.x / 2.0
    np.testing.assert_allclose(formula_along(found, finding, curve), expected, rtol=1e-6)


def test_advice_follows_the_terms():
    """All terms are parameters, some are, none is."""
    (finding,) = discovery().findings
    coulomb, linear = finding.formula
    assert "free joint.friction[shoulder] in the next fit" in advice(
        dataclasses.replace(finding, formula=(coulomb,))
    )
    # A positive slope is no damping.
    assert "no parameter of this form" in advice(dataclasses.replace(finding, formula=(linear,)))


def test_screening_is_a_table_of_shares(page):
    """Rows are variables, columns inputs; a cell is the share of what is left."""
    rows, columns, shares, left_out = table(discovery())
    assert rows == ["joint.tau_passive[shoulder]", f"joint.tau_passive[{ELBOW}]"]
    assert len(columns) == 4 and left_out == 0
    assert shares[rows[0], columns[0]] == pytest.approx(0.9)
    strengths = [s for _, s in legend()]
    assert strengths == sorted(strengths, reverse=True) and strengths[0] == 1.0
    assert "90 %" in words(page).replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_large_screening_keeps_the_largest():
    """Too many cells: the best rows and columns stay, the rest is counted."""
    few = discovery()
    group = next(iter(few.scores))
    scores = {group._replace(row=f"j{i}", column=f"joint.qd[j{k}]"): 1.0 + i + k
              for i in range(50) for k in range(40)}  # fmt: skip
    many = dataclasses.replace(few, findings=(), formula=None, scores=scores)
    rows, columns, _, left_out = table(many)
    assert "joint.tau_passive[j49]" in rows and "joint.qd[j39]" in columns
    assert left_out == 2000 - len(rows) * len(columns)
    assert f"{left_out} pairs with small shares" in words(render(many.result, None, many))


def test_nothing_missing_is_good_news():
    """No finding: said so; but not where much is left unexplained."""
    good = head(nothing())
    assert (good.title, good.mood) == ("Nothing is missing", "good")
    assert good.sentences[0].startswith("Nothing is missing: of 8 pairs")
    text = words(render(nothing().result, None, nothing()))
    assert "1.02 times the sensor noise." in text and "What was tried" in text
    bad = head(nothing(900.0))
    assert bad.mood == "flat" and bad.title.startswith("No effect was found")
    assert any("something is missing that none of these can express" in s for s in bad.sentences)


def test_fit_with_a_network_says_what_it_explains(fit_page):
    """From the start by physics alone to the networks; shares, reach, and the curves."""
    text = words(fit_page).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "With the parameters alone the held-out error falls 2.0 times; with the grafts" in text
    for part in (
        "physics alone",
        "A network with 57 weights; what it gives is added to joint.tau_passive.",
        "joint.tau_passive[shoulder] 0.290 0.580 N m 50 %",
        f"joint.tau_passive[{ELBOW}]",
        "N m per rad/s",
        "What they learned",
        "its 95 % band",
    ):
        assert part in text, part
    assert fit_page.count("<figcaption><span>joint.tau_passive") == 2
    assert "What is missing" not in text


def test_networks_that_do_nothing_are_called_out():
    """Where physics alone reaches the same error, the network is to be left out."""
    whole = grafted_result()
    same = dataclasses.replace(whole, physics=whole.errors)
    said = GraftsSection().context(Subject(same))["sentences"]
    assert any("leave them out" in s for s in said)
    alone = GraftsSection().context(Subject(dataclasses.replace(whole, physics=())))
    assert alone["stages"] == [] and "No physical parameter" in alone["sentences"][0]


def test_network_with_memory_is_named():
    """A recurrent network has no summary; the page says why."""
    assert "friction remembers" in words(render(grafted_result(grafts=())))


def test_only_the_largest_curves_are_drawn():
    """A dozen figures, by reach over the variable; the others are counted."""
    many = [summary(f"g{i}", reach=summary().reach * (1 + i)) for i in range(10)]
    shown, left_out = largest(many)
    assert len(shown) == MOST and left_out == 20 - MOST
    assert {c.column for c in shown[:10]} == {"joint.qd[*]"}
    text = words(render(grafted_result(grafts=tuple(many))))
    assert f"{left_out} curves of inputs with a smaller reach are left out" in text


def test_strange_numbers_make_a_page():
    """Undetermined bands, zero outputs and flat inputs: a page all the same, without NaN."""
    nan = float("nan")
    curves = tuple(
        dataclasses.replace(c, low=c.low * nan, high=c.high * nan, y=0 * c.y, x=0 * c.x)
        for c in summary().curves
    )
    zero = np.zeros((2, 1))
    odd = summary(curves=curves, output_rms=zero, value_rms=zero, mode="replace")
    scaled = summary("gain", mode="scale", output_units=("1",))
    text = words(render(grafted_result(grafts=(odd, scaled))))
    assert "nan" not in text.lower().replace("nano", "")
    assert "scales, as 1 + its output, joint.tau_passive" in text


def test_page_is_safe_and_its_ids_are_unique(page, fit_page):
    """Names are escaped in every part, and no two figures share an id."""
    for html in (page, fit_page):
        own = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert '<"left">' not in own
        ids = re.findall(r'\bid="([^"]+)"', own)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r"url\(#([^)]+)\)", own)) <= set(ids)
        assert not re.search(r"<(link|img|object|embed)\b|@import|url\((?!#)", own)


def test_without_networks_nothing_of_it_is_there():
    """A fit of parameters alone has its page as before."""
    html = render(result())
    assert 'id="grafts"' not in html and 'id="discovery"' not in html
    assert "grafts.safetensors" not in html
    assert not GraftsSection().applies(Subject(result()))


@pytest.mark.parametrize(
    ("sureness", "title", "said"),
    [
        (Sureness.LIKELY, "One effect is likely missing, not certain: ", "would decide"),
        (Sureness.THESE_RUNS, "One effect is missing, known on these runs only: ", "no other run"),
    ],
)
def test_effects_that_are_not_certain_are_called_so(sureness, title, said):
    """In the headline, in the sentences, and where the finding stands, with what each part says."""
    (sure,) = discovery().findings
    parts = (Part("Monday", 0.8, 0.1), Part("Tuesday", 1.3, 0.2))
    found = discovery(findings=(dataclasses.replace(sure, sureness=sureness, parts=parts),))
    top = head(found)
    assert top.title.startswith(title) and top.mood == "flat"
    assert said in " ".join(top.sentences)
    page = words(render(found.result, found=found))
    assert page.count("Monday 0.8 ± 0.2, Tuesday 1.3 ± 0.4") == 2
    assert json.loads(json.dumps(found.as_dict()))["findings"][0]["sureness"] == str(sureness)
