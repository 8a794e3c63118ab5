"""Legs found in a model, their kinematics, and the inverse in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from four_legs import four_legs

import graftsim as gs
from graftsim.control.locomotion.leg_kinematics import angles_of, feet_of
from graftsim.errors import ModelError


@pytest.mark.long
def test_feet_and_jacobians_are_those_of_the_whole_robot():
    """Places as of the model's own kinematics; Jacobians as their derivative."""
    model = four_legs()
    legs = gs.control.find_legs(model)
    angles = np.random.default_rng(0).uniform(-0.7, 0.7, (4, 3))
    feet, jacobian = feet_of(legs, jnp.asarray(angles))
    q = np.array(model.tree.neutral)
    q[list(legs.coordinates)] = angles.ravel()
    R, p = gs.dynamics.link_poses(model, jnp.asarray(q))
    for i, name in enumerate(("FR", "FL", "RR", "RL")):
        link = model.tree.links.index(f"{name}_shank")
        ball = model.geom.position[model.geom.names.index(f"{name}_foot")]
        np.testing.assert_allclose(feet[i], p[link] + R[link] @ ball, atol=1e-12)
    slope = jax.jacfwd(lambda a: feet_of(legs, a)[0])(jnp.asarray(angles))
    for i in range(4):
        np.testing.assert_allclose(jacobian[i], slope[i, :, i], atol=1e-12)


@pytest.mark.parametrize("forward", [False, True])
def test_inverse_kinematics_returns_to_the_point(forward):
    """Of reachable points, whichever way the knee bends; and the knee is on its side."""
    legs = gs.control.find_legs(four_legs(), knees_forward=forward)
    rng = np.random.default_rng(1)
    for _ in range(5):
        target = np.asarray(legs.below) + rng.uniform(-0.08, 0.08, (4, 3)) - [0, 0, 0.28]
        angles = angles_of(legs, jnp.asarray(target))
        feet, jacobian = feet_of(legs, angles)
        np.testing.assert_allclose(feet, target, atol=1e-9)
        # The shank turns about the knee: the foot moves across the line from knee to foot, which
        # lies before or behind that from hip to foot.
        knees = np.asarray(feet) + np.cross(
            np.asarray(legs.axis[:, 2]), np.asarray(jacobian[:, :, 2])
        )
        middle = (np.asarray(feet) + np.asarray(legs.below)) / 2
        assert np.all((knees[:, 0] > middle[:, 0]) == forward) or _far(angles)


def _far(angles):
    """Abduction turns the knee's axis, and the construction above holds near zero only."""
    return np.abs(np.asarray(angles)[:, 0]).max() > 0.05


def test_out_of_reach_is_a_stretched_leg_towards_the_point():
    """No NaN: the foot is at the leg's reach on the line to the point."""
    legs = gs.control.find_legs(four_legs())
    target = np.asarray(legs.below) - [0, 0, 2.0]
    angles = angles_of(legs, jnp.asarray(target))
    feet, _ = feet_of(legs, angles)
    hips = np.asarray(legs.below)
    np.testing.assert_allclose(np.asarray(feet)[:, :2], hips[:, :2], atol=1e-6)
    assert np.asarray(feet)[:, 2] == pytest.approx(-np.full(4, legs.reach), abs=1e-6)


def test_a_robot_without_four_legs_is_refused_by_what_was_found():
    """How many legs there are, and what is expected."""
    with pytest.raises(ModelError, match=r"2 legs were found below 'trunk'.*abduction, hip, knee"):
        gs.control.trot(four_legs(legs=("FR", "FL")))


def test_a_robot_that_does_not_float_is_refused():
    """A manipulator has no trunk."""
    builder = gs.Builder("arm")
    builder.link("arm", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
    with pytest.raises(ModelError, match="0 links that float"):
        gs.control.trot(builder.build())


def test_legs_without_torque_motors_are_refused():
    """The joint is named."""
    with pytest.raises(ModelError, match=r"joint 'FR_hip' of a leg has no torque motor"):
        gs.control.trot(four_legs(motors="position"))


@pytest.mark.parametrize(
    ("file", "pose", "front", "rear", "lateral", "below"),
    [
        ("laikago/laikago_toes_zup_primitives.urdf", (0, 0.07, -0.59), 0.148, -0.290, 0.116, 0.456),
        ("a1/a1_primitives.urdf", (0, 0.9, -1.8), 0.183, -0.183, 0.132, 0.249),
    ],
)
def test_toes_of_real_robots(assets_dir, file, pose, front, rear, lateral, below):
    """Where their makers' files say that they stand; and the inverse gives the pose again."""
    model = gs.load(assets_dir / file, ground=0.0)
    legs = gs.control.find_legs(model)
    angles = jnp.tile(jnp.array(pose, float), (4, 1))
    feet, _ = feet_of(legs, angles)
    x, y = (front, front, rear, rear), (-lateral, lateral, -lateral, lateral)
    np.testing.assert_allclose(feet, np.stack([x, y, 4 * [-below]], -1), atol=2e-3)
    np.testing.assert_allclose(angles_of(legs, feet), angles, atol=1e-9)
