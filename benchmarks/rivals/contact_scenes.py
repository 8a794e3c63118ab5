"""The contact cases as MJCF texts that MuJoCo, MJX and Brax read, with what to vary and look at.

Bodies float freely in space and move in a plane by symmetry: discs are spheres, the planar box is
one with depth in the plane y-z, where it turns about x. Restitution is given twice, and an engine
reads its own: `solref` in MuJoCo's direct form (MuJoCo, MJX, Brax generalized) and `elasticity`
(Brax spring and positional). Frictionless is condim 1, and friction 0 for Brax.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

G = 9.81
Output = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Case:
    """A scene, its initial state, and n numbers z added to it, of which slopes are taken.

    `vary` names them: ("q", i), ("v", i) or ("mu", 0). `output` maps the path, q [steps, nq] and
    v [steps, nv] after each step, to a vector.
    """

    xml: Callable[[float, float], str]  # of the step h [s] and the stiffness k [1/s^2]
    h: float
    steps: int
    q: np.ndarray
    v: np.ndarray
    vary: tuple[tuple[str, int], ...] = ()
    output: Output | None = None
    mu: float | None = None  # for all shapes, instead of the text's
    ctrl: np.ndarray | None = None
    k: float = 0.0
    fine: tuple[int, float] = (10, 5.0)  # where steps are cheap: so many for one, k so much larger

    def start(self, z: Any) -> tuple[Any, Any, Any]:
        """q, v and mu for z [n]."""

        def moved(base: np.ndarray, kind: str) -> Any:
            rows = np.array(
                [[k == kind and i == j for k, i in self.vary] for j in range(len(base))]
            )
            return base + rows.reshape(len(base), -1) @ z

        mu = moved(np.array([self.mu]), "mu")[0] if self.mu is not None else None
        return moved(self.q, "q"), moved(self.v, "v"), mu


def free(x: float, y: float, z: float, turn: float = 0.0) -> list[float]:
    """Coordinates of a free body that is turned about x."""
    return [x, y, z, np.cos(turn / 2), np.sin(turn / 2), 0, 0]


def _document(
    h: float, world: str, *, gravity: str = "0 0 0", contact: str = "", custom: str = "",
    option: str = "", pair: str = "",
) -> str:  # fmt: skip
    return f"""<mujoco>
  <option timestep="{h!r}" gravity="{gravity}" {option}/>
  <default><geom {contact}/></default>
  <custom>{custom}</custom>
  <contact>{pair}</contact>
  <worldbody>{world}</worldbody></mujoco>"""


def _bouncy(k: float, e: float) -> dict[str, str]:
    """Restitution e by a damped spring of stiffness k per effective mass, or by an impulse.

    A spring-damper in contact until its force vanishes has e = exp(-2 a / tan a) with the damping
    ratio cos a. Brax adds velocity in proportion to the depth; with a given restitution it may not.

    Semi-implicit Euler changes the speed by h^2 k / 4 at most, which depends on where in a step of
    length h v the contact begins: an error of h k / 4 per second in slopes. Too stiff a spring has
    worse slopes, too soft a one lasts pi / sqrt(k).
    """
    low, high = 1e-9, np.pi / 2
    for _ in range(60):
        a = (low + high) / 2
        low, high = (a, high) if np.exp(-2 * a / np.tan(a)) < e else (low, a)
    damping = 0.0 if e == 1 else float(2 * np.cos(a) * np.sqrt(k))
    return {
        "contact": f'solref="{-k!r} {-damping!r}" solimp="0.99 0.99 0.001"',
        "custom": f'<numeric name="elasticity" data="{e}"/>'
        '<numeric name="baumgarte_erp" data="0"/>',
    }


def _smooth(inside: dict[str, str]) -> dict[str, str]:
    inside["contact"] += ' condim="1" friction="0 0 0"'
    return inside


FLOOR = '<geom name="floor" type="plane" size="50 50 1"/>'


def _body(geom: str, extra: str = "") -> str:
    return f"<body><freejoint/>{extra}<geom {geom}/></body>"


def bounce_once() -> Case:
    """G4: slopes of the final height in the initial height and its rate."""

    def xml(h: float, k: float) -> str:
        return _document(h, FLOOR + _body('size="0.1" mass="1"'), **_smooth(_bouncy(k, 1.0)))

    q, v = np.array(free(-1, 0, 1)), np.array([2.0, 0, -2, 0, 0, 0])
    return Case(xml, 1e-4, 10_000, q, v, (("q", 2), ("v", 2)), lambda q, v: q[-1, 2:3], k=2e3)


def two_discs() -> Case:
    """G5: slopes of the second's final place in x_1, v_1, x_2, v_2."""

    def xml(h: float, k: float) -> str:
        two = _body('size="0.1" mass="1"') * 2
        return _document(h, two, **_smooth(_bouncy(k, 1.0)))

    q, v = np.array(free(0, 0, 0) + free(0.5213, 0, 0)), np.eye(12)[0]
    vary = (("q", 0), ("v", 0), ("q", 7), ("v", 6))
    return Case(xml, 1e-4, 10_000, q, v, vary, lambda q, v: q[-1, 7:8], k=2e3)


