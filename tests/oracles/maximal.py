"""Constrained accelerations in maximal coordinates: every link a free body of Newton and Euler.

Joints and loops are rows on the bodies' accelerations, held by Lagrange multipliers; nothing of the
package takes part but poses and velocities of the links. Columns of a body: angular acceleration
and that of its centre of mass, world axes.
"""

import numpy as np


def skew(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def across(axis):
    """Two unit vectors across an axis."""
    return np.linalg.svd(axis[None])[2][1:]


class Bodies:
    """Free bodies at poses R, p with angular velocities w and velocities v of their origins."""

    def __init__(self, model, R, p, w, v):
        self.model, self.R, self.p, self.w, self.v = model, R, p, w, v
        com = np.asarray(model.link.com)
        self.c = p + np.einsum("nij,nj->ni", R, com)
        self.rows, self.right = [], []

    def point(self, i, x):
        """Rows [3, 6 nl] and velocity terms of the acceleration of a body's point x; -1: world."""
        J = np.zeros((3, 6 * len(self.p)))
        if i < 0:
            return J, np.zeros(3), np.zeros(3)
        r = x - self.c[i]
        J[:, 6 * i : 6 * i + 3], J[:, 6 * i + 3 : 6 * i + 6] = -skew(r), np.eye(3)
        velocity = self.v[i] + np.cross(self.w[i], x - self.p[i])
        return J, np.cross(self.w[i], np.cross(self.w[i], r)), velocity

    def turn(self, i):
        """Rows of a body's angular acceleration."""
        J = np.zeros((3, 6 * len(self.p)))
        if i >= 0:
            J[:, 6 * i : 6 * i + 3] = np.eye(3)
        return J, (self.w[i] if i >= 0 else np.zeros(3))

    def hold(self, a, b, x, along, about):
        """Forbid body b to move against a at x along some axes (rows) and to turn about some."""
        (J_a, g_a, v_a), (J_b, g_b, v_b) = self.point(a, x), self.point(b, x)
        w_a = self.turn(a)[1]
        self.rows.append(along @ (J_b - J_a))
        self.right.append(-along @ (g_b - g_a - 2 * np.cross(w_a, v_b - v_a)))
        (T_a, w_a), (T_b, w_b) = self.turn(a), self.turn(b)
        self.rows.append(about @ (T_b - T_a))
        self.right.append(-about @ -np.cross(w_a, w_b - w_a))

    def joints(self):
        """Rows of all joints of the tree."""
        tree, every, none = self.model.tree, np.eye(3), np.zeros((0, 3))
        for i, (parent, kind) in enumerate(zip(tree.parent, tree.types, strict=True)):
            axis = self.R[i] @ np.asarray(self.model.joint.axis[i])
            sides = across(axis)
            along, about = {
                "revolute": (every, sides),
                "prismatic": (sides, every),
                "spherical": (every, none),
                "free": (none, none),
                "fixed": (every, every),
            }[kind]
            self.hold(parent, i, self.p[i], along, about)

    def loops(self):
        """Rows of all loops."""
        loop = self.model.loop
        for k, (a, b) in enumerate(loop.links):
            x = np.asarray(loop.opposite[k])
            x = x if b < 0 else self.p[b] + self.R[b] @ x
            about = np.eye(3) if loop.types[k].name == "weld" else np.zeros((0, 3))
            self.hold(a, b, x, np.eye(3), about)

    def accelerations(self):
        """[nl, 6]: of M a = f + J^T lambda, J a = right, by least squares."""
        n = len(self.p)
        M, f = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        gravity = np.asarray(self.model.world.gravity)
        for i in range(n):
            xx, yy, zz, xy, xz, yz = np.asarray(self.model.link.inertia[i])
            I = self.R[i] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ self.R[i].T
            m = float(self.model.link.mass[i])
            turn, move = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
            M[turn, turn], M[move, move] = I, m * np.eye(3)
            f[turn], f[move] = -np.cross(self.w[i], I @ self.w[i]), m * gravity
        J, right = np.concatenate(self.rows), np.concatenate(self.right)
        # Bodies may be without mass, rows redundant: one system for all, by least squares.
        m, k = len(f), len(right)
        system = np.block([[M, -J.T], [J, np.zeros((k, k))]])
        found = np.linalg.lstsq(system, np.concatenate([f, right]), rcond=1e-13)[0]
        return found[:m].reshape(n, 6)
