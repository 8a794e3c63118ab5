"""What sensors read, against kinematics by hand and differences over time of a fine motion."""

import jax.numpy as jnp
import machines
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zoo
from graftsim import ModelError, ProblemError, RungeKutta4, Simulator
from graftsim.dynamics.mechanism import prepare
from graftsim.model.fuse import fuse
from graftsim.sensors.sensor import KINDS
from graftsim.sensors.sensors import make_sensors, readings

H = 1e-3
CHANNELS = (
    "joint.q[slide]",
    "joint.q[wrist]",
    "joint.qd[hinge]",
    "joint.tau[slide]",
    "link.position[arm]",
    "link.position[tool]",
    "link.heading[arm]",
    "link.heading[tool]",
    "link.pose[tool]",
    "link.angular_velocity[tool]",
    "link.linear_acceleration[tool]",
    "link.linear_acceleration[cart]",
)
AXIS = (0.0, 0.6, -0.8)


@pytest.fixture(scope="module")
def motion():
    """A second of the cart's motion (fine steps, fourth order), and what its sensors read."""
    model = machines.cart()
    simulator = Simulator(model, H, integrator=RungeKutta4())
    state = simulator.initial_state({"hinge": 0.8, "wrist": -0.5}, {"slide": 0.3, "wrist": 1.0})
    u = 2 * np.sin(np.arange(600) * 0.01)[:, None]
    sensors = make_sensors(model, CHANNELS, {"link.heading[tool]": {"axis": AXIS}})
    trajectory = zoo.rollout(simulator, state, jnp.asarray(u), sensors.needs)
    recorded = {k: v[:600] for k, v in trajectory.recorded.items()}
    m = prepare(fuse(model))
    read = zoo.jit(lambda q, qd, r: readings(sensors, m, q, qd, r))(
        trajectory.q[:600], trajectory.qd[:600], recorded
    )
    return {
        "q": np.asarray(trajectory.q[:600]),
        "qd": np.asarray(trajectory.qd[:600]),
        "u": u,
        **{c: np.asarray(r) for c, r in zip(CHANNELS, read, strict=True)},
    }


def by_hand(q):
    """Position and rotation of cart, arm and tool from the joint positions [t, 3]."""
    zero = np.zeros(len(q))
    cart = np.stack([zero, q[:, 0], zero], -1)
    R_arm = Rotation.from_rotvec(q[:, 1:2] * [1, 0, 0])
    arm = cart + np.array([0, 0, 0.1])
    R_hand = R_arm * Rotation.from_rotvec(q[:, 2:3] * [0, 1, 0])
    hand = arm + R_arm.apply([0, 0, -0.6])
    w, *xyz = machines.TURN
    R_tool = R_hand * Rotation.from_quat([*xyz, w])
    return cart, arm, R_arm, hand + R_hand.apply(machines.TOOL), R_tool


def test_joint_sensors_read_the_state(motion):
    """Positions, velocities and motor torques of joints come back as they are."""
    np.testing.assert_allclose(motion["joint.q[slide]"][:, 0], motion["q"][:, 0], atol=1e-14)
    np.testing.assert_allclose(motion["joint.q[wrist]"][:, 0], motion["q"][:, 2], atol=1e-14)
    np.testing.assert_allclose(motion["joint.qd[hinge]"][:, 0], motion["qd"][:, 1], atol=1e-14)
    np.testing.assert_allclose(motion["joint.tau[slide]"], motion["u"], atol=1e-14)


def test_positions_and_headings(motion):
    """Origins of links and frames, and directions, as kinematics by hand gives them."""
    _, arm, R_arm, tool, R_tool = by_hand(motion["q"])
    np.testing.assert_allclose(motion["link.position[arm]"], arm, atol=1e-12)
    np.testing.assert_allclose(motion["link.position[tool]"], tool, atol=1e-12)
    com = np.array([0.01, 0.02, -0.3])
    np.testing.assert_allclose(
        motion["link.heading[arm]"], R_arm.apply(com / np.linalg.norm(com)), atol=1e-12
    )
    np.testing.assert_allclose(motion["link.heading[tool]"], R_tool.apply(AXIS), atol=1e-12)


def test_pose(motion):
    """A pose reads the position and the rotation matrix of the frame."""
    *_, tool, R_tool = by_hand(motion["q"])
    np.testing.assert_allclose(motion["link.pose[tool]"][:, :3], tool, atol=1e-12)
    matrices = motion["link.pose[tool]"][:, 3:].reshape(-1, 3, 3)
    np.testing.assert_allclose(matrices, R_tool.as_matrix(), atol=1e-12)


