"""The controller as a whole: forces balance, and a small robot walks."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from four_legs import four_legs

import graftsim as gs
from graftsim.errors import ControlError

PLAIN = gs.control.InteriorPoint(kernel=False)


def test_standing_puts_the_feet_on_the_ground():
    """Their balls touch z = 0 under the hips."""
    model = four_legs()
    controller = gs.control.trot(model)
    R, p = gs.dynamics.link_poses(model, controller.standing())
    for i, name in enumerate(controller.legs.links):
        k, ball = model.tree.links.index(name), model.geom.names.index(f"{name[:2]}_foot")
        centre = np.asarray(p[k] + R[k] @ model.geom.position[ball])
        expected = [*controller.hips[i, :2], model.geom.size[ball, 0]]
        np.testing.assert_allclose(centre, expected, atol=1e-9)


def test_the_body_is_the_model_s():
    """Mass and centre of all links."""
    model = four_legs()
    controller = gs.control.trot(model)
    q = controller.standing().at[:3].set(0.0)
    assert float(controller.body.mass) == pytest.approx(float(jnp.sum(model.link.mass)))
    np.testing.assert_allclose(
        controller.body.com, gs.dynamics.center_of_mass(model, q), atol=1e-12
    )


def test_torques_of_standing_legs_hold_the_trunk_against_the_forces():
    """Inverse dynamics at rest with the forces on the feet asks for just these torques."""
    model = four_legs()
    light = replace(model, world=replace(model.world, gravity=jnp.zeros(3)))
    controller = gs.control.trot(model, solver=PLAIN)
    q = controller.standing()
    state = gs.State(q, jnp.zeros(18), jnp.zeros(0))
    sight, _ = controller.look(state, controller.start(state), jnp.zeros(3))
    force = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    torque = controller.stance_torque(sight, force).ravel()
    newton = np.asarray(force * controller.body.mass * 9.8)
    push = np.zeros(18)
    R, _ = gs.dynamics.link_poses(light, q)
    for i, link in enumerate(controller.legs.links):
        J = np.asarray(gs.dynamics.jacobian(light, q, link))
        k = model.tree.links.index(link)
        arm = np.asarray(R[k] @ model.geom.position[model.geom.names.index(f"{link[:2]}_foot")])
        push += J[3:].T @ newton[i] + J[:3].T @ np.cross(arm, newton[i])
    np.testing.assert_allclose(-push[list(controller.legs.joints)], torque, atol=1e-9)


@pytest.mark.long
def test_a_small_robot_trots_forward_and_turns():
    """Three seconds at 0.3 m/s: upright, at height, near the speed; then in a curve to the left."""
    model = four_legs()
    controller = gs.control.trot(model, solver=PLAIN)
    simulator = gs.Simulator(model, 0.001, contact=gs.contact.Complementarity())
    walk = gs.control.walker(simulator, controller)
    state = simulator.initial_state(controller.standing())
    commands = jnp.array([[[0.3, 0.0, 0.0]], [[0.3, 0.0, 0.5]]]).repeat(300, 1)
    q = np.asarray(jax.vmap(walk, (None, 0))(state, commands).states.q)
    assert np.abs(q[0, 100:, 2] - q[0, 0, 2]).max() < 0.04
    assert np.abs(q[:, :, 4:6]).max() < 0.05
    assert (q[0, -1, 0] - q[0, 100, 0]) / 2 == pytest.approx(0.3, abs=0.06)
    yaw = 2 * np.arctan2(q[:, -1, 6], q[:, -1, 3])
    assert abs(yaw[0]) < 0.1
    assert yaw[1] == pytest.approx(1.5, abs=0.4)


def test_wrong_use_is_refused():
    """A trunk too high, an unknown option, a step that does not divide the period."""
    model = four_legs()
    with pytest.raises(ControlError, match="legs reach"):
        gs.control.trot(model, height=0.6)
    with pytest.raises(ControlError, match="no option 'gaits'"):
        gs.control.trot(model, gaits=1)
    with pytest.raises(ControlError, match="no whole number"):
        gs.control.walker(gs.Simulator(model, 0.003), gs.control.trot(model))
