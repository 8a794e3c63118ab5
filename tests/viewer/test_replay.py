"""A replay is one page that needs nothing else, whatever the model looks like."""

from __future__ import annotations

import base64
import json
import re

import msgspec
import numpy as np
import pytest

import zoo
from graftsim import Builder, Simulator
from graftsim.errors import GraftsimError, ModelError
from graftsim.identify.results.result import Replay
from graftsim.model.shapes import ELLIPSOID
from graftsim.viewer import replay_html, replay_page
from graftsim.viewer.motion import bounds, frames, motion, quaternions
from graftsim.viewer.parts import floats, parts, planes
from graftsim.viewer.shapes import box, capsule, cylinder, hull, solid, sphere

zstandard = pytest.importorskip("zstandard")


def volume(mesh) -> float:
    """Of a closed mesh with outward faces, by the divergence theorem."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.sum(a * np.cross(b, c)) / 6)


def swing(model, seconds: float = 0.5, dt: float = 0.005) -> Replay:
    """A short fall from an odd position."""
    simulator = Simulator(model, dt)
    path = simulator.rollout(simulator.initial_state(), steps=round(seconds / dt))
    q = np.asarray(path.q)
    return Replay("a <b> & c", np.asarray(path.time), q + 0.01, q)


def recording(data: str) -> dict:
    """viser's recording as plain data."""
    raw = base64.b64decode(data)
    inner = zstandard.ZstdDecompressor().decompress(raw[8:], max_output_size=1 << 28)
    length = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + length], strict=False)


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [
        (sphere(0.5), 4 / 3 * np.pi * 0.125),
        (capsule(0.1, 0.3), np.pi * 0.01 * (0.6 + 0.4 / 3)),
        (cylinder(0.2, 0.5), np.pi * 0.04),
        (solid(ELLIPSOID, np.array([0.1, 0.2, 0.3]), np.zeros((0, 3))), 4 / 3 * np.pi * 0.006),
        (box(np.array([0.1, 0.2, 0.3])), 0.048),
        (
            hull(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]], float)),
            1 / 6,
        ),
    ],
)
def test_meshes_are_closed_and_face_outwards(mesh, expected):
    """Their volume is the shape's, within the roughness of the mesh."""
    assert volume(mesh) == pytest.approx(expected, rel=0.03)


def test_page_holds_all_it_needs():
    """No outside address, the title escaped, small, and one recording a replay."""
    model = zoo.double_pendulum()
    replays = [swing(model), Replay("second", *swing_parts(model))]
    html = replay_html(model, replays, title="<title> & co")
    assert len(html) < 3e6
    head = html[: html.index("<script")]
    assert "&lt;title&gt; &amp; co" in head and "a &lt;b&gt; &amp; c" in head
    assert not re.search(r"https?://", head) and not re.search(r"<script[^>]*\bsrc=", html)
    data = json.loads(re.search(r'<script id="replay"[^>]*>(.*?)</script>', html, re.DOTALL)[1])
    assert [s["name"] for s in data["scenes"]] == ["a <b> & c", "second"]
    assert [s["measured"] for s in data["scenes"]] == [True, False]
    assert data["head"].startswith("<!") and "</html>" in data["tail"]


def swing_parts(model):
    """Time, no measurement, and motion of a replay."""
    r = swing(model, 0.2)
    return r.time, None, r.simulated


def test_recording_runs_at_most_thirty_frames_a_second():
    """Links of both motions move, in as many frames as were asked for, over the right time."""
    model = zoo.double_pendulum()
    page = replay_page(model, [swing(model, 1.0)])
    made = recording(page.scenes[0].data)
    moves = [(t, m["name"]) for t, m in made["messages"] if m["type"] == "SetOrientationMessage"]
    names = {name for _, name in moves}
    assert any(n.startswith("/simulated/") for n in names)
    assert any(n.startswith("/measured/") for n in names)
    assert len({round(t, 6) for t, _ in moves}) <= 31
    assert 1.0 <= made["durationSeconds"] <= 2.0


