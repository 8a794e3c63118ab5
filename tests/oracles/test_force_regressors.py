"""The regressor of joint forces against Pinocchio's, column by column."""

import numpy as np
import pinocchio as pin
import pytest
from to_pinocchio import to_pinocchio

import zoo
from graftsim.identify.inverse.forces.regressor import inertial_regressor

# Pinocchio's six are xx, xy, yy, xz, yz, zz.
ORDER = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]


@pytest.mark.parametrize("seed", range(2))
def test_columns_are_pinocchios(seed):
    """Of trees of hinges and slides, to 1e-12 of the largest force."""
    kinds = ("revolute", "prismatic", "revolute", "revolute", "prismatic", "revolute")
    topology = zoo.Topology((-1, 0, 1, 2, 1, 4), kinds, (False,) * 6)
    model = zoo.random_model(topology, seed)
    theirs = to_pinocchio(model)
    data = theirs.model.createData()
    order, rows_q, rows_v = zoo.depth_first(model)
    q, qd = zoo.random_state(model, seed)
    qdd = np.random.default_rng(seed).normal(size=model.nv)
    (ours,) = inertial_regressor(model, q[None], qd[None], qdd[None])
    Y = pin.computeJointTorqueRegressor(
        theirs.model, data, theirs.q(q[rows_q]), qd[rows_v], qdd[rows_v]
    )
    Y = Y.reshape(model.nv, len(order), 10)[..., ORDER]
    assert np.abs(ours[rows_v][:, order] - Y).max() < 1e-12 * np.abs(Y).max()