def test_gyroscope_is_the_rate_of_the_pose(motion):
    """Angular velocity in the sensor's axes is the central difference of its orientation."""
    *_, R = by_hand(motion["q"])
    rate = (R[:-2].inv() * R[2:]).as_rotvec() / (2 * H)
    # The vector between two instants is the same in the axes at both ends, and nearly so midway.
    np.testing.assert_allclose(motion["link.angular_velocity[tool]"][1:-1], rate, atol=3e-4)


@pytest.mark.parametrize("where", ["tool", "cart"])
def test_accelerometer_is_second_difference_less_gravity(motion, where):
    """Linear acceleration is that of the point, gravity subtracted, in the sensor's axes."""
    cart, _, _, tool, R = by_hand(motion["q"])
    point = tool if where == "tool" else cart
    second = (point[2:] - 2 * point[1:-1] + point[:-2]) / H**2
    felt = second + np.array([0, 0, 9.81])
    expected = R[1:-1].inv().apply(felt) if where == "tool" else felt
    read = motion[f"link.linear_acceleration[{where}]"][1:-1]
    # Commands jump between steps: the difference straddles two of them.
    np.testing.assert_allclose(read, expected, atol=0.02)


def test_scale_and_offset():
    """A reading is scale * value + offset, each sensor its own."""
    model = machines.cart()
    options = {"joint.q[slide]": {"scale": 2.0, "offset": 0.5}, "joint.q[wrist]": {"offset": -1.0}}
    sensors = make_sensors(model, ("joint.q[slide]", "joint.q[wrist]"), options)
    q = jnp.array([[0.1, 0.2, 0.3]])
    read = readings(sensors, prepare(fuse(model)), q, 0 * q, {})
    np.testing.assert_allclose([r[0, 0] for r in read], [0.7, -0.7])


@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.01, 0.1])
@pytest.mark.parametrize("flip", [1, -1])
def test_mismatch_of_poses(angle, flip):
    """The rotation between two poses is a vector, exact to third order, whatever the sign of q."""
    rng = np.random.default_rng(0)
    read, axis = Rotation.random(rng=rng), np.array([0.48, -0.6, 0.64])
    turned = read * Rotation.from_rotvec(angle * axis)
    x, y, z, w = turned.as_quat()
    measured = jnp.array([[1.0, 2.0, 3.0, *(flip * np.array([w, x, y, z]))]])
    reading = jnp.array([[1.1, 2.0, 2.5, *read.as_matrix().ravel()]])
    error = KINDS["link.pose"]("tool").mismatch(reading, measured)[0]
    np.testing.assert_allclose(error[:3], [-0.1, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(error[3:], angle * axis, atol=0.2 * angle**3 + 1e-12)


def test_units_of_readings():
    """A slide is measured in m, a hinge in rad; every kind has a unit."""
    model = machines.cart()
    assert KINDS["joint.q"]("slide").unit(model) == "m"
    assert KINDS["joint.qd"]("hinge").unit(model) == "rad/s"
    assert KINDS["joint.tau"]("slide").unit(model) == "N"
    assert all(kind("hinge").unit(model) for kind in KINDS.values())


@pytest.mark.parametrize(
    ("channels", "options", "error", "parts"),
    [
        (["joint.q[knee]"], {}, ProblemError, ["joint.q[knee]", "slide, hinge, wrist"]),
        (["link.force[arm]"], {}, ProblemError, ["no sensor explains 'link.force'"]),
        (["link.pose[foot]"], {}, ModelError, ["foot"]),
        (
            ["joint.q[hinge]"],
            {"joint.q[hinge]": {"gain": 2}},
            ProblemError,
            ["unknown options", "gain"],
        ),
        (
            ["joint.q[hinge]"],
            {"joint.q[wrist]": {}},
            ProblemError,
            ["not recorded", "joint.q[wrist]"],
        ),
        (
            ["link.heading[arm]"],
            {"link.heading[arm]": {"axis": (1, 0)}},
            ProblemError,
            ["three numbers"],
        ),
        (
            ["link.heading[arm]"],
            {"link.heading[arm]": {"axis": (0, 0, 0)}},
            ProblemError,
            ["not all zero"],
        ),
    ],
)
def test_wrong_sensors_are_named(channels, options, error, parts):
    """Unknown kinds, labels and options are refused with what there is."""
    with pytest.raises(error) as caught:
        make_sensors(machines.cart(), channels, options)
    for part in parts:
        assert part in str(caught.value)
