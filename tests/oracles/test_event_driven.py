"""The event-driven references against published tables, closed forms and conservation laws."""

import numpy as np
import pytest
from event_driven import (
    BOX_SCENES,
    AtRest,
    Box,
    G,
    billiards,
    billiards_loss,
    bounce_height,
    bounce_once,
    central,
    complex_step,
    hunt_crossley_loss,
    hunt_crossley_restitution,
    impact_time,
    incline,
    slide,
    stopping_distance,
    two_discs,
)

# Final T, impacts, and the slope of the loss in the cue's x, y, vx, vy, rounded to 4 places.
BILLIARDS = [
    (0.4, 0, (0.0320, 0.0194, 0.0128, 0.0078)),
    (0.6, 3, (0.0557, 0.0263, 0.0334, 0.0149)),
    (0.8, 5, (-0.0212, 0.1670, -0.0169, 0.0777)),
    (1.0, 5, (-0.0112, 0.2539, -0.0112, 0.1182)),
    (1.5, 7, (-0.0576, -0.3333, -0.0864, -0.1426)),
    (2.0, 9, (-0.0284, -0.3507, -0.0569, -0.1472)),
    (3.0, 15, (0.0404, 0.4881, 0.1213, 0.3977)),
]
# Final (x, y, theta, vx, vy, omega), and its slopes in the initial spin and in mu.
BOXES = {
    "slip": (
        (0.91912446, 0.23834909, -0.70911965, 2.46769137, 0.31142423, -6.89954684),
        (0.00405212, -0.02701414, -0.52334832, 0.01412807, -0.09418714, -2.57353889),
        (-0.45626001, -0.10829053, 0.72695346, -3.42167461, -0.84699751, 4.4549667),
    ),
    "stick": (
        (1.11293536, 0.30275671, -1.41965491, 1.40550525, 0.4362164, -6.73679094),
        (-0.07179462, -0.04099586, 0.55625976, -0.36129773, 0.42039312, 1.82361516),
        (0, 0, 0, 0, 0, 0),
    ),
}


@pytest.mark.parametrize(("T", "impacts", "slope"), BILLIARDS)
def test_billiards_table(T, impacts, slope):
    """Impacts and slopes of the break agree with the published table to its last digit."""
    discs, x, v = billiards()
    dx, dv = discs.gradient(billiards_loss, x, v, T)
    assert discs.run(x, v, T)[2] == impacts
    np.testing.assert_allclose([*dx[0], *dv[0]], slope, atol=0.51e-4)


def test_bounce_once():
    """The final height falls one for one with the initial height and with T = 1 times its rate."""
    discs, x, v = bounce_once()
    dx, dv = discs.gradient(lambda x, v: x[0, 1], x, v, 1.0)
    np.testing.assert_allclose([*dx[0], *dv[0]], [0, -1, 0, -1], atol=1e-14)
    # Position and velocity seen in a mirror at y = r: y(T) = 2 r - y_0 - v_0 T.
    np.testing.assert_allclose(discs.run(x, v, 1.0)[0][0], [1, 0.2 - (1 - 2)], atol=1e-14)


def test_two_discs():
    """Equal discs exchange their velocities: x_2(T) = x_1 + 2 r + v_1 T."""
    discs, x, v = two_discs()
    dx, dv = discs.gradient(lambda x, v: x[1, 0], x, v, 1.0)
    np.testing.assert_allclose([*dx[:, 0], *dv[:, 0]], [1, 0, 1, 0], atol=1e-14)
    np.testing.assert_allclose(discs.run(x, v, 1.0)[0][1, 0], 0 + 0.2 + 1, atol=1e-14)


def test_break_keeps_energy_and_slopes_agree_with_differences():
    """15 elastic impacts keep the energy; the complex step equals differences at two steps."""
    discs, x, v = billiards()
    np.testing.assert_allclose(np.sum(discs.run(x, v, 3.0)[1] ** 2), np.sum(v**2), rtol=1e-13)

    def f(z):
        return billiards_loss(*discs.run(z[:8].reshape(4, 2), z[8:].reshape(4, 2), 3.0)[:2])

    z = np.concatenate([x.ravel(), v.ravel()])
    exact = complex_step(f, z)
    for h in (1e-5, 1e-6):
        np.testing.assert_allclose(central(f, z, h), exact, atol=1e-5)


@pytest.mark.parametrize("name", BOX_SCENES)
def test_box_scene(name):
    """Modes, final state and slopes are the frozen ones, and differences agree at two steps."""
    scene = BOX_SCENES[name]
    start = np.array(scene.start)
    final, modes = scene.box.run(start, scene.mu, scene.T)
    J = scene.box.jacobian(start, scene.mu, scene.T)
    state, in_spin, in_mu = BOXES[name]
    assert tuple(modes) == scene.modes
    np.testing.assert_allclose(final, state, atol=1e-7)
    np.testing.assert_allclose(J[:, 5], in_spin, atol=1e-7)
    np.testing.assert_allclose(J[:, 6], in_mu, atol=1e-7)

    def f(z):
        return scene.box.run(z[:6], z[6], scene.T)[0]

    for h in (1e-5, 1e-6):
        np.testing.assert_allclose(central(f, np.append(start, scene.mu), h), J, atol=1e-6)


