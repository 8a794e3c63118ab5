"""The 3-D replay: simulated motion solid, measured motion as a ghost, in one page of HTML.

viser draws it; its own export puts viewer and recording into one document. The page made here holds
the viewer once and one recording a replay, chosen from a list, and asks no network for anything.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graftsim.errors import GraftsimError, ModelError
from graftsim.identify.results.result import Replay
from graftsim.model.model import Model
from graftsim.viewer.files import write_atomically
from graftsim.viewer.libraries import require
from graftsim.viewer.motion import FPS, MAX_FRAMES
from graftsim.viewer.page import render
from graftsim.viewer.parts import Part, parts

START = '<script>window.__VISER_EMBED_DATA__="'
END = "</script>"


class Scene(NamedTuple):
    """One recording: its name, viser's data in base 64, and whether a ghost is in it."""

    name: str
    data: str
    measured: bool


@dataclass(frozen=True)
class ReplayPage:
    """viser's viewer in two halves, between which a recording is put, and the recordings."""

    head: str
    tail: str
    scenes: tuple[Scene, ...]

    def as_json(self) -> str:
        """All of it for a script element of a page: no `<` is left that could end the element."""
        value = {
            "head": self.head,
            "tail": self.tail,
            "scenes": [s._asdict() for s in self.scenes],
        }
        return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def replay_page(
    model: Model,
    replays: Sequence[Replay],
    *,
    fps: float = FPS,
    max_frames: int = MAX_FRAMES,
    drawn: list[Part] | None = None,
    forces: Sequence[Sequence[np.ndarray]] | None = None,
) -> ReplayPage:
    """Record every replay of a model; replays without a finite simulated position are left out.

    At most `fps` frames a second and `max_frames` a replay are kept.
    drawn: what is drawn of the model (`graftsim.viewer.dressed`); by default its shapes.
    forces: for each replay and sample the places and forces [n, 2, 3] (m, N) to show as arrows.
    Raises GraftsimError: viser is not installed, or it is a version whose export is not
    understood; ModelError: positions that do not belong to the model.
    """
    require("The 3-D replay", "viser")
    arrows = [None] * len(replays) if forces is None else forces
    both = [(_checked(model, x), f) for x, f in zip(replays, arrows, strict=True)]
    usable = [(r, f) for r, f in both if r is not None]
    if not usable:
        return ReplayPage("", "", ())
    import viser

    from graftsim.viewer.scene import record

    solid = parts(model) if drawn is None else drawn
    # viser prints an address that nobody is meant to open.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            pages = [
                record(server, model, solid, r, fps=fps, limit=max_frames, forces=f)
                for r, f in usable
            ]
        finally:
            server.stop()
    scenes = []
    head = tail = ""
    for (replay, _), page in zip(usable, pages, strict=True):
        head, found, rest = page.partition(START)
        data, quote, rest = rest.partition('"')
        _, closed, tail = rest.partition(END)
        if not (found and quote and closed):
            raise GraftsimError(
                f"viser {viser.__version__} exports scenes in a form that is not understood. "
                "Install another version: pip install 'viser>=1.1,<1.2'"
            )
        ghost = replay.measured is not None and bool(np.isfinite(replay.measured).all(1).any())
        scenes.append(Scene(replay.name, data, ghost))
    return ReplayPage(head, tail, tuple(scenes))


def replay_html(
    model: Model,
    replays: Sequence[Replay],
    path: str | Path | None = None,
    *,
    title: str | None = None,
    fps: float = FPS,
    max_frames: int = MAX_FRAMES,
    drawn: list[Part] | None = None,
    forces: Sequence[Sequence[np.ndarray]] | None = None,
) -> str:
    """A page that plays the replays of a model in a browser, without a server or a network.

    Simulated motion is solid, with a colour a link; measured motion is a translucent ghost. Links
    without a shape are drawn as bones. Written to `path` too, if one is given. Raises: see
    `replay_page`; OSError when the file cannot be written.
    """
    page = replay_page(model, replays, fps=fps, max_frames=max_frames, drawn=drawn, forces=forces)
    html = render(title or f"{model.name}: replay", page.scenes, page.as_json())
    if path is not None:
        write_atomically(path, html)
    return html


def _checked(model: Model, replay: Replay) -> Replay | None:
    """A replay cut where its simulated motion stops being finite; None if that is at once."""
    for what, q in {"simulated": replay.simulated, "measured": replay.measured}.items():
        if q is not None and (np.ndim(q) != 2 or np.shape(q)[1] != model.nq):
            raise ModelError(
                f"Replay '{replay.name}': {what} positions must have shape [n, {model.nq}], "
                f"got {np.shape(q)}."
            )
    good = np.asarray(np.isfinite(np.asarray(replay.simulated, float)).all(1))
    count = len(good) if good.all() else int(np.argmin(good))
    count = min(count, len(replay.time))
    if replay.measured is not None:
        count = min(count, len(replay.measured))
    if count == 0:
        return None
    measured = None if replay.measured is None else np.asarray(replay.measured)[:count]
    return Replay(replay.name, np.asarray(replay.time)[:count], measured, replay.simulated[:count])
