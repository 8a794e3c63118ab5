"""Static topology of a mechanism: who hangs on whom, by which joint, and where its numbers lie.

Everything here is plain Python and NumPy, hashable, and known before tracing. Link i moves by joint
i relative to its parent; parents come before children.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graftsim.model.joints import JOINT_TYPES, JointType


@dataclass(frozen=True)
class Tree:
    """Names, parents (-1: the world) and joint types of the links of a mechanism."""

    links: tuple[str, ...]
    joints: tuple[str, ...]
    parent: tuple[int, ...]
    types: tuple[str, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.links, self.joints, self.parent, self.types))

    @property
    def nl(self) -> int:
        """Number of links."""
        return len(self.links)

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(sum(t.nq for t in self.joint_types))

    @cached_property
    def nv(self) -> int:
        """Number of velocity coordinates, the degrees of freedom."""
        return int(sum(t.nv for t in self.joint_types))

    @cached_property
    def joint_types(self) -> tuple[JointType, ...]:
        """Type of the joint of each link."""
        return tuple(JOINT_TYPES[t] for t in self.types)

    @cached_property
    def q_index(self) -> tuple[np.ndarray, ...]:
        """Rows of q that belong to each link's joint."""
        ends = np.cumsum([t.nq for t in self.joint_types], dtype=int)
        return tuple(np.arange(e - t.nq, e) for e, t in zip(ends, self.joint_types, strict=True))

    @cached_property
    def v_index(self) -> tuple[np.ndarray, ...]:
        """Rows of qd that belong to each link's joint."""
        ends = np.cumsum([t.nv for t in self.joint_types], dtype=int)
        return tuple(np.arange(e - t.nv, e) for e, t in zip(ends, self.joint_types, strict=True))

    @cached_property
    def link_of_dof(self) -> np.ndarray:
        """Link moved by each degree of freedom, [nv]."""
        return np.repeat(np.arange(self.nl), [t.nv for t in self.joint_types])

    @cached_property
    def groups(self) -> tuple[tuple[JointType, np.ndarray], ...]:
        """Links by joint type: (type, link indices) for each type that occurs."""
        kinds = dict.fromkeys(self.types)
        return tuple(
            (JOINT_TYPES[k], np.array([i for i, t in enumerate(self.types) if t == k]))
            for k in kinds
        )

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of links between each link and the world, [nl]."""
        depth = np.zeros(self.nl, int)
        for i, p in enumerate(self.parent):
            depth[i] = 0 if p < 0 else depth[p] + 1
        return depth

    @cached_property
    def levels(self) -> tuple[np.ndarray, ...]:
        """Links of each depth, from the roots outwards."""
        return tuple(np.flatnonzero(self.depth == d) for d in range(int(self.depth.max()) + 1))

    @cached_property
    def ancestor(self) -> np.ndarray:
        """ancestor[i, j]: link i is link j or carries it, [nl, nl] bool."""
        a = np.eye(self.nl, dtype=bool)
        for j, p in enumerate(self.parent):
            if p >= 0:
                a[:, j] |= a[:, p]
        return a

    @cached_property
    def neutral(self) -> np.ndarray:
        """Zero position of every joint (unit quaternions), [nq]."""
        return np.concatenate([np.zeros(0), *(np.array(t.neutral) for t in self.joint_types)])

    @cached_property
    def dofs(self) -> tuple[str, ...]:
        """Label of each degree of freedom: its joint's name, and `.x`, `.rz` ... if it has many."""
        pairs = zip(self.joints, self.joint_types, strict=True)
        return tuple(name + s for name, t in pairs for s in t.suffixes)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Label of each position coordinate; quaternions as `.qw` to `.qz`."""
        quaternion = (".qw", ".qx", ".qy", ".qz")
        special = {"spherical": quaternion, "free": (".x", ".y", ".z", *quaternion)}
        pairs = zip(self.joints, self.joint_types, strict=True)
        return tuple(name + s for name, t in pairs for s in special.get(t.name, t.suffixes))

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """`rad` or `m` for each degree of freedom."""
        return tuple(u for t in self.joint_types for u in t.units)
