"""The report says what the fit found, in one safe and self-contained page."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from html import escape, unescape

import numpy as np
import pytest
from synthetic_result import history, motions, result

from graftsim.errors import FileError, GraftsimError
from graftsim.identify.results.result import ErrorRow, ParameterRow, Trace, WeakDirection
from graftsim.report import write_report
from graftsim.report.curves import MAX_WINDOWS, POINTS, plots, thin
from graftsim.report.page import render
from graftsim.report.words import _knowledge, headline

ALLOWED = "http://www.w3.org/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the report of the synthetic result."""
    path = tmp_path_factory.mktemp("report") / "out" / "deep"
    write_report(result(), path)
    return path


@pytest.fixture(scope="module")
def page(folder):
    """The page's text."""
    return (folder / "report.html").read_text(encoding="utf-8")


def without_scripts(page: str) -> str:
    """The page's markup alone."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def test_folder_holds_page_numbers_and_robot(folder):
    """Three files, whole, and nothing temporary beside them."""
    assert sorted(p.name for p in folder.iterdir()) == ["fit.json", "report.html", "robot.xml"]
    assert len(json.loads((folder / "fit.json").read_text())["parameters"]) == 7
    assert "<mujoco" in (folder / "robot.xml").read_text()


def test_headline_and_every_name_are_on_the_page(page):
    """The title's number, all parameters, channels, recordings, warnings and the command."""
    r = result()
    ratios = [e.heldout_before / e.heldout_after for e in r.errors]
    mean = math.exp(np.mean(np.log(ratios)))
    text = unescape(re.sub(r"<[^>]+>", "", without_scripts(page)))
    assert f"Held-out error fell {mean:.0f}-fold" in text
    for name in [p.name for p in r.parameters] + [e.channel for e in r.errors] + [r.command]:
        assert name in text
    for words in (*r.warnings, r.weak[0].text, "0.0503", "1.031", "0.990 to 1.072", "kg m²"):
        assert words in text
    assert "swing_1.csv" in text and "swing_2.csv" in text


def test_strings_from_files_cannot_become_markup(page):
    """Names with <, & and quotes appear escaped only."""
    assert "<pendulum>" not in without_scripts(page)
    assert 'elbow <"left">' not in without_scripts(page)
    assert "&lt;pendulum&gt;" in page
    evil = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"
    html = render(
        result(
            warnings=(evil,),
            command=evil,
            settings={evil: {evil: evil}},
            weak=(WeakDirection(evil, 1.0, {evil: 1.0}),),
            parameters=(ParameterRow(evil, evil, 1, 2, 0.1, 1.8, 2.2, evil),) * 2,
            covariance=np.eye(2),
            errors=(ErrorRow(evil, evil, 1, 0.5, 1, 0.5),),
            traces=tuple(
                dataclasses.replace(t, recording=evil, channel=evil, unit=evil)
                for t in result().traces[:2]
            ),
        )
    )
    assert "<script>alert" not in html and "<img" not in html
    assert escape(evil).replace("&gt;", ">")[:12] in html.replace("&gt;", ">")


def test_page_asks_the_network_for_nothing(page):
    """No address but the names of XML's own vocabularies, no external element."""
    own = page[: page.index('id="replay-data"')]
    for address in re.findall(r"https?://[^\s\"'<>)]*", own):
        assert address.startswith(ALLOWED), address
    assert not re.search(r"<(link|img|object|embed)\b|@import|url\((?!#)", own)
    assert not re.search(r"<script[^>]*\bsrc=", page)
    assert len(page) < 3e6


def test_ids_are_unique_and_references_resolve(page):
    """Figures in one page must not share clip paths."""
    ids = re.findall(r'\bid="([^"]+)"', without_scripts(page))
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)


def test_nothing_held_out_is_said():
    """Training error alone is not sold as a prediction."""
    errors = tuple(
        dataclasses.replace(e, heldout_before=math.nan, heldout_after=math.nan)
        for e in result().errors
    )
    head = headline(result(errors=errors))
    assert head.title.startswith("Training error fell") and head.mood != "good"
    assert any("Nothing was held out" in s for s in head.sentences)
    assert "Nothing was held out" in render(result(errors=errors))


@pytest.mark.parametrize(
    ("after", "words", "mood"),
    [(0.02, "fell from 0.200 to 0.0200 rad (10 times smaller)", "good"),
     (0.201, "hardly changed: from 0.200 to 0.201 rad", "flat"),
     (0.6, "rose from 0.200 to 0.600 rad (3.0 times larger)", "bad")],
)  # fmt: skip
def test_headline_is_honest(after, words, mood):
    """Better, the same and worse are told apart, and overfitting is named."""
    head = headline(result(errors=(ErrorRow("joint.q[a]", "rad", 0.2, 0.01, 0.2, after),)))
    assert head.title == f"Held-out error {words}" and head.mood == mood
    assert any("does not carry over" in s for s in head.sentences) == (mood != "good")


def test_mixed_channels_are_listed():
    """A channel that became worse is named under a good headline."""
    errors = (ErrorRow("a", "m", 1, 0.1, 1, 0.01), ErrorRow("b", "m", 1, 0.1, 1, 1.5))
    assert any(
        "It rose in 1 of 2 channels: b" in s for s in headline(result(errors=errors)).sentences
    )


