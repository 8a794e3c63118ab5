"""Joint types from outside the package: a screw, whose numbers add up, and a universal joint."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from differences import column_errors, jacobians
from graftsim.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    link_poses,
    mass_matrix,
)
from graftsim.engine.rollout import scan_steps
from graftsim.model.joint_type import AdditiveJoint, Coordinate, Freedom, constant, spatial
from graftsim.spatial import rotation


@dataclass(frozen=True)
class Screw(AdditiveJoint):
    """A turn about the axis that advances `pitch` metres a radian along it."""

    pitch: float

    name = "screw"
    freedoms = (Freedom("", "rad", pure=False),)
    coordinates = (Coordinate("", "rad"),)
    axial = True

    def transform(self, axis, q):
        return rotation.about_axis(axis, q[:, 0]), self.pitch * axis * q

    def motion_subspace(self, axis, R):
        return spatial(axis, self.pitch * axis)[:, None, :]

    def bias(self, S, R, qd):
        return constant(qd)


@dataclass(frozen=True)
class Universal(AdditiveJoint):
    """A turn about x, then one about the y that it has carried along."""

    name = "universal"
    freedoms = (Freedom("x", "rad"), Freedom("y", "rad"))
    coordinates = (Coordinate("x", "rad"), Coordinate("y", "rad"))
    axial = False

    def transform(self, axis, q):
        x, y = (jnp.broadcast_to(jnp.eye(3)[i], axis.shape) for i in (0, 1))
        R = rotation.about_axis(x, q[:, 0]) @ rotation.about_axis(y, q[:, 1])
        return R, jnp.zeros_like(axis)

    def motion_subspace(self, axis, R):
        x, y = R[:, 0, :], jnp.broadcast_to(jnp.eye(3)[1], axis.shape)  # x as the link sees it
        return jnp.stack([spatial(a, jnp.zeros_like(a)) for a in (x, y)], 1)

    def bias(self, S, R, qd):
        x, y = (S[:, i, :3] * qd[:, i : i + 1] for i in (0, 1))
        return spatial(-rotation.cross(y, x), jnp.zeros_like(x))


BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.15), "inertia": (0.02, 0.03, 0.04, 0.001, 0.002, -0.003)}
PLACE = {"origin": (0.1, 0.2, -0.1), "rotation": (0.9, 0.1, -0.3, 0.2)}


def bolt(pitch=0.05, **numbers):
    """A body of 2 kg on a vertical screw, 0.01 kg m^2 about its axis."""
    builder = gs.Builder("bolt")
    builder.link("bolt", joint=Screw(pitch), mass=2.0, inertia=(0.02, 0.02, 0.01), **numbers)
    return builder.build()


def on_an_arm(joint, **numbers):
    """A joint at the end of an arm that swings, with another link on what it carries."""
    builder = gs.Builder("carried")
    builder.link("arm", joint="spherical", mass=0.7, com=(0, 0, -0.2), inertia=0.02)
    builder.link("body", "arm", joint, **PLACE, **BODY, **numbers)
    builder.link("tip", "body", origin=(0, 0.1, 0), axis=(1, 0, 0), mass=0.2, com=(0, 0, 0.1),
                 inertia=1e-3)  # fmt: skip
    return builder.build()


def test_a_screw_falls_as_its_closed_form_says():
    """(I + m h^2) qdd = -m g h, however far it has turned."""
    h, m, inertia = 0.05, 2.0, 0.01
    expected = -m * 9.81 * h / (inertia + m * h**2)
    model = bolt(h)
    got = forward_dynamics(model, jnp.array([0.7]), jnp.array([3.0]), jnp.zeros(1))
    np.testing.assert_allclose(got, [expected], rtol=1e-13)
    simulator = gs.Simulator(model, 0.01, integrator=gs.RungeKutta4())
    path = zoo.rollout(simulator, simulator.initial_state({"bolt": 0.4}), jnp.zeros((100, 0)))
    time = 0.01 * np.arange(101)
    np.testing.assert_allclose(path.q[:, 0], 0.4 + expected * time**2 / 2, rtol=1e-11)
    _, p = link_poses(model, path.q[-1])
    np.testing.assert_allclose(p[0], [0, 0, h * path.q[-1, 0]], atol=1e-14)


def test_a_slide_and_a_turn_are_the_ends_of_a_screw():
    """Pitch 0 is a revolute joint."""
    q, qd, tau = jnp.array([0.9, -0.1, 0.3, 0.2, 0.5, 0.8]), jnp.arange(5.0), jnp.ones(5)
    ours, theirs = (on_an_arm(kind, axis=(1, 2, 3)) for kind in (Screw(0.0), "revolute"))
    got, expected = (forward_dynamics(m, q, qd, tau) for m in (ours, theirs))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [Screw(0.3), Universal()], ids=lambda k: k.name)
def test_forward_and_inverse_dynamics_agree(kind):
    """On a swinging arm, and the inertia matrix is that of the kinetic energy."""
    model = on_an_arm(kind, axis=(1, 2, 3))
    q, qd = (jnp.asarray(x) for x in zoo.random_state(model, 5))
    tau = jnp.linspace(-1, 1, model.nv)
    qdd = forward_dynamics(model, q, qd, tau)
    np.testing.assert_allclose(inverse_dynamics(model, q, qd, qdd), tau, rtol=1e-10, atol=1e-12)
    H = jax.hessian(lambda v: kinetic_energy(model, q, v))(qd)
    np.testing.assert_allclose(mass_matrix(model, q), H, rtol=1e-10, atol=1e-13)


def test_a_universal_joint_is_two_hinges():
    """With a link without mass between them: accelerations, its bias term included."""
    ours = on_an_arm(Universal())
    builder = gs.Builder("hinges")
    builder.link("arm", joint="spherical", mass=0.7, com=(0, 0, -0.2), inertia=0.02)
    builder.link("cross", "arm", axis=(1, 0, 0), **PLACE)
    builder.link("body", "cross", axis=(0, 1, 0), **BODY)
    builder.link("tip", "body", origin=(0, 0.1, 0), axis=(1, 0, 0), mass=0.2, com=(0, 0, 0.1),
                 inertia=1e-3)  # fmt: skip
    theirs = builder.build()
    q, qd = (jnp.asarray(x) for x in zoo.random_state(ours, 6))
    got, expected = (forward_dynamics(m, q, qd, jnp.ones(6)) for m in (ours, theirs))
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert ours.tree.dofs[3:5] == ("body.x", "body.y")


@pytest.mark.parametrize(
    "kind",
    [Screw(0.3), pytest.param(Universal(), marks=pytest.mark.slow)],
    ids=lambda k: k.name,
)
def test_gradients_and_kernels(kind):
    """The roll-out's derivatives are those of differences; kernels compute the same motion."""
    model = on_an_arm(kind, axis=(1, 2, 3))
    q, qd = (jnp.asarray(x) for x in zoo.random_state(model, 7, speed=0.5))
    simulator = gs.Simulator(model, 0.01, integrator=gs.RungeKutta4())
    state, controls = gs.State(q=q, qd=qd, act=jnp.zeros(0)), jnp.zeros((10, 0))
    paths = [simulator.rollout(state, controls, backend=b) for b in ("kernel", "xla")]
    np.testing.assert_allclose(paths[0].q, paths[1].q, rtol=1e-10, atol=1e-12)

    def end(mass):
        changed = gs.model.with_leaf(model, "link.mass", mass)
        own = gs.Simulator(changed, 0.01, integrator=gs.RungeKutta4())
        return scan_steps(own, state, controls, ()).q[-1]

    forward, reverse, expected = jacobians(end)(model.link.mass)
    assert column_errors(forward, expected).max() < 1e-7
    assert column_errors(reverse, expected).max() < 1e-7


def test_two_pitches_are_two_types_in_one_mechanism():
    """Each keeps its own number; equal ones are the same type."""
    builder = gs.Builder("two")
    for name, pitch in (("a", 0.1), ("b", -0.2), ("c", 0.1)):
        builder.link(name, joint=Screw(pitch), axis=(0, 0, 1), mass=1.0, inertia=0.01)
    model = builder.build()
    assert [len(links) for _, links in model.tree.groups] == [2, 1]
    _, p = link_poses(model, jnp.ones(3))
    np.testing.assert_allclose(p[:, 2], [0.1, -0.2, 0.1], rtol=1e-14)


def test_files_that_cannot_hold_it_say_so(tmp_path):
    """By the joint's name, with the types that they have; the viewer draws it."""
    for write in (gs.write_mjcf, gs.write_urdf):
        with pytest.raises(gs.FileError, match=r"'bolt' is of type screw.*revolute"):
            write(bolt(), tmp_path / "bolt.xml")
    from graftsim.viewer.parts import skeleton

    assert "bolt joint" in {part.name for part in skeleton(bolt(), [0])}
