"""A model as a viser scene, which a live viewer and a recorded replay share; and the recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftsim.identify.results.result import Replay
from graftsim.io.robot.poses import matrix
from graftsim.model.model import Model
from graftsim.viewer.arrows import Arrows
from graftsim.viewer.motion import Motion, bounds, frames, motion
from graftsim.viewer.parts import Part, floats, planes, towards

GHOST = (120, 126, 135)
GHOST_OPACITY = 0.38
FIELD_OF_VIEW = np.deg2rad(35.0)
HOLD = 0.6
"""Pause in s on the last frame, before the player starts again."""


def record(
    server: Any,
    model: Model,
    solid: list[Part],
    replay: Replay,
    *,
    fps: float,
    limit: int,
    forces: Sequence[np.ndarray] | None = None,
) -> str:
    """Draw one replay on a viser server; returns the page that viser makes of it.

    forces: of each sample its places and forces [n, 2, 3] (m, N).
    """
    scene = server.scene
    scene.reset()
    time = np.asarray(replay.time, float)
    count = min(len(time), len(replay.simulated))
    shown = frames(time[:count], fps, limit)
    simulated = motion(model, np.asarray(replay.simulated, float)[shown])
    measured = None
    if replay.measured is not None:
        measured = motion(model, np.asarray(replay.measured, float)[shown])
    measured = measured if measured is not None and measured.known.any() else None
    every = [simulated] + ([measured] if measured is not None else [])
    radius = stage(server, model, solid, every)
    arrows = None if forces is None else Arrows(scene, model, radius)
    tracks = [(Figure(scene, model, "simulated", solid), simulated)]
    if measured is not None:
        tracks.append((Figure(scene, model, "measured", solid, ghost=True), measured))
    for figure, path in tracks:
        figure.show(path, 0)
    recording = server.get_scene_serializer()
    step = np.diff(time[shown])
    for i, pause in enumerate(step, 1):
        recording.insert_sleep(float(max(pause, 0.0)))
        for figure, path in tracks:
            figure.show(path, i)
        if arrows is not None and forces is not None:
            arrows.show(forces[shown[i]])
    if len(step):
        recording.insert_sleep(HOLD)
    return recording.as_html()


class Figure:
    """The links of a model in a scene, and what stands still in the world; a ghost has no colours.

    `meshes`: (link, its handle) of each part that moves.
    """

    def __init__(
        self, scene: Any, model: Model, name: str, solid: list[Part], *, ghost: bool = False
    ) -> None:
        self.handles: list[tuple[int, Any]] = []
        self.meshes: list[tuple[int, Any]] = []
        for i, link in enumerate(model.tree.links):
            mine = [p for p in solid if p.link == i]
            root = f"/{name}/{i}_{_plain(link)}"
            handle = scene.add_frame(root, show_axes=False)
            for k, part in enumerate(mine):
                mesh = _add(scene, f"{root}/{k}_{_plain(part.name)}", part, ghost=ghost)
                self.meshes.append((i, mesh))
            if mine:
                self.handles.append((i, handle))
        for part in solid:
            if part.link < 0 and not ghost:
                _add(scene, f"/world/{_plain(part.name)}", part, ghost=False)

    def show(self, path: Motion, i: int) -> None:
        """Move the links to where they are in frame i; an unknown frame leaves them."""
        if path.known[i]:
            for link, handle in self.handles:
                handle.position = path.position[i, link]
                handle.wxyz = path.rotation[i, link]


def _add(scene: Any, name: str, part: Part, *, ghost: bool) -> Any:
    if part.looks is not None and not ghost:
        return scene.add_mesh_trimesh(name, part.looks, position=part.position, wxyz=part.rotation)
    return scene.add_mesh_simple(
        name,
        part.mesh.vertices.astype(np.float32),
        part.mesh.faces.astype(np.uint32),
        color=GHOST if ghost else part.colour,
        opacity=GHOST_OPACITY if ghost else None,
        flat_shading=part.mesh.flat,
        cast_shadow=not ghost,
        receive_shadow=not ghost,
        position=part.position,
        wxyz=part.rotation,
    )


def stage(
    server: Any, model: Model, solid: list[Part], motions: list[Motion], *, endless: bool = False
) -> float:
    """Up direction, ground and a camera that sees all of the motion; returns its radius (m).

    endless: the ground goes on as far as the camera sees.
    """
    above = up(model)
    server.scene.set_up_direction(above)
    low, high = bounds(solid, motions)
    centre, size = (low + high) / 2, np.maximum(high - low, 1e-3)
    radius = float(np.linalg.norm(size)) / 2
    cell = _round_length(radius / 4)
    ground = [(p.position, p.rotation) for p in planes(model)]
    if not ground and floats(model):
        foot = centre - above * float(np.abs(above) @ size) / 2
        ground = [(foot, towards(above))]
    for i, (position, turn) in enumerate(ground):
        normal = matrix(turn)[:, 2]
        below = centre - normal * float(normal @ (centre - position))
        snapped = below if len(planes(model)) == 0 else _snap(below, position, turn, cell)
        server.scene.add_grid(
            f"/ground/{i}",
            width=cell * np.ceil(6 * radius / cell),
            height=cell * np.ceil(6 * radius / cell),
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(205, 209, 214),
            section_color=(165, 171, 178),
            position=snapped,
            wxyz=turn,
            shadow_opacity=0.2,
            infinite_grid=endless,
            fade_distance=40 * radius if endless else 100.0,
        )
    direction = _view(size, above)
    camera = server.initial_camera
    camera.up = above
    camera.fov = FIELD_OF_VIEW
    camera.look_at = centre
    far = 1.15 if endless else 0.85
    camera.position = centre + direction * radius / np.sin(FIELD_OF_VIEW / 2) * far
    camera.near, camera.far = radius / 100, radius * 200
    return radius


def _view(size: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Direction from the motion to the camera: mostly along its thinnest horizontal extent."""
    axes = [a for a in np.eye(3) if abs(a @ up) < 0.9]
    thin = min(axes, key=lambda a: float(a @ size))
    thin = thin - up * (thin @ up)
    side = np.cross(up, thin)
    direction = thin + 0.42 * side + 0.36 * up
    return direction / np.linalg.norm(direction)


def up(model: Model) -> np.ndarray:
    """Unit vector against gravity; along z without any."""
    gravity = np.asarray(model.world.gravity, float)
    length = float(np.linalg.norm(gravity))
    return -gravity / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])


def _snap(point: np.ndarray, origin: np.ndarray, turn: np.ndarray, cell: float) -> np.ndarray:
    """The point of a grid through `origin` that is nearest to a point of the plane."""
    R = matrix(turn)
    return origin + R @ (np.round(R.T @ (point - origin) / cell) * cell)


def _round_length(x: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is at most x."""
    power = 10.0 ** np.floor(np.log10(max(x, 1e-6)))
    return float(max(k * power for k in (1, 2, 5) if k * power <= max(x, 1e-6) * (1 + 1e-9)))


def _plain(name: str) -> str:
    """A name without what has a meaning in a scene's path."""
    return re.sub(r"[^\w.-]+", "_", name) or "_"
