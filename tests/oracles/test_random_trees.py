"""Kinematics and dynamics of 210 random trees against MuJoCo and Pinocchio, within 1e-9.

Fourteen topologies, in which every joint type stands at the root, in the middle and at a tip, each
with fifteen random sets of numbers and states: 210 different trees at the price of fourteen
compilations, since the numbers of a model are its leaves and are mapped over.
"""

import itertools

import jax
import numpy as np
import pytest
from quantities import of_mujoco, of_pinocchio, ours, random_case, relative_error

import zoo

TOPOLOGIES = zoo.topologies()
SETS = 15


def test_every_joint_type_stands_everywhere():
    """The topologies have each joint type as a root, between, and at a tip, and massless links."""
    found = set().union(*(t.places() for t in TOPOLOGIES))
    assert found == set(itertools.product(zoo.TYPES, ("root", "middle", "tip")))
    assert any(any(t.massless) for t in TOPOLOGIES)


@pytest.mark.parametrize("index", range(len(TOPOLOGIES)))
def test_tree_agrees_with_mujoco_and_pinocchio(index):
    """Poses, velocities, Jacobian, H, C, forward and inverse dynamics equal both oracles'."""
    models = [zoo.random_model(TOPOLOGIES[index], 100 * index + s) for s in range(SETS)]
    cases = [random_case(m, 100 * index + s) for s, m in enumerate(models)]
    batch = zoo.jit(jax.vmap(ours))(zoo.stack(models), zoo.stack(cases))
    for s, (model, case) in enumerate(zip(models, cases, strict=True)):
        for oracle in (of_mujoco, of_pinocchio):
            for key, theirs in oracle(model, case).items():
                error = relative_error(np.asarray(batch[key][s]), theirs)
                assert error < 1e-9, (oracle.__name__, key, s, error)
