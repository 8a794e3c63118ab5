"""Impossible inertias of links that are fixed to others: what counts is what moves as one.

Files have dummy numbers in sensors, flanges and frames. On a link that is fixed to the world they
change nothing; on one that is fixed to a moving link only the sum does, and if that is an inertia
that a body may have, the link's part is counted to what carries it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from graftsim.errors import ModelError
from graftsim.io.robot import poses
from graftsim.io.robot.xml_lines import Notes
from graftsim.io.urdf.inertia import Body, nearest_possible, sphere
from graftsim.io.urdf.link import Link
from graftsim.model import checks


def settle(links: Sequence[Link], moving: Sequence[Link], notes: Notes, repair: bool) -> None:
    """Make every body of `links`, parents first, one that can exist, the motion being the same.

    Raises FileError: the inertia of what moves as one, which is that of no body, or none at all
    where it could turn about every axis.
    """
    loose = {link.name for link in moving}
    carrying = {link.joint.parent for link in moving if link.joint is not None}
    for group in _groups(links, loose).values():
        carrier = group[0]
        faulty = [link for link in group if link.body.fault is not None]
        if carrier.name not in loose:
            for link in faulty:
                six, _ = nearest_possible(link.body.inertia)
                link.body = replace(link.body, inertia=six, fault=None)
                notes.group(
                    "the inertia is that of no body, which changes nothing: it does not move.",
                    "link", _where(link), wrong="warning",
                )  # fmt: skip
        elif faulty:
            _count_to_carrier(_placed(group), faulty, notes)
        if carrier.name in loose and not carrying & {link.name for link in group}:
            _some_inertia(carrier, group, notes, repair)


def _groups(links: Sequence[Link], loose: Collection[str]) -> dict[str, list[Link]]:
    """By carrier, which comes first: links that move as one."""
    groups: dict[str, list[Link]] = {}
    carrier: dict[str, str] = {}
    for link in links:
        above = None if link.joint is None or link.name in loose else link.joint.parent
        carrier[link.name] = link.name if above is None else carrier[above]
        groups.setdefault(carrier[link.name], []).append(link)
    return groups


def _placed(group: Sequence[Link]) -> list[tuple[Link, np.ndarray, np.ndarray]]:
    """Each link with its position and quaternion in the carrier."""
    place = {group[0].name: (np.zeros(3), np.array([1.0, 0, 0, 0]))}
    for link in group[1:]:
        assert link.joint is not None
        p, quat = place[link.joint.parent]
        origin, rotation = (link.joint.numbers[k] for k in ("origin", "rotation"))
        place[link.name] = p + poses.matrix(quat) @ origin, poses.multiply(quat, rotation)
    return [(link, *place[link.name]) for link in group]


def _count_to_carrier(group: list, faulty: list[Link], notes: Notes) -> None:
    """Move the faulty bodies into their carrier, or all if the carrier is one of them."""
    carrier, first = group[0][0], faulty[0].body.fault
    moved = [x for x in group if x[0] in faulty or carrier in faulty or x[0] is carrier]
    body = _sum([(link.body, p, quat) for link, p, quat in moved])
    whole = _sum([(link.body, p, quat) for link, p, quat in group])
    missing = any(not np.any(link.body.inertia) for link in faulty)
    if missing or not _possible(whole) or first is None:
        raise first or ModelError(carrier.name)
    if not _possible(body):
        moved, body = group, whole
    for link, *_ in moved:
        link.body = Body()
    carrier.body = body
    for link in faulty:
        notes.group(
            f"the inertia is that of no body; with what moves as one with it, it is: counted to "
            f"link {carrier.name}.",
            "link", _where(link), wrong="warning",
        )  # fmt: skip


def _some_inertia(carrier: Link, group: Sequence[Link], notes: Notes, repair: bool) -> None:
    """What turns about every axis needs an inertia: refused without, or repaired."""
    turns = carrier.joint is None or carrier.joint.kind.nv >= 3
    heavy = [link for link in group if link.body.mass > 0]
    if not turns or len(heavy) != 1 or np.any(heavy[0].body.inertia):
        return
    link = heavy[0]
    if not repair:
        raise link.element.error(
            f"link '{link.name}' has mass but no inertia, and turns freely: any torque would turn "
            "it infinitely fast. Give it an <inertia>; --repair-inertia (repair_inertia=True) "
            "makes it a sphere; --base fixed (base='fixed') holds a root."
        )
    link.body = replace(link.body, inertia=sphere(link.body.mass))
    notes.add(
        f"line {link.element.line}: link '{link.name}' had no inertia; taken as a sphere's.",
        wrong="warning",
    )


def _sum(parts: Sequence[tuple[Body, np.ndarray, np.ndarray]]) -> Body:
    """One body of several, each at a pose in its frame."""
    mass = sum(b.mass for b, *_ in parts)
    centres = np.array([p + poses.matrix(quat) @ b.com for b, p, quat in parts])
    masses = np.array([b.mass for b, *_ in parts])
    com = masses @ centres / mass if mass else np.zeros(3)
    I = np.zeros((3, 3))
    for (b, _, quat), c in zip(parts, centres, strict=True):
        d = c - com
        I += poses.symmetric(poses.turn_inertia(b.inertia, quat))
        I += b.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Body(mass, com, poses.six(I))


def _possible(body: Body) -> bool:
    try:
        checks.body(body.mass, body.inertia, "")
    except ModelError:
        return False
    return True


def _where(link: Link) -> str:
    return f"{link.name} (line {link.element.line})"