def sliding_box() -> Case:
    """G6: slope of the distance slid in 1 s in mu = 0.3."""

    def xml(h: float, k: float) -> str:
        box = _body('type="box" size="0.1 0.1 0.05" mass="1"')
        return _document(h, FLOOR + box, gravity=f"0 0 {-G}")

    q, v = np.array(free(0, 0, 0.05)), 6 * np.eye(6)[0]
    return Case(xml, 1e-3, 1000, q, v, (("mu", 0),), lambda q, v: q[-1, :1], mu=0.3)


def tilted_box(scene: Any) -> Case:
    """G7: slopes of the final x, height and angle in the initial spin and in mu.

    MuJoCo's friction is a damper below its limit: it gets a time constant of its own.
    """
    x, y, angle, vx, vy, w = scene.start
    box = scene.box
    m, depth = box.m, 0.1
    a, b = box.a, box.b
    moments = m / 3 * np.array([a**2 + b**2, b**2 + depth**2, a**2 + depth**2])
    inertia = " ".join(map(repr, moments.tolist()))

    def xml(h: float, k: float) -> str:
        kinds = _bouncy(k, box.e)
        pair = f"""<pair geom1="floor" geom2="box" condim="3" {kinds["contact"]}
            solreffriction="{2 / k**0.5!r} 1" friction="1 1 0.005 0.0001 0.0001"/>"""
        body = _body(
            f'name="box" type="box" size="{depth} {a} {b}" contype="0" conaffinity="0"',
            f'<inertial pos="0 0 0" mass="{m}" diaginertia="{inertia}"/>',
        )
        return _document(
            h, FLOOR + body, gravity=f"0 0 {-box.g}", option='cone="elliptic"', pair=pair, **kinds
        )

    def output(q: Any, v: Any) -> Any:
        xp = q.__array_namespace__()
        return xp.stack([q[-1, 1], q[-1, 2], 2 * xp.arctan2(q[-1, 4], q[-1, 3])])

    h = 5e-5
    q, v = np.array(free(0, x, y, angle)), np.array([0, vx, vy, w, 0, 0])
    steps = round(scene.T / h)
    return Case(xml, h, steps, q, v, (("v", 3), ("mu", 0)), output, mu=scene.mu, k=1e4)


def billiards(times: tuple[float, ...]) -> Case:
    """G8: slopes of 1e-4 of the summed squares at some times, in the cue's x, y, vx, vy."""

    def xml(h: float, k: float) -> str:
        walls = "".join(
            f'<geom type="plane" size="500 500 1" pos="{pos}" zaxis="{axis}"/>'
            for pos, axis in (
                ("0 0 0", "1 0 0"), ("300 0 0", "-1 0 0"), ("0 0 0", "0 1 0"), ("0 200 0", "0 -1 0")
            )
        )  # fmt: skip
        discs = _body('size="15" mass="1"') * 4
        return _document(h, walls + discs, **_smooth(_bouncy(k, 1.0)))

    h = 5e-4
    rows = np.round(np.array(times) / h).astype(int) - 1

    def output(q: Any, v: Any) -> Any:
        centres = q[rows].reshape(len(rows), 4, 7)[:, :, :2]
        return 1e-4 * (centres**2).sum((1, 2))

    places = ((60, 97), (200, 100), (230, 84), (230, 116))
    q, v = np.concatenate([free(x, y, 0) for x, y in places]), 250 * np.eye(24)[0]
    vary = (("q", 0), ("q", 1), ("v", 0), ("v", 1))
    return Case(xml, h, rows[-1] + 1, q, v, vary, output, k=1e4, fine=(50, 100.0))


def symmetric_hit(shape: str) -> Case:
    """G9: a ball flies down on the middle of a fixed shape; 0.3 s, elastic.

    Slopes of the final vertical velocity in x, y and vertical velocity.
    """

    def xml(h: float, k: float) -> str:
        world = f"<geom {shape}/>" + _body('size="0.1" mass="1"')
        return _document(h, world, **_smooth(_bouncy(k, 1.0)))

    q, v = np.array(free(0, 0, 0.3)), -np.eye(6)[2]
    vary = (("q", 0), ("q", 1), ("v", 2))
    return Case(xml, 1e-4, 3000, q, v, vary, lambda q, v: v[-1, 2:3], k=2e3)


