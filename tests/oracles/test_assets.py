"""The project's robot files: dynamics against both oracles, and against MuJoCo's own reading."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from quantities import of_mujoco, of_pinocchio, ours, random_case, relative_error, rigid_only

import zoo
from graftsim.engine import Simulator
from graftsim.io.load import load
from graftsim.model import State

FILES = (
    "a1/a1_primitives.urdf",
    "cube/cube_8spheres.urdf",
    "laikago/laikago_toes_zup_primitives.urdf",
    "pendulum/double_pendulum_05.urdf",
    "pendulum/double_pendulum_3_4.urdf",
    "pendulum/pendulum5.urdf",
    "quadruped/standing_quadruped.xml",
    "swimmer/swimmer02.urdf",
    "swimmer/swimmer02.xml",
    "swimmer/swimmer05.urdf",
    "swimmer/swimmer05.xml",
    "unitree/aliengo.xml",
    "unitree/go2.xml",
    "unitree/z1.xml",
)
# One of each kind for the states, since the others are the same mechanism with other numbers.
SAME = ("double_pendulum_05.urdf", "swimmer02.urdf", "swimmer02.xml", "swimmer05.urdf")
ROBOTS = [f for f in FILES if not f.endswith(SAME)]
CASES = 5


def test_the_list_is_complete(assets_dir):
    """Every robot file of the assets folder is tested here."""
    found = {str(p.relative_to(assets_dir)) for p in assets_dir.rglob("*.*ml")} | {
        str(p.relative_to(assets_dir)) for p in assets_dir.rglob("*.urdf")
    }
    assert found == set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_dynamics_of_file(assets_dir, file):
    """Kinematics and dynamics of the loaded model equal MuJoCo's and Pinocchio's within 1e-9."""
    model = load(assets_dir / file)
    cases = [random_case(model, s) for s in range(CASES)]
    batch = zoo.jit(jax.vmap(ours, in_axes=(None, 0)))(model, zoo.stack(cases))
    moving = np.array(model.tree.types) != "fixed"
    oracles = [of_pinocchio]
    if np.all(np.asarray(model.link.mass)[moving] > 0):  # MuJoCo moves no body without mass
        oracles.append(of_mujoco)
    for s, case in enumerate(cases):
        for oracle in oracles:
            for key, theirs in oracle(model, case).items():
                error = relative_error(np.asarray(batch[key][s]), theirs)
                assert error < 1e-9, (oracle.__name__, key, s, error)


@pytest.mark.parametrize("file", [f for f in FILES if f.endswith(".xml")])
def test_file_as_mujoco_reads_it(assets_dir, file):
    """H, C and forward dynamics of a loaded MJCF equal those of MuJoCo's own model of the file."""
    model = load(assets_dir / file)
    m = mujoco.MjModel.from_xml_path(str(assets_dir / file))
    case = random_case(model, 0)
    case.f[:] = 0
    mine = zoo.jit(ours)(model, case)
    d = rigid_only(m, case, np.arange(m.nq), np.arange(m.nv))
    H = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, H)
    for key, theirs in {"H": H, "C": d.qfrc_bias, "qdd": d.qacc}.items():
        error = relative_error(np.asarray(mine[key]), theirs)
        assert error < 1e-9, (key, error)


@pytest.mark.parametrize("file", ROBOTS)
def test_random_states_give_no_nan(assets_dir, file):
    """G16: a step and its gradient are finite at 10,000 random states and at rest at zero."""
    model = load(assets_dir / file)
    simulator = Simulator(model, 0.001)
    rng = np.random.default_rng(0)
    # Coordinates of a random state, quaternions made of four normal numbers; the first one rests.
    q = rng.normal(size=(10_000, model.nq)) * 2
    qd = rng.normal(size=(10_000, model.nv)) * 20
    u = rng.normal(size=(10_000, model.nu)) * 100
    q[0], qd[0], u[0] = model.tree.neutral, 0, 0

    def one(x):
        def end(q, qd, u):
            state = simulator.step(State(q=q, qd=qd, act=jnp.zeros(model.actuator.na)), u)
            return jnp.sum(state.q) + jnp.sum(state.qd)

        value, slopes = jax.value_and_grad(end, argnums=(0, 1, 2))(*x)
        return jnp.isfinite(value) & jnp.all(jnp.isfinite(jnp.concatenate(slopes)))

    finite = zoo.jit(lambda x: jax.lax.map(one, x, batch_size=1000))((q, qd, u))
    assert bool(jnp.all(finite))
