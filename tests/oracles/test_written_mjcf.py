"""N7: written MJCF opens in MuJoCo and in Pinocchio's reader with the same mass matrix."""

import numpy as np
import pytest
from robot_census.oracles import mujoco_file, pinocchio_mjcf

import graftsim as gs
import zoo
from graftsim.dynamics import mass_matrix
from graftsim.identify.inverse.consistent import Prior, consistent
from graftsim.identify.inverse.forces.regressor import body_of, ten_numbers
from graftsim.io.robot import poses

TOPOLOGIES = zoo.topologies()
READERS = {"mujoco": mujoco_file, "pinocchio": pinocchio_mjcf}
# Of a number's size: what rounding of principal axes costs.
ROUNDING = 1e-9
# Of ten numbers of a link none is bounded by itself.
FREE = np.zeros(10, bool)


def same(model, path, q, rounding=ROUNDING):
    """Each reader that has our coordinates has our mass matrix; returns the readers' names."""
    gs.write_mjcf(model, path)
    H, compared = np.asarray(mass_matrix(model, q)), []
    for name, reader in READERS.items():
        other = reader(path)
        assert not isinstance(other, str), (name, other)
        theirs = other(model, q, np.zeros(model.nv), np.zeros(model.nu))
        if not isinstance(theirs, str):
            error = np.abs(H - theirs["mass matrix"]).max() / np.abs(H).max()
            assert error < rounding, (name, error)
            compared.append(name)
    return compared


@pytest.mark.parametrize("index", range(len(TOPOLOGIES)))
def test_random_trees(tmp_path, index):
    """Every joint type, massless links and frames among them, branch by branch as MuJoCo has it."""
    model = zoo.random_model(TOPOLOGIES[index], index)
    # MuJoCo has one armature for all axes of a ball.
    model = gs.model.with_leaf(model, "joint.armature", np.full(model.nv, 0.1))
    q, _ = zoo.random_state(model, index)
    _, rows_q, rows_v = zoo.depth_first(model)
    gs.write_mjcf(model, tmp_path / "robot.xml")
    H = np.asarray(mass_matrix(model, q))[np.ix_(rows_v, rows_v)]
    other = mujoco_file(tmp_path / "robot.xml")
    theirs = other(model, q[rows_q], np.zeros(model.nv), np.zeros(model.nu))["mass matrix"]
    np.testing.assert_allclose(theirs, H, atol=ROUNDING * np.abs(H).max())
    if TOPOLOGIES[index].parent.count(-1) == 1:  # Pinocchio's reader has one root
        assert not isinstance(pinocchio_mjcf(tmp_path / "robot.xml"), str)


def plate(rng, digits):
    """A body that is flat: its largest principal inertia is the sum of the others."""
    a, b = rng.uniform(1e-4, 1, 2)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    I = R @ np.diag([a, b, a + b]) @ R.T
    six = np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return six if digits is None else np.array([float(f"{x:.{digits}g}") for x in six])


@pytest.mark.parametrize("digits", [None, 6])
def test_bodies_on_the_boundary(tmp_path, digits):
    """Chains of 30 plates, exact and with the digits of a file."""
    rng = np.random.default_rng(3)
    for robot in range(10):
        builder = gs.Builder("plates")
        for k in range(3):
            builder.link(
                f"l{k}", f"l{k - 1}" if k else "world", axis=rng.normal(size=3), mass=1.0,
                com=rng.normal(size=3) / 9, inertia=plate(rng, digits), origin=rng.normal(size=3),
            )  # fmt: skip
        builder.link("tool", "l2", "fixed", origin=(0, 0, 1))
        model = builder.build()
        path = tmp_path / f"robot{robot}.xml"
        rounding = ROUNDING if digits is None else 10.0 ** (1 - digits)
        assert same(model, path, rng.normal(size=3), rounding) == ["mujoco", "pinocchio"]
        again = gs.load(path)
        np.testing.assert_allclose(again.link.inertia, model.link.inertia, atol=2e-5)
        assert again.tree.links == model.tree.links


def test_fitted_ones(tmp_path):
    """Five chains whose inertias a regression has found on the boundary of what can exist."""
    rng = np.random.default_rng(11)
    every = np.arange(10)[None]
    for robot in range(5):
        builder, slack = gs.Builder("fitted"), []
        for k in range(3):
            m = rng.uniform(0.5, 2.0)
            prior = ten_numbers(m, rng.uniform(-0.2, 0.2, 3), m * zoo.random_inertia(rng))
            measured = prior.copy()
            measured[4 + k] += 6 * prior[4:7].sum()  # more about one axis than any body has
            z = consistent(np.eye(10), measured, 1e-12 * np.eye(10), Prior(prior, every, FREE))
            mass, com, six = body_of(z)
            a, b, c = np.linalg.eigvalsh(poses.symmetric(six))
            slack.append((a + b - c) / c)
            builder.link(
                f"l{k}", f"l{k - 1}" if k else "world", axis=rng.normal(size=3), mass=float(mass),
                com=com, inertia=six, origin=rng.normal(size=3),
            )  # fmt: skip
        assert np.min(slack) < 1e-3
        path = tmp_path / f"fitted{robot}.xml"
        assert same(builder.build(), path, rng.normal(size=3)) == ["mujoco", "pinocchio"]


FILES = ("a1/a1_primitives.urdf", "pendulum/pendulum5.urdf", "swimmer/swimmer05.xml",
         "quadruped/standing_quadruped.xml", "unitree/aliengo.xml", "unitree/go2.xml",
         "unitree/z1.xml", "laikago/laikago_toes_zup_primitives.urdf")  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_robots(tmp_path, assets_dir, file):
    """Those of the assets, in both readers."""
    model = gs.load(assets_dir / file)
    q = np.array(model.tree.neutral)
    q += np.linspace(-0.5, 0.5, len(q)) * (np.abs(q) == 0)
    for kind, rows in zip(model.tree.types, model.tree.q_index, strict=True):
        if kind in ("free", "spherical"):
            q[rows[-4:]] /= np.linalg.norm(q[rows[-4:]])
    assert same(model, tmp_path / "robot.xml", q) == ["mujoco", "pinocchio"]
