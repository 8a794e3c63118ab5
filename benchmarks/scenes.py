"""The mechanisms of the kernel benchmark, as one MJCF text each that every engine reads.

The texts hold bodies, joints and damping, nothing else: no shapes, limits, motors or contacts. So
all engines compute the same thing, and the final positions can be compared. Scenes with `contact`
stand on their feet, held by springs; there each engine has its own law of contact.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import made_up
import numpy as np

DT = 0.002
OPTION = f"""<option timestep="{DT}" integrator="Euler" gravity="0 0 -9.81" density="0"
    viscosity="0"><flag contact="disable" eulerdamp="disable"/></option>"""
CHAINS = (2, 5, 12, 30)


class Missing(Exception):
    """A scene cannot be made here; the message is a line for the table."""


@dataclass(frozen=True)
class Scene:
    """A mechanism and its initial state, coordinates as in MuJoCo."""

    name: str
    mjcf: str
    q: np.ndarray
    qd: np.ndarray
    contact: bool = False

    def states(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Initial states side by side; the velocities differ, the first is the scene's own."""
        noise = 0.1 * np.random.default_rng(0).standard_normal((batch, len(self.qd)))
        noise[0] = 0.0
        return np.tile(self.q, (batch, 1)), self.qd + noise


def chain(links: int) -> Scene:
    """Bars of 1 m and 1 kg hanging on each other, turning about y, slightly damped."""
    bodies, ends = "", ""
    for i in range(links):
        bodies += f"""
    <body name="link{i}" pos="0 0 {0 if i == 0 else -1}">
      <inertial pos="0 0 -0.5" mass="1" diaginertia="{1 / 12!r} {1 / 12!r} 1e-3"/>
      <joint name="joint{i}" type="hinge" axis="0 1 0" damping="0.1"/>"""
        ends += "</body>"
    q = np.full(links, 0.1)
    q[0] = 0.4
    return Scene(f"chain{links}", _document("chain", bodies + ends), q, np.zeros(links))