BOX = 'type="box" size="0.3 0.3 0.1"'
CAPSULE = 'type="capsule" size="0.1 0.4" zaxis="1 0 0"'


def resting_box() -> Case:
    """G10: two steps of a flat box on the floor, slopes in everything of a sum of everything."""

    def output(q: Any, v: Any) -> Any:
        return (q[-1].sum() + v[-1].sum())[None]

    vary = (*(("q", i) for i in range(7)), *(("v", i) for i in range(6)))
    case = sliding_box()
    return Case(case.xml, 2e-3, 2, case.q, 0 * case.v, vary, output, mu=0.5, fine=(1, 1.0))


def sweep() -> tuple[np.ndarray, np.ndarray]:
    """Heights from 2 mm below to 2 mm above the floor, sinking, at rest, rising: q and v."""
    q, v = [], []
    for height in np.linspace(-2e-3, 2e-3, 41):
        for rate in (-0.1, 0.0, 0.1):
            q.append(free(0, 0, 0.05 + height))
            v.append([0, 0, rate, 0, 0, 0])
    return np.array(q), np.array(v)


def quadruped(assets: Path, steps: int) -> Case:
    """G17: slopes of the mean square of q in the first three velocities."""
    import mujoco

    text = (assets / "quadruped" / "standing_quadruped.xml").read_text(encoding="utf-8")
    model = mujoco.MjModel.from_xml_string(text)
    key = model.key("home")

    def xml(h: float, k: float) -> str:
        return text.replace('timestep="0.002"', f'timestep="{h!r}"')

    vary = (("v", 0), ("v", 1), ("v", 2))
    return Case(
        xml, 2e-3, steps, key.qpos.copy(), np.full(model.nv, 0.1), vary,
        lambda q, v: (q**2).mean()[None], ctrl=key.ctrl.copy(), fine=(1, 1.0),
    )  # fmt: skip


def thrown_chain() -> Case:
    """P2: three boxes on ball joints, thrown; default contacts, which do not bounce; 6 s."""
    link = 'type="box" size="0.1 0.04 0.03" mass="1" contype="0"'

    def xml(h: float, k: float) -> str:
        inner = f'<body pos="0.22 0 0"><joint type="ball" pos="-0.11 0 0"/><geom {link}/>'
        world = f"{FLOOR}<body><freejoint/><geom {link}/>{inner}{inner}</body></body></body>"
        return _document(h, world, gravity=f"0 0 {-G}")

    q = np.array([*free(0, 0, 1.0), *(1, 0, 0, 0) * 2])
    v = np.array([1.0, 0, 0, 1, 2, 3, 0, 1, 0, 1, 0, -1])
    return Case(xml, 2e-3, 3000, q, v, fine=(1, 1.0))


def incline(mu: float) -> Case:
    """P3: a block on a slope of 30 degrees, which is gravity that leans."""
    lean = np.radians(30)

    def xml(h: float, k: float) -> str:
        box = _body('type="box" size="0.1 0.1 0.05" mass="1"')
        return _document(
            h, FLOOR + box, gravity=f"{float(G * np.sin(lean))!r} 0 {float(-G * np.cos(lean))!r}"
        )

    return Case(xml, 2e-3, 500, np.array(free(0, 0, 0.05)), np.zeros(6), mu=mu, fine=(1, 1.0))


def dropped_ball() -> Case:
    """P4: a ball of 1 kg falls 0.1 m; default contacts; 0.4 s."""

    def xml(h: float, k: float) -> str:
        return _document(h, FLOOR + _body('size="0.1" mass="1"'), gravity=f"0 0 {-G}")

    return Case(xml, 1e-3, 400, np.array(free(0, 0, 0.2)), np.zeros(6), fine=(1, 1.0))


def resting_ball() -> Case:
    """P5: the same, from the floor; 1 s."""
    ball = dropped_ball()
    return Case(ball.xml, 2e-3, 500, np.array(free(0, 0, 0.1)), np.zeros(6), fine=(1, 1.0))


def ball_in_capsule() -> Case:
    """P6: a ball 1 mm deep in the middle of a capsule."""
    q = np.array(free(0, 0, 0.199))
    return Case(symmetric_hit(CAPSULE).xml, 1e-3, 1, q, np.zeros(6), fine=(1, 1.0))
