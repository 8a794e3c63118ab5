"""The event-driven reference in space: closed forms, laws, differences of itself at two sizes."""

import mujoco
import numpy as np
import pytest
from impacts import SAMPLES, ode, run, strike
from impacts_bodies import FreeBodies, cross, product, turn
from impacts_closed import POINTS, slopes
from impacts_table import A1, SCENES

# Of a share of the friction that sticking needs, and of the speed that sliding keeps.
USED, KEPT = 0.7, 0.4


def scene(name):
    if name == "I9 leg" and not A1.is_file():
        pytest.skip(f"no robot file {A1}")
    return SCENES[name]


@pytest.mark.parametrize("name", POINTS)
def test_closed_forms(name):
    """Slopes of the events are those of the formulas."""
    np.testing.assert_allclose(SCENES[name].jacobian, slopes(name), rtol=1e-7, atol=1e-9)


def test_closed_forms_are_the_published_numbers():
    """To the digits with which they are known: spheres, ball with friction, rod, glancing ball."""
    np.testing.assert_allclose(slopes("I1 spheres"), [[1.5386751345948, 0.1732050807569]])
    np.testing.assert_allclose(slopes("I1 ball"), [[0.3, 0.1]])
    np.testing.assert_allclose(slopes("I1 rod"), [[-0.39126, -0.14372]], atol=5e-6)


@pytest.mark.parametrize("name", SCENES)
def test_differences_at_two_sizes_agree(name):
    """Along a direction of all inputs, with half the step."""
    known = scene(name)
    d = np.random.default_rng(0).uniform(-1, 1, len(known.inputs))
    x = 5e-4 * np.arange(-2, 3)
    at = [known.values(a * d) for a in x]
    slope = (8 * (at[3] - at[1]) - (at[4] - at[0])) / (12 * 5e-4)
    np.testing.assert_allclose(
        known.jacobian @ d, slope, atol=1e-6 * np.abs(known.jacobian).max(), rtol=0
    )


@pytest.mark.parametrize("name", SCENES)
def test_impacts_are_clean(name):
    """As many and as the scene says, not grazing, and far from another mode."""
    for impact in scene(name).run()[2]:
        assert impact.speed > 0.6
        assert impact.mode != "stick" or impact.margin < USED
        assert impact.mode != "slide" or impact.margin > KEPT


@pytest.mark.parametrize("name", [n for n, s in SCENES.items() if s.e == 1 and s.mu == 0])
def test_smooth_elastic_impacts_keep_the_energy(name):
    """Kinetic energy at the end is that of the start."""
    known = SCENES[name]
    energies = []
    for q, v in (known.start(), known.run()[:2]):
        energies.append(v @ known.mechanism().mass(q) @ v / 2)
    np.testing.assert_allclose(*energies, rtol=1e-12)


def test_colliding_bodies_keep_their_momentum():
    """Of two balls, with friction, spinning: linear and angular about the origin."""
    known = SCENES["I1 spheres"]
    q, v = known.start()
    v[[3, 4, 5, 11]] = 1.0, -2.0, 3.0, 4.0
    bodies = known.mechanism()

    def momenta(q, v):
        q, v = q.reshape(-1, 7), v.reshape(-1, 6)
        spin = v[:, 3:] * 0.004  # isotropic: the same in all axes, once turned
        R = [bodies.poses(q.ravel())[k][0] for k in range(2)]
        turning = sum(R[k] @ spin[k] + cross(q[k, :3], v[k, :3]) for k in range(2))
        return np.concatenate([v[:, :3].sum(0), turning])

    after = run(bodies, known.contacts(), (q, v), 0.4, 0.5, 0.3)
    assert after[2][0].mode in ("stick", "slide")
    np.testing.assert_allclose(momenta(*after[:2]), momenta(q, v), atol=1e-12)


@pytest.mark.parametrize("mu", [0.05, 0.2, 0.5])
def test_coulombs_law_holds(mu):
    """Random impacts: u_n+ = -e u_n; sticking in the cone, or friction against what slides."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        root = rng.normal(size=(3, 3)) + 2 * np.eye(3)
        W, u = root @ root.T, np.array([-2.0, *rng.normal(size=2)])
        try:
            impulse, mode, _ = strike(W, u, 0.5, mu)
        except ArithmeticError:
            continue  # so coupled that there are several answers
        after = u + W @ impulse
        assert after[0] == pytest.approx(1.0)
        limit = mu * impulse[0]
        if mode == "stick":
            np.testing.assert_allclose(after[1:], 0, atol=1e-12)
            assert np.linalg.norm(impulse[1:]) <= limit
        else:
            against = -limit * after[1:] / np.linalg.norm(after[1:])
            np.testing.assert_allclose(impulse[1:], against, atol=1e-12)


def test_a_top_by_closed_form_and_by_integration():
    """A symmetric body that tumbles: the same motion by the formula and by Euler's equations."""
    q, w = turn(np.array([0.3, -0.2, 0.5])), np.array([2.0, -3.0, 5.0])
    inertia = np.array([0.02, 0.02, 0.005])
    top = FreeBodies(np.ones(1), inertia[None], np.zeros(3))
    start = np.concatenate([np.zeros(3), q]), np.concatenate([np.zeros(3), w])
    found = np.concatenate(top.flow(*start, 0.5)(0.41))

    def rate(y):
        turned = product(y[:4], np.concatenate([[0.0], y[4:]])) / 2
        return np.concatenate([turned, -cross(y[4:], inertia * y[4:]) / inertia])

    y = ode(rate, np.concatenate([q, w]), 0.5)(0.41)
    np.testing.assert_allclose(found[[3, 4, 5, 6, 10, 11, 12]], y, atol=1e-12)


def test_the_integrator_is_exact():
    """An oscillator through 4 radians, at a node and between."""
    at = ode(lambda y: np.array([y[1], -y[0]]), np.array([1.0, 0.0]), 4.0)
    for t in (4.0, 4.0 * 7 / SAMPLES, 1.2345):
        np.testing.assert_allclose(at(t), [np.cos(t), -np.sin(t)], atol=1e-13)


def test_double_pendulum_is_mujocos():
    """Matrix of masses and accelerations of the equations by hand."""
    known = SCENES["I8 pendulum"].pendulum
    (l, _), (c1, c2), (m1, m2), (I1, I2) = (
        known.lengths, known.centres, known.masses, known.inertias
    )  # fmt: skip
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><body>
        <joint axis="0 1 0"/><inertial pos="0 0 {-c1}" mass="{m1}" diaginertia="{I1} {I1} {I1}"/>
        <body pos="0 0 {-l}"><joint axis="0 1 0"/>
        <inertial pos="0 0 {-c2}" mass="{m2}" diaginertia="{I2} {I2} {I2}"/>
        </body></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v = np.array([0.4, -1.1]), np.array([2.0, 3.0])
    mujoco.mj_forward(model, data)
    M = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, M)
    np.testing.assert_allclose(known.mass(q), M, rtol=1e-12)
    np.testing.assert_allclose(known.acceleration(q, v), data.qacc, rtol=1e-9)
