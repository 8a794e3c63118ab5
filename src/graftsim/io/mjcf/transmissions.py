"""Which actuators of MuJoCo's model pull on which joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def through_joint(mujoco: Any, mj: Any, a: int) -> bool:
    """Whether an actuator acts on a joint itself."""
    trn = mujoco.mjtTrn
    return int(mj.actuator_trntype[a]) in (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT))


def on_joint(mujoco: Any, mj: Any, j: int) -> list[int]:
    """Actuators that act on joint j itself."""
    own = [a for a in range(mj.nactuator) if int(mj.actuator_trnid[a, 0]) == j]
    return [a for a in own if through_joint(mujoco, mj, a)]


def pulling(mujoco: Any, mj: Any) -> list[list[int]]:
    """Of each joint the actuators that it feels: its own, and those by way of tendons and sites."""
    felt: list[list[int]] = [[] for _ in range(mj.njnt)]
    for a in range(mj.nactuator):
        for j in _reached(mujoco, mj, a):
            felt[j].append(a)
    return felt


def _reached(mujoco: Any, mj: Any, a: int) -> set[int]:
    trn, wrap = mujoco.mjtTrn, mujoco.mjtWrap
    kind, (first, second) = int(mj.actuator_trntype[a]), map(int, mj.actuator_trnid[a])
    if through_joint(mujoco, mj, a):
        return {first}
    if kind == int(trn.mjTRN_SITE):
        return _between(mj, [int(mj.site_bodyid[s]) if s >= 0 else 0 for s in (first, second)])
    if kind != int(trn.mjTRN_TENDON):
        return set()
    start = int(mj.tendon_adr[first])
    steps = range(start, start + int(mj.tendon_num[first]))
    over = [(int(mj.wrap_type[w]), int(mj.wrap_objid[w])) for w in steps]
    sites = [int(mj.site_bodyid[i]) for k, i in over if k == int(wrap.mjWRAP_SITE)]
    return {i for k, i in over if k == int(wrap.mjWRAP_JOINT)} | _between(mj, sites)


def _between(mj: Any, bodies: Iterable[int]) -> set[int]:
    """Joints that move some of these bodies against the others."""
    above = [_above(mj, b) for b in bodies]
    return set().union(*above) - set.intersection(*above) if above else set()


def _above(mj: Any, body: int) -> set[int]:
    """Joints that move a body."""
    found: set[int] = set()
    while body:
        first = int(mj.body_jntadr[body])
        found.update(range(first, first + int(mj.body_jntnum[body])))
        body = int(mj.body_parentid[body])
    return found


def below(mj: Any, j: int) -> list[int]:
    """Bodies that joint j moves."""
    return [b for b in range(1, mj.nbody) if j in _above(mj, b)]