def test_frames_keep_the_ends_and_the_rate():
    """Long and fast logs are decimated, short and slow ones kept."""
    time = np.arange(0, 10, 0.001)
    kept = frames(time)
    assert kept[0] == 0 and kept[-1] == len(time) - 1 and len(kept) <= 302
    assert len(frames(np.arange(0, 1000, 0.01))) <= 1200
    assert list(frames(np.array([0.0, 1.0, 2.0]))) == [0, 1, 2]
    assert list(frames(np.array([3.0]))) == [0]


def test_every_kind_of_shape_is_drawn_and_bare_links_get_bones():
    """Shapes by kind, planes apart, a skeleton where there is no shape."""
    builder = Builder("shapes").link("base", joint="free", mass=1.0, inertia=0.1)
    sizes = {"sphere": 0.1, "capsule": (0.1, 0.2), "box": (0.1,) * 3, "cylinder": (0.1, 0.1)}
    for kind, size in (sizes | {"ellipsoid": (0.1, 0.2, 0.3)}).items():
        builder.geom(kind, size, "base")
    points = np.random.default_rng(0).normal(size=(12, 3))
    builder.geom("mesh", 1, "base", vertices=points).geom("plane", 1)
    builder.geom("polygon", 1, "base", vertices=np.array([[0, 0], [0.1, 0], [0, 0.1]]))
    builder.link("arm", "base", origin=(0, 0, 0.5), mass=0.1, com=(0, 0, 0.3), inertia=0.01)
    model = builder.build()
    drawn = parts(model)
    assert sum(p.link == 0 for p in drawn) == 7
    assert {p.name for p in drawn if p.link == 1} == {"arm bone 0", "arm joint", "arm mass"}
    assert len(planes(model)) == 1 and floats(model) and not floats(zoo.double_pendulum())
    assert replay_page(model, [swing(model, 0.1)]).scenes


def test_box_of_the_motion_and_orientations():
    """A pendulum's box is its circle's; quaternions turn as the matrices do."""
    model = zoo.pendulum(1.0)
    q = np.linspace(0, 2 * np.pi, 100)[:, None]
    low, high = bounds(parts(model), [motion(model, q)])
    assert np.allclose((low + high) / 2, 0, atol=0.1)
    assert np.all(high[1:] - low[1:] > 2.0) and np.all(high[1:] - low[1:] < 2.4)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 3, 3)))
    R = Q * np.linalg.det(Q)[:, None, None]
    w, x, y, z = quaternions(R).T
    assert np.allclose(1 - 2 * (y * y + z * z), R[:, 0, 0])
    assert np.allclose(2 * (x * y - w * z), R[:, 0, 1])


def test_motion_that_is_not_finite_or_not_there():
    """Cut where it ends, hidden where it is not known, and a page without any."""
    model = zoo.double_pendulum()
    r = swing(model)
    broken = r.simulated.copy()
    broken[40:] = np.nan
    page = replay_page(model, [Replay("cut", r.time, np.full_like(r.simulated, np.nan), broken)])
    assert not page.scenes[0].measured
    assert recording(page.scenes[0].data)["durationSeconds"] < 1.0
    assert replay_page(model, [Replay("none", r.time, None, broken * np.nan)]).scenes == ()
    assert "no motion" in replay_html(model, [])
    with pytest.raises(ModelError, match=r"\[n, 2\]"):
        replay_page(model, [Replay("wrong", r.time, None, r.simulated[:, :1])])


def test_file_is_written_and_missing_viser_is_named(tmp_path, monkeypatch):
    """Path gets the returned page; the message says how to install."""
    import importlib.util

    html = replay_html(zoo.pendulum(), [swing(zoo.pendulum(), 0.1)], tmp_path / "replay.html")
    assert (tmp_path / "replay.html").read_text(encoding="utf-8") == html
    monkeypatch.setattr(importlib.util, "find_spec", lambda *a: None)
    with pytest.raises(GraftsimError, match=r"viser.*graftsim\[report\]"):
        replay_page(zoo.pendulum(), [])