def test_box_dissipates_what_it_should():
    """Elastic impacts without friction keep energy and vx; with friction and e < 1 energy falls."""

    def energy(box, s):
        return box.m * (s[3] ** 2 + s[4] ** 2) / 2 + box.inertia * s[5] ** 2 / 2 + box.m * G * s[1]

    start = np.array([0, 0.4, 0.5, 2.0, 0, -4.0])
    smooth = Box(0.2, 0.1, e=1.0)
    final, modes = smooth.run(start, 0.0, 1.0)
    assert len(modes) >= 3
    np.testing.assert_allclose(energy(smooth, final), energy(smooth, start), rtol=1e-12)
    assert final[3] == start[3]
    for scene in BOX_SCENES.values():
        s = np.array(scene.start)
        energies = [energy(scene.box, scene.box.run(s, scene.mu, t)[0]) for t in (0, 0.2, scene.T)]
        assert np.all(np.diff(energies) < -0.1)


def test_sliding_impacts_are_the_limit_of_a_stiff_spring():
    """Corners on stiff springs with Coulomb friction move as the sliding box does, slopes too."""
    scene = BOX_SCENES["slip"]
    box, k, h = scene.box, 1e5, 5e-5

    def rate(s, mu):
        """Of states [6, n]."""
        f = np.stack([0 * s[1], 0 * s[1] - box.m * box.g, 0 * s[1]])
        for corner in range(4):
            rx, ry = box._arm(s[2], corner)
            normal = k * np.maximum(-(s[1] + ry), 0)
            tangent = -mu * normal * np.sign(s[3] - s[5] * ry)
            f = f + np.stack([tangent, normal, rx * normal - ry * tangent])
        return np.concatenate([s[3:], f / np.array([[box.m], [box.m], [box.inertia]])])

    d = 1e-3  # the scene, and one step to either side in spin and in mu
    s = np.array(scene.start)[:, None] + np.outer(np.eye(6)[5], [0, d, -d, 0, 0])
    mu = scene.mu + np.array([0, 0, 0, d, -d])
    for _ in range(round(scene.T / h)):
        k1 = rate(s, mu)
        k2 = rate(s + h / 2 * k1, mu)
        k3 = rate(s + h / 2 * k2, mu)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(s + h * k3, mu))
    slopes = np.stack([s[:, 1] - s[:, 2], s[:, 3] - s[:, 4]], 1)[:3] / (2 * d)
    exact = scene.box.jacobian(np.array(scene.start), scene.mu, scene.T)[:3, 5:]
    np.testing.assert_allclose(s[:3, 0], BOXES["slip"][0][:3], atol=0.01)
    error = np.linalg.norm(slopes - exact, axis=0) / np.linalg.norm(exact, axis=0)
    assert np.all(error < 0.1)


def test_box_on_its_corner_bounces_like_a_ball():
    """With the lowest corner below the centre, impacts and apices are those of a ball."""
    box = Box(0.2, 0.1, e=0.6)
    start = np.array([0, 0.5, np.arctan2(0.2, 0.1), 0, 0, 0])
    drop = 0.5 - np.hypot(0.2, 0.1)
    for n in (1, 2, 3):
        first, then = (impact_time(drop, box.e, k) for k in (n, n + 1))
        assert len(box.run(start, 0.5, first - 1e-9)[1]) == n - 1
        apex, modes = box.run(start, 0.5, (first + then) / 2)
        assert len(modes) == n
        height = apex[1] - np.hypot(0.2, 0.1)
        np.testing.assert_allclose(height, bounce_height(drop, box.e, n), atol=1e-12)
    with pytest.raises(AtRest):
        box.run(start, 0.5, 2.0)


def test_sliding_closed_forms():
    """Distances of a loop of semi-implicit Euler steps, exact or in their limit; slopes in mu."""

    def loop(v, mu, T, n):
        x, h = 0.0, T / n
        for _ in range(n):
            v = v - min(v, mu * G * h)
            x = x + h * v
        return x

    np.testing.assert_allclose(loop(5.0, 0.3, 1.0, 50), slide(5, 0.3, 1, 1 / 50), rtol=1e-13)
    np.testing.assert_allclose(loop(1.0, 0.3, 1.0, 10_000), stopping_distance(1, 0.3), rtol=1e-3)
    for h, expected in ((1 / 30, -51.67), (0.0, -50.0)):  # g = 100: the published pair
        slope = complex_step(lambda mu, h=h: slide(200, mu[0], 1.0, h, g=100), np.array([0.5]))
        np.testing.assert_allclose(slope, [expected], atol=0.005)


def test_incline_closed_form():
    """At 30 degrees friction holds a block at 0.7, and at 0.5 it has slid 0.33 m in 1 s."""
    angle = np.radians(30)
    assert incline(angle, 0.7, 1.0) == 0
    np.testing.assert_allclose(incline(angle, 0.5, 1.0), G * (2 - np.sqrt(3)) / 8, rtol=1e-13)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_hunt_crossley_closed_form(exponent):
    """A fine integration of the impact has the closed form's restitution, for any exponent."""
    v0, d, k, m = 1.0, 0.2, 1e4, 1.0

    def rate(s):
        return np.array([s[1], -k / m * max(s[0], 0) ** exponent * (1 + d * s[1])])

    s, h = np.array([0.0, v0]), 1e-5
    while s[0] >= 0:
        k1 = rate(s)
        k2 = rate(s + h / 2 * k1)
        k3 = rate(s + h / 2 * k2)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(s + h * k3))
    np.testing.assert_allclose(-s[1] / v0, hunt_crossley_restitution(v0, d), atol=1e-6)


def test_hunt_crossley_loss_is_first_order():
    """The relative error of the first-order energy loss halves with the speed."""
    errors = []
    for v in (0.02, 0.01):
        exact = (1 - hunt_crossley_restitution(v, 1.0) ** 2) * v * v / 2
        errors.append(hunt_crossley_loss(1.0, v, 1.0) / exact - 1)
    assert 0 < errors[1] < errors[0] < 0.03
    np.testing.assert_allclose(errors[0] / errors[1], 2, atol=0.1)
