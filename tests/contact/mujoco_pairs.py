"""MuJoCo as an oracle of distances: two shapes at given poses."""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

TYPES = {k: getattr(mujoco.mjtGeom, f"mjGEOM_{k.upper()}") for k in
         ("plane", "sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")}  # fmt: skip
FAR = 10.0


class Pair:
    """Two geoms in free bodies; `vertices` of meshes as [n, 3] about their centre."""

    def __init__(self, kind_a, kind_b, vertices_a=None, vertices_b=None):
        spec = mujoco.MjSpec()
        spec.option.ccd_tolerance = 1e-12
        spec.option.ccd_iterations = 200
        self.kinds = kind_a, kind_b
        for name, kind, vertices in (("a", kind_a, vertices_a), ("b", kind_b, vertices_b)):
            if kind == "mesh":
                spec.add_mesh(name=name, uservert=np.asarray(vertices).ravel())
            body = spec.worldbody.add_body(name=name, mocap=True)
            body.add_geom(
                name=name,
                type=TYPES[kind],
                size=[1, 1, 1],
                margin=FAR,
                **({"meshname": name} if kind == "mesh" else {}),
            )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def place(self, a, b):
        """Put the shapes where `Shape` arrays (R, p, size, vertices) say."""
        for i, (kind, shape) in enumerate(zip(self.kinds, (a, b), strict=True)):
            R, p = np.asarray(shape.R), np.asarray(shape.p)
            if kind == "mesh":
                # MuJoCo moves meshes to their centre and principal axes.
                from_q = Rotation.from_quat(self.model.mesh_quat[self._mesh(i)], scalar_first=True)
                p = p + R @ self.model.mesh_pos[self._mesh(i)]
                R = R @ from_q.as_matrix()
            elif kind != "plane":
                self.model.geom_size[i] = shape.size
                self.model.geom_rbound[i] = 10.0
            self.data.geom_xpos[i], self.data.geom_xmat[i] = p, R.ravel()

    def _mesh(self, i):
        return self.model.geom_dataid[i]

    def distance(self, a, b):
        """Signed distance, and the nearest points of both."""
        self.place(a, b)
        ends = np.zeros(6)
        return mujoco.mj_geomDistance(self.model, self.data, 0, 1, FAR, ends), ends.reshape(2, 3)

    def contacts(self, a, b):
        """Distances, positions and normals of the contacts that MuJoCo finds."""
        self.place(a, b)
        mujoco.mj_collision(self.model, self.data)
        c = self.data.contact
        return c.dist.copy(), c.pos.copy(), c.frame[:, :3].copy()
