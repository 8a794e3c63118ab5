"""The impact scenes of the conformance table as cases for MuJoCo, MJX and Brax.

From the same data as graftsim's models (`tests/oracles/impacts_table.py`). Restitution is a damped
spring, so there are no slopes in it; friction has a time constant of its own, as in G7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from contact_scenes import Case, _bouncy, _document, _smooth
from impact_rows import CHECKS
from impacts_scenes import FreeScene, LegScene, PendulumScene, Scene

# As in `contact_scenes._bouncy`: 7 mm deep at a metre a second, 1 mm where steps are cheap.
H, K, FINE = 1e-4, 2e4, (50, 50.0)
ROWS = [row for row, check in CHECKS.items() if check.impacts is None]


def impact(row: str) -> Case:
    """Slopes of the final state of a scene in its varied numbers, without the restitution."""
    scene = CHECKS[row].scene
    q_names, v_names = scene.labels()
    vary = tuple(
        (kind, {"q": q_names, "v": v_names, "mu": [""]}[kind].index(name))
        for kind, name in scene.inputs
        if kind != "e"
    )
    (q, v), (of_q, of_v) = scene.start(), scene.weights()
    torques = np.array(scene.torques) if isinstance(scene, LegScene) else None

    def xml(h: float, k: float) -> str:
        return _text(scene, h, k)

    def output(q: Any, v: Any) -> Any:
        return of_q @ q[-1] + of_v @ v[-1]

    return Case(
        xml, H, round(scene.T / H), q, v, vary, output, mu=scene.mu or None, ctrl=torques, k=K,
        fine=FINE,
    )  # fmt: skip


def _text(scene: Scene, h: float, k: float) -> str:
    match scene:
        case FreeScene():
            fixed = "".join(
                f"<geom {_shape(f.kind, f.size)} {_place(f.at, f.rotation)} {_name('fixed', i)}/>"
                for i, f in enumerate(scene.fixed)
            )
            free = "".join(_body(b, i) for i, b in enumerate(scene.bodies))
            meshes = "".join(
                f'<mesh name="{b.name}" vertex="{_numbers(np.ravel(b.vertices))}"/>'
                for b in scene.bodies
                if b.vertices
            )
            names = [f"fixed{i}" for i in range(len(scene.fixed))]
            moving = [f"free{i}" for i in range(len(scene.bodies))]
            pairs = [(a, b) for b in moving for a in names]
            pairs += [(a, b) for i, b in enumerate(moving) for a in moving[:i]]
            text = _world(scene, h, k, fixed + free, pairs)
            return text.replace("<worldbody>", f"<asset>{meshes}</asset><worldbody>")
        case PendulumScene():
            return _world(scene, h, k, _pendulum(scene), [("fixed0", "free0")])
        case LegScene():
            return _leg(scene, h, k)
    raise NotImplementedError(type(scene).__name__)


def _world(scene: Scene, h: float, k: float, world: str, pairs: list[tuple[str, str]]) -> str:
    """The document: smooth shapes meet by their masks, rough ones by pairs."""
    kinds = _bouncy(k, scene.e)
    gravity = f"0 0 {-scene.gravity}"
    if scene.mu == 0:
        return _document(h, world, gravity=gravity, **_smooth(kinds))
    pair = "".join(_pair(a, b, kinds["contact"], k) for a, b in pairs)
    kinds["contact"] += ' contype="0" conaffinity="0"'
    return _document(h, world, gravity=gravity, option='cone="elliptic"', pair=pair, **kinds)


def _pair(a: str, b: str, contact: str, k: float) -> str:
    return f"""<pair geom1="{a}" geom2="{b}" condim="3" {contact}
        solreffriction="{2 / k**0.5!r} 1" friction="1 1 0.005 0.0001 0.0001"/>"""


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in values)


def _name(what: str, i: int) -> str:
    return f'name="{what}{i}"'


def _shape(kind: str, size: Any) -> str:
    return f'type="{kind}" size="{_numbers(size) or "50 50 1"}"'


def _place(at: Any, rotation: Any) -> str:
    return f'pos="{_numbers(at)}" quat="{_numbers(rotation)}"'


def _body(b: Any, i: int) -> str:
    shape = f'type="mesh" mesh="{b.name}"' if b.vertices else _shape(b.kind, b.size)
    return f"""<body><freejoint/>
        <inertial pos="0 0 0" mass="{b.mass}" diaginertia="{_numbers(b.inertia)}"/>
        <geom {shape} quat="{_numbers(b.turned)}" {_name("free", i)}/></body>"""


def _pendulum(scene: PendulumScene) -> str:
    p = scene.pendulum
    wall = _place((scene.wall, 0, 0), (0.5**0.5, 0, -(0.5**0.5), 0))
    inertial = [
        f'<inertial pos="0 0 {-c}" mass="{m}" diaginertia="{I} {I} {I}"/>'
        for c, m, I in zip(p.centres, p.masses, p.inertias, strict=True)
    ]
    hinge = '<joint axis="0 1 0"/>'
    return f"""<geom {_shape("plane", ())} {wall} name="fixed0"/><body>{hinge}{inertial[0]}
        <body pos="0 0 {-p.lengths[0]}">{hinge}{inertial[1]}
        <geom type="sphere" size="{scene.radius}" pos="0 0 {-p.lengths[1]}" name="free0"/>
        </body></body>"""


def _leg(scene: LegScene, h: float, k: float) -> str:
    """The robot's file with a floor, motors and armature; of its shapes the toe alone touches."""
    import mujoco

    spec = mujoco.MjSpec.from_string(scene.text())
    spec.option.timestep, spec.option.gravity = h, [0, 0, -scene.gravity]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.compiler.discardvisual = False  # it takes what touches by pairs alone for visual
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    toe = next(g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_SPHERE)
    toe.name = "free0"
    floor = spec.worldbody.add_geom(name="fixed0", type=mujoco.mjtGeom.mjGEOM_PLANE)
    floor.size, floor.pos, floor.contype, floor.conaffinity = [50, 50, 1], [0, 0, scene.floor], 0, 0
    for joint in spec.joints:
        joint.armature, joint.range, joint.limited = scene.armature, [0, 0], 0
        motor = spec.add_actuator(name=joint.name, target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
    spec.compile()
    kinds = _bouncy(k, scene.e)
    text = spec.to_xml().replace("</mujoco>", "")
    custom = f"<custom>{kinds['custom']}</custom>"
    pair = _pair("fixed0", "free0", kinds["contact"], k)
    return f"{text}{custom}<contact>{pair}</contact></mujoco>"