def test_empty_and_undetermined_results_make_a_page():
    """NaN, infinity and nothing at all: still a page, with no NaN printed."""
    nan = math.nan
    empty = result(
        outcome="non-finite", parameters=(), errors=(), traces=(), replays=(), history=(),
        covariance=np.zeros((0, 0)), weak=(), warnings=(), settings={}, command="", seconds=nan,
    )  # fmt: skip
    unknown = [dataclasses.replace(p, std=nan, low=nan, high=nan) for p in result().parameters]
    broken = result(
        parameters=(*unknown, ParameterRow("world.gravity[z]", "1", *(nan,) * 5, "non-finite")),
        covariance=np.full((8, 8), nan),
        errors=(
            ErrorRow("a", "1", nan, nan, nan, nan),
            ErrorRow("b", "1", 1.0, math.inf, 0.0, 0.0),
        ),
        history=tuple(dataclasses.replace(h, cost=nan) for h in history()),
        traces=tuple(dataclasses.replace(t, after=t.after * nan) for t in result().traces),
    )
    for r in (empty, broken):
        text = without_scripts(render(r))
        assert not re.search(r"\bnan\b|\binf\b|NaN|None", text)


def test_thinning_keeps_extremes_and_gaps():
    """Every bucket's lowest and highest sample survives, and so do the ends."""
    rng = np.random.default_rng(0)
    time = np.linspace(0, 100, 250_003)
    values = rng.normal(size=len(time))
    values[123_456], values[200_001] = 50.0, -60.0
    values[50_000:60_000] = np.nan
    t, v = thin(time, values)
    assert len(t) <= POINTS and np.all(np.diff(t) > 0)
    assert np.nanmax(v) == 50.0 and np.nanmin(v) == -60.0
    assert (t[0], t[-1]) == (time[0], time[-1])
    inside = (t > time[50_300]) & (t < time[59_700])
    assert inside.any() and np.isnan(v[inside]).all()
    assert thin(time[:100], values[:100])[1] is not None


def test_large_logs_stay_a_small_page():
    """Many channels, windows and samples: the page says what it leaves out."""
    time = np.linspace(0, 5, 20_000)
    wave = np.stack([np.sin(k * time) for k in range(1, 4)], -1)
    traces = tuple(
        Trace(
            "log",
            f"link.position[{c}]",
            "m",
            w % 5 == 0,
            w,
            time + 6 * w,
            wave,
            2 * wave,
            1.1 * wave,
        )
        for c in range(10)
        for w in range(44)
    )
    html = render(result(traces=traces, replays=()))
    assert len(html) < 10e6
    assert "24 of 30 plots are shown" in html
    assert f"{MAX_WINDOWS} windows a channel are drawn" in html


def test_windows_with_overlapping_clocks_are_set_side_by_side():
    """Times that start anew in each window do not lie on top of each other."""
    traces = tuple(dataclasses.replace(t, time=t.time - t.time[0]) for t in result().traces)
    plot = plots(traces)[0]
    assert plot.laid_out
    assert all(
        b.time[0] > a.time[-1] for a, b in zip(plot.stretches, plot.stretches[1:], strict=False)
    )
    assert not plots(result().traces)[0].laid_out
    assert len(plot.stretches) == len(motions()) // 2


def test_missing_library_is_named(monkeypatch, tmp_path):
    """The message says what to install; without viser the page stands, with a note."""
    import importlib.util

    real = importlib.util.find_spec
    hidden = {"viser"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in hidden else real(name, *a)
    )
    page = write_report(result(), tmp_path).read_text(encoding="utf-8")
    assert "The 3-D replay was left out" in page and "graftsim[report]" in page
    hidden.add("matplotlib")
    with pytest.raises(GraftsimError, match=r"matplotlib.*graftsim\[report\]"):
        write_report(result(), tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    """The message names it."""
    (tmp_path / "out").write_text("")
    with pytest.raises(FileError, match="is a file"):
        write_report(result(), tmp_path / "out")


def test_the_head_counts_what_is_known_if_the_file_may_be_off():
    """Of what intervals say with the file taken as right, how much is left if it may be wrong."""
    row = result().parameters[0]
    sharp = dataclasses.replace(row, name="a", value=1.0, low=0.99, high=1.01, std=0.005)
    wide = dataclasses.replace(
        sharp, name="b", low_with_file=0.5, high_with_file=1.5, std_with_file=0.25
    )
    said = _knowledge((sharp, wide))
    assert said.startswith("2 of 2 parameters are known to within ±10")
    assert "if the file is right, 0 if it may be off" in said
    assert "if the file" not in _knowledge((sharp, dataclasses.replace(sharp, name="c")))


def test_what_was_not_held_out_is_not_printed():
    """Errors of held-out windows stand in the text only where there are some."""
    found = result()
    assert " RMS " in str(found) and ", held out " in str(found)
    bare = [
        dataclasses.replace(e, heldout_before=np.nan, heldout_after=np.nan) for e in found.errors
    ]
    text = str(dataclasses.replace(found, errors=tuple(bare)))
    assert " RMS " in text and "held out" not in text and "nan" not in text
