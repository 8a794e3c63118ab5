"""graftsim's answers to the contact rows of the conformance table.

`CASES` maps a row of `conformance_rows.ROWS` to a function of no arguments that returns an `Answer`
for each contact model that it ran: (name of the model, text of the value, whether it is right).
Numbers are written and judged by the row's own rule, the same as for the other engines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import conformance_scenes as scenes
import impact_scenes
import jax
from conformance_rows import ROWS, STEPS, TIMES, exact
from impact_rows import CHECKS

import graftsim as gs

Answer = tuple[str, str, bool]
MODELS: dict[str, Any] = {
    "ncp": gs.contact.Complementarity(),
    "compliant": gs.contact.SpringDamper(friction="coulomb"),
    "lcp": gs.contact.LinearComplementarity(),
}
# A spring needs short steps: sub-steps of the compliant model.
SUBSTEPS = {"ncp": 1, "compliant": 100, "lcp": 1}
BACKEND = "kernel"
FOLDER = Path(os.environ.get("GRAFTSIM_ASSETS", "../shared/assets"))


def answer(row: str, model: str, values: Sequence[float]) -> Answer:
    """Numbers of a model on a row, written and judged."""
    known = ROWS[row]
    return model, known.text(values), bool(known.right(values))


def by_model(
    row: str, scene: Callable[..., Any], *args: Any, substeps: bool = True
) -> list[Answer]:
    """A scene under all three laws."""
    out = []
    for name, law in MODELS.items():
        more = {"substeps": SUBSTEPS[name]} if substeps else {}
        out.append(answer(row, name, scene(*args, law, BACKEND, **more)))
    return out


def tilted_box(name: str) -> list[Answer]:
    """G7, by the laws with Newton's restitution."""
    found = {k: scenes.tilted_box(name, law, BACKEND) for k, law in impulsive(2).items()}
    return [answer(f"G7 {name}", k, values) for k, values in found.items()]


def impulsive(impacts: int) -> dict[str, Any]:
    """The two impulse laws with so many impacts of a step met by a sub-step."""
    return {
        "ncp": gs.contact.Complementarity(max_impacts=impacts),
        "lcp": gs.contact.LinearComplementarity(max_impacts=impacts),
    }


def impact(row: str) -> list[Answer]:
    """I1 to I11, by the laws that have the right answer of a row in the limit."""
    return [answer(row, name, values) for name, values in impact_scenes.answers(row).items()]


def impacts_in_single(rows: Sequence[str]) -> dict[str, Answer]:
    """The same by `Complementarity` in float32, of those rows among `rows`."""
    name, found = "ncp float32", {}
    for row, values in impact_scenes.in_single(tuple(r for r in rows if r in CHECKS)).items():
        failed = isinstance(values, str)
        right = not failed and CHECKS[row].right_in_single(values)
        found[row] = name, values if failed else ROWS[row].text(values), right
    return found


@cache
def _break() -> dict[float, list[float]]:
    return scenes.billiards(gs.contact.Complementarity(max_impacts=2, max_contacts=8))


@cache
def _standing() -> dict[str, dict[int, list[float]]]:
    model = gs.load(FOLDER / "quadruped" / "standing_quadruped.xml")
    legs = [0, 0.7, -1.4] * 4
    pose = [0, 0, 0.35, 1, 0, 0, 0, *legs]
    return {name: scenes.standing(law, model, legs, pose) for name, law in MODELS.items()}


CASES: dict[str, Callable[[], list[Answer]]] = {
    "G4": partial(by_model, "G4", scenes.bounce),
    "G5": partial(by_model, "G5", scenes.two_discs),
    "G6": partial(by_model, "G6", scenes.sliding_box),
    "G6 coarse": lambda: [
        answer("G6 coarse", k, scenes.sliding_box(MODELS[k], BACKEND, steps=30, g=100.0))
        for k in ("ncp", "lcp")
    ],
    **{f"G7 {name}": partial(tilted_box, name) for name in exact.BOX_SCENES},
    **{f"G8 {T:g}": (lambda T=T: [answer(f"G8 {T:g}", "ncp", _break()[T])]) for T in TIMES},
    "G9 box": partial(by_model, "G9 box", scenes.hit, "box"),
    "G9 capsule": partial(by_model, "G9 capsule", scenes.hit, "capsule"),
    "G10": partial(by_model, "G10", scenes.resting_sweep, substeps=False),
    **{
        f"G17 {K}": (
            lambda K=K: [answer(f"G17 {K}", name, v[K]) for name, v in _standing().items()]
        )
        for K in STEPS
    },
    "G18": partial(by_model, "G18", scenes.with_and_without_slopes),
    "P2": partial(by_model, "P2", scenes.thrown_chain),
    "P3 stick": partial(by_model, "P3 stick", scenes.incline, 0.7),
    "P3 slide": partial(by_model, "P3 slide", scenes.incline, 0.5),
    "P4": partial(by_model, "P4", scenes.dropped_ball),
    "P5": partial(by_model, "P5", scenes.resting_ball),
    "P6": partial(by_model, "P6", scenes.ball_in_capsule, substeps=False),
    "P8": partial(by_model, "P8", partial(scenes.dropped_robots, FOLDER)),
    **{row: partial(impact, row) for row in CHECKS},
}

jax.config.update("jax_enable_x64", True)
