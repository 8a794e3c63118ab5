"""N4: a zero with a sign in a file is zero, on both backends."""

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs

ROBOT = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 {z} 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="{z}" ixz="{z}" iyz="{z}"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="{z} 1 {z}"/>
<origin xyz="{z} 0 {z}" rpy="{z} {z} {z}"/>
<limit lower="{z}" upper="2" effort="5" velocity="9"/>
<dynamics damping="{z}" friction="{z}"/></joint></robot>"""


@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_a_signed_zero_is_a_zero(tmp_path, backend):
    """The same motion, to the bit, whichever zero the file has."""
    found = []
    for k, zero in enumerate(("0", "-0.0")):
        path = tmp_path / f"r{k}.urdf"
        path.write_text(ROBOT.format(z=zero))
        s = gs.Simulator(gs.load(path), 1e-3, integrator=gs.ImplicitDamping())
        state = s.initial_state({"j": 0.5})
        found.append(s.rollout(state, jnp.full((50, 1), 0.2), backend=backend).q)
    np.testing.assert_array_equal(*found)
    assert float(found[0][-1, 0]) != 0.5
