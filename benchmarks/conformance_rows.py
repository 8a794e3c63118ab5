"""The contact rows of the conformance table: case, right answer, and when an answer is right.

Right answers are closed forms or those of `tests/oracles/event_driven.py`. Slopes are right within
10 % (norm), which leaves room for compliance and steps, not for a wrong sign or a missing term;
those through impacts that are not head-on have a rule of their own (`impact_rows.py`).
NumPy and SciPy only: engines of other environments import this file too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

import event_driven as exact  # noqa: E402
from impact_rows import CHECKS  # noqa: E402

TIMES = (0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)  # of the billiards break [s]
STEPS = (50, 100, 500)  # of the standing quadruped
Values = Sequence[float]


@dataclass(frozen=True)
class Row:
    """A line of the table. `right` judges an answer, `text` writes it in few characters."""

    case: str
    answer: str
    right: Callable[[Values], bool]
    text: Callable[[Values], str]


def _plain(values: Values) -> str:
    return ", ".join(f"{v:.3g}" for v in values)


def _near(target: Values, tolerance: float = 0.1) -> tuple[Callable, Callable]:
    """Relative distance in norm; numbers, or more than two of them as their error."""
    size = float(np.linalg.norm(target))

    def error(values: Values) -> float:
        return float(np.linalg.norm(np.subtract(values, target))) / size

    def text(values: Values) -> str:
        if len(target) <= 2 or not np.all(np.isfinite(values)):
            return _plain(values) if len(target) <= 2 else "NaN"
        return f"off by {100 * error(values):.3g} %"

    return lambda values: bool(error(values) <= tolerance), text


def _row(case: str, target: Values, tolerance: float = 0.1) -> Row:
    return Row(case, _plain(target), *_near(target, tolerance))


def box_slopes(name: str) -> list[float]:
    """Of x, y and angle in the spin, then in mu."""
    scene = exact.BOX_SCENES[name]
    J = scene.box.jacobian(np.array(scene.start), scene.mu, scene.T)
    return J[:3, 5:].T.ravel().tolist()


def break_slopes(T: float) -> list[float]:
    """Of the billiards loss in the cue's x, y, vx, vy."""
    discs, x, v = exact.billiards()
    dx, dv = discs.gradient(exact.billiards_loss, x, v, T)
    return [*dx[0].tolist(), *dv[0].tolist()]


def _hit(case: str, speed: float) -> Row:
    """Lateral slopes exactly zero, the third within tolerance."""
    near, _ = _near((0, 0, speed))
    return Row(
        case, _plain((0, 0, speed)), lambda v: near(v) and np.hypot(v[0], v[1]) < 1e-6, _plain
    )


def _standing(steps: int) -> Callable[[Values], bool]:
    """Two slopes of three numbers each, by two means: they agree; after 1 s they are about 1e-3."""

    def right(values: Values) -> bool:
        one, two = np.reshape(values, (2, 3))
        size = np.linalg.norm(two)
        alike = bool(np.linalg.norm(one - two) <= 0.1 * size)
        return alike and (steps < 500 or 1e-4 < size < 0.1)

    return right


def _standing_text(values: Values) -> str:
    return f"{values[0]:.3g} / {values[3]:.3g}"


def _finite(values: Values) -> bool:
    return bool(np.all(np.isfinite(values)))


ROWS: dict[str, Row] = {
    "G4": _row("elastic bounce, d(height)/d(y_0, v_0)", (-1, -1)),
    "G5": _row("two equal discs, d(x_2)/d(x_1, v_1, x_2, v_2)", (1, 1, 0, 0)),
    "G6": _row("box slides 1 s, d(x)/d(mu)", (-exact.G / 2,)),
    # In steps of 1/30 s the sum of an arithmetic series: closed form of the step itself.
    "G6 coarse": _row(
        "the same in 30 steps, gravity 100 m/s^2", (-100 * 30 * 31 / 2 / 30**2,), 1e-6
    ),
    **{
        f"G7 {name}": _row(f"tilted box, {name}: d(x, y, angle)/d(spin, mu)", box_slopes(name))
        for name in exact.BOX_SCENES
    },
    **{
        f"G8 {T:g}": _row(f"billiards break, {T:g} s, d(loss)/d(cue)", break_slopes(T))
        for T in TIMES
    },
    "G9 box": _hit("ball on the middle of a box, d(v_z)/d(x, y, v_z)", -1),
    "G9 capsule": _hit("ball on the middle of a capsule, the same", -1),
    "G10": Row(
        "box resting to lifted, slopes that are not finite, of 123",
        "0",
        lambda v: v[0] == 0,
        _plain,
    ),
    **{
        f"G17 {K}": Row(
            f"standing quadruped, {K} steps: slope / differences",
            "equal, 1e-3" if K == 500 else "equal",
            _standing(K),
            _standing_text,
        )
        for K in STEPS
    },
    "G18": Row(
        "largest difference of a path with slopes taken from one without",
        "0",
        lambda v: v[0] == 0,
        _plain,
    ),
    "P2": Row(
        "thrown chain: largest rise of energy, motion left at 6 s",
        "0, 0",
        lambda v: _finite(v) and v[0] < 0.05 and v[1] < 1e-4,  # springs give a little back
        _plain,
    ),
    "P3 stick": Row(
        "block on 30 degrees, mu 0.7: slid in 1 s [m]", "0", lambda v: abs(v[0]) < 1e-3, _plain
    ),
    "P3 slide": _row("the same, mu 0.5", (exact.incline(np.radians(30), 0.5, 1.0),), 0.02),
    "P4": Row(
        "ball bounces: least force / weight (at first touch / peak)",
        ">= 0 (any)",
        lambda v: _finite(v) and v[0] > -1e-6,
        _plain,
    ),
    "P5": _row("ball rests: force read back / weight", (1,), 0.01),
    "P6": Row("ball in the middle of a capsule: contacts", "1", lambda v: v[0] >= 1, _plain),
    "P8": Row(
        "robots on weak springs dropped, 10 s: numbers not finite", "0", lambda v: v[0] == 0, _plain
    ),
    **{name: Row(x.case, x.answer, x.right, x.text) for name, x in CHECKS.items()},
}  # fmt: skip
