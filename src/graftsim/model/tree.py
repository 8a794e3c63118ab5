"""Static topology of a mechanism: what hangs on what, by which joint, and where its numbers lie.

Everything here is plain Python and NumPy, hashable, and known before tracing. Link i moves by joint
i relative to its parent; parents come before children.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graftsim.model.joint_type import JointType


@dataclass(frozen=True)
class Tree:
    """Names, parents (-1: the world) and joint types of the links of a mechanism."""

    links: tuple[str, ...]
    joints: tuple[str, ...]
    parent: tuple[int, ...]
    joint_types: tuple[JointType, ...]

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
    def types(self) -> tuple[str, ...]:
        """Name of the type of each link's joint."""
        return tuple(t.name for t in self.joint_types)

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
        return tuple(
            (kind, np.array([i for i, t in enumerate(self.joint_types) if t == kind]))
            for kind in dict.fromkeys(self.joint_types)
        )

    @cached_property
    def q_rows(self) -> tuple[np.ndarray, ...]:
        """Rows of q of each group's links, one after the other."""
        return self._rows_of_groups(self.q_index)

    @cached_property
    def v_rows(self) -> tuple[np.ndarray, ...]:
        """Rows of qd of each group's links, one after the other."""
        return self._rows_of_groups(self.v_index)

    def _rows_of_groups(self, index: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(np.concatenate([index[i] for i in links]) for _, links in self.groups)

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

    def moves(self, link: int) -> np.ndarray:
        """Whether each degree of freedom moves a link (-1: the world, which stays), [nv] bool."""
        if link < 0:
            return np.zeros(self.nv, bool)
        return self.ancestor[self.link_of_dof, link]

    @cached_property
    def neutral(self) -> np.ndarray:
        """Zero position of every joint (unit quaternions), [nq]."""
        return np.concatenate([np.zeros(0), *(np.array(t.neutral) for t in self.joint_types)])

    @cached_property
    def dofs(self) -> tuple[str, ...]:
        """Label of each degree of freedom: its joint's name, and `.x`, `.rz` ... if it has many."""
        pairs = zip(self.joints, self.joint_types, strict=True)
        return tuple(label for joint, t in pairs for label in t.dof_labels(joint))

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Label of each position coordinate; quaternions as `.qw` to `.qz`."""
        pairs = zip(self.joints, self.joint_types, strict=True)
        return tuple(label for joint, t in pairs for label in t.coordinate_labels(joint))

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """`rad`, `m`, or `1` (of a quaternion) for each position coordinate."""
        return tuple(c.unit for t in self.joint_types for c in t.coordinates)

    @cached_property
    def moving(self) -> tuple[bool, ...]:
        """Whether each link moves against its parent: its joint is not a fixed one."""
        return tuple(t.nv > 0 for t in self.joint_types)

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """`rad` or `m` for each degree of freedom."""
        return tuple(u for t in self.joint_types for u in t.units)