def swimmer(assets: Path) -> Scene:
    """Planar swimmer of five links in free motion."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(file_of(assets / "swimmer" / "swimmer05.xml")))
    qd = np.array([0.1, 0.0, 0.5, *(0.5 * (-1.0) ** i for i in range(model.nv - 3))])
    return Scene("swimmer", plain(model), np.zeros(model.nq), qd)


def a1(assets: Path) -> Scene:
    """Unitree A1 in free fall, turning and moving its damped legs."""
    import mujoco

    text = file_of(assets / "a1" / "a1_primitives.urdf").read_text(encoding="utf-8")
    # A root that is welded to the world would be dropped; links on fixed joints are merged.
    compiler = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    spec = mujoco.MjSpec.from_string(re.sub(r"(<robot[^>]*>)", rf"\1{compiler}", text, count=1))
    spec.worldbody.first_body().add_freejoint()
    spec.compiler.fusestatic = True
    for geom in list(spec.geoms):
        spec.delete(geom)
    model = spec.compile()
    model.dof_damping[6:] = 0.5
    q = np.concatenate([[0, 0, 1, 1, 0, 0, 0], np.tile([0, 0.8, -1.6], 4)])
    qd = np.concatenate([np.zeros(3), [0.3, 0.5, 0.2], np.tile([0.5, -1.0, 1.0], 4)])
    return Scene("A1", plain(model), q, qd)


def moving(name: str, bodies: str, free: bool) -> Scene:
    """A made-up robot whose joints are bent and turn, as different ones do differently."""
    joints = bodies.count('type="hinge"')
    q = 0.3 * np.cos(np.arange(joints))
    qd = np.sin(1.0 + np.arange(joints))
    if free:
        q = np.concatenate([[0, 0, 1, 1, 0, 0, 0], q])
        qd = np.concatenate([np.zeros(3), [0.3, 0.5, 0.2], qd])
    return Scene(name, _document(name, bodies), q, qd)


def standing_a1(assets: Path) -> Scene:
    """The A1 of the contact benchmark, on four feet."""
    import contact

    file_of(assets / "a1" / "a1_primitives.urdf")
    return _standing("standing A1", *contact.a1(assets))


def standing_quadruped(assets: Path) -> Scene:
    """The quadruped of the contact checks in its pose, springs in place of its servos."""
    import contact

    text = file_of(assets / "quadruped" / "standing_quadruped.xml").read_text(encoding="utf-8")
    model = loaded(re.sub("(?s)<actuator>.*</actuator>|<keyframe>.*</keyframe>", "", text))
    angles = {"hx": 0.0, "hy": 0.7, "kn": -1.4}
    pose = {f"{leg}_{joint}": q for leg in contact.LEGS for joint, q in angles.items()}
    pose["root.z"] = 0.35
    return _standing("standing quadruped", contact.held(model, pose), pose)


def _standing(name: str, model: Any, pose: dict[str, float]) -> Scene:
    import graftsim as gs

    state = gs.Simulator(model, DT).initial_state(pose)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        gs.write_mjcf(model, path)
        text = path.read_text(encoding="utf-8")
    text = re.sub("<mujoco[^>]*>", rf'\g<0><option timestep="{DT}"/>', text, count=1)
    return Scene(name, text, np.asarray(state.q), np.asarray(state.qd), contact=True)


def plain(model: Any) -> str:
    """MJCF of a compiled MuJoCo model's bodies, joints, damping and armature alone."""
    import mujoco

    kinds = {
        int(kind): name.removeprefix("mjJNT_").lower()
        for name, kind in mujoco.mjtJoint.__members__.items()
    }

    def body(b: int) -> str:
        text = f"""
    <body name="body{b}" pos="{_numbers(model.body_pos[b])}" quat="{_numbers(model.body_quat[b])}">
      <inertial pos="{_numbers(model.body_ipos[b])}" quat="{_numbers(model.body_iquat[b])}"
        mass="{model.body_mass[b]!s}" diaginertia="{_numbers(model.body_inertia[b])}"/>"""
        for j in range(model.body_jntadr[b], model.body_jntadr[b] + model.body_jntnum[b]):
            kind, dof = kinds[int(model.jnt_type[j])], model.jnt_dofadr[j]
            if kind == "free":
                text += f'\n      <freejoint name="joint{j}"/>'
                continue
            text += f"""
      <joint name="joint{j}" type="{kind}" axis="{_numbers(model.jnt_axis[j])}"
        pos="{_numbers(model.jnt_pos[j])}" damping="{model.dof_damping[dof]!s}"
        armature="{model.dof_armature[dof]!s}"/>"""
        children = (c for c in range(1, model.nbody) if model.body_parentid[c] == b)
        return text + "".join(body(c) for c in children) + "</body>"

    roots = (b for b in range(1, model.nbody) if model.body_parentid[b] == 0)
    return _document("plain", "".join(body(b) for b in roots))


def assets_folder(given: str | None = None) -> Path:
    """Folder of the robot files: as given, else beside the data (GRAFTSIM_DATA)."""
    if given:
        return Path(given)
    return Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")).parent / "assets"


SCENES: dict[str, Callable[[Path], Scene]] = {
    **{f"chain{n}": lambda assets, n=n: chain(n) for n in CHAINS},
    "swimmer": swimmer,
    "A1": a1,
}
# Trees of more joints, and what stands on its feet.
LARGE: dict[str, Callable[[Path], Scene]] = {
    "humanoid": lambda assets: moving("humanoid", made_up.humanoid(), free=True),
    "hand": lambda assets: moving("hand", made_up.hand(), free=False),
    "dual arm": lambda assets: moving("dual arm", made_up.dual_arm(), free=False),
    "standing A1": standing_a1,
    "standing quadruped": standing_quadruped,
}


def make(name: str, assets: Path) -> Scene:
    """Scene by name; `chainN` for any N. Raises Missing: its file or MuJoCo is absent."""
    known = SCENES | LARGE
    if name in known:
        try:
            return known[name](assets)
        except ImportError as error:
            raise Missing(f"left out: {error}") from None
    links = re.fullmatch(r"chain(\d+)", name)
    if links is None:
        raise Missing(f"no scene of that name; there are {', '.join(known)} and chainN")
    return chain(int(links[1]))


def loaded(mjcf: str) -> Any:
    """graftsim's model of a text."""
    import graftsim as gs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        path.write_text(mjcf, encoding="utf-8")
        return gs.load(path)


def _document(name: str, bodies: str) -> str:
    return f"""<mujoco model="{name}"><compiler angle="radian"/>
  {OPTION}
  <worldbody>{bodies}
  </worldbody>
</mujoco>
"""


def _numbers(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)


def file_of(path: Path) -> Path:
    if not path.is_file():
        raise Missing(f"left out: no file {path}; set GRAFTSIM_DATA or --assets")
    return path
