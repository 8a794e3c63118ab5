"""Gymnasium environments: its own checker, lanes against single ones, seeds, wrong use."""

import warnings
from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import graftsim as gs
from graftsim.envs import SimulatorEnv, SimulatorVectorEnv, Task
from graftsim.errors import ModelError

LANES = 5


def pendulum(limit=1.0):
    b = gs.Builder("pendulum")
    b.link("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.02, damping=0.05)
    b.actuator("motor", "rod", control_range=(-limit, limit))
    return gs.Simulator(b.build(), 0.01)


SIMULATOR = pendulum()


def start(key):
    q, qd = jax.random.uniform(key, (2, 1), minval=-0.4, maxval=0.4)
    return SIMULATOR.initial_state(q, qd)


def reward(motion, u):
    return -jnp.sum(motion.q[-1] ** 2) - 0.1 * jnp.sum(u**2)


def too_fast(state):
    return jnp.abs(state.qd[0]) > 0.9


TASK = Task(SIMULATOR, reward, too_fast, start, repeat=3, limit=9)


@pytest.fixture(scope="module")
def single():
    return SimulatorEnv(TASK)


def test_gymnasium_accepts_it(single):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations are unbounded and not made by gymnasium.make, which is no fault.
        for known in (".*infinity.*", ".*is not within.*", ".*unbounded.*", ".*spec.*"):
            warnings.filterwarnings("ignore", known)
        check_env(single, skip_render_check=True)


def test_a_step_is_the_simulators(single):
    seen, _ = single.reset(seed=3)
    after, value, ended, cut, info = single.step(np.array([0.9]))
    state = SIMULATOR.initial_state(seen[:1], seen[1:])
    run = SIMULATOR.rollout(state, np.full((3, 1), 0.9), backend="xla")
    np.testing.assert_allclose(after, [run.q[-1, 0], run.qd[-1, 0]], rtol=1e-12)
    assert value == pytest.approx(float(-(run.q[-1, 0] ** 2) - 0.1 * 0.9**2), rel=1e-12)
    assert (ended, cut, info) == (False, False, {})


def test_seeds_decide(single):
    first, again, other = (single.reset(seed=s)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    # Without a seed the next episode begins elsewhere.
    assert np.abs(single.reset()[0] - other).max() > 1e-3


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_are_single_environments(mode):
    """Step by step, through ends of episodes of both kinds, with what Gymnasium's own gives."""
    many = SimulatorVectorEnv(TASK, LANES, autoreset=mode)
    each = SyncVectorEnv([lambda: SimulatorEnv(TASK)] * LANES, autoreset_mode=mode)
    assert many.metadata["autoreset_mode"] == each.metadata["autoreset_mode"]
    for name in ("action", "observation", "single_action", "single_observation"):
        assert getattr(many, f"{name}_space") == getattr(each, f"{name}_space")
    mine, theirs = many.reset(seed=7), each.reset(seed=7)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-12)
    rng, ends = np.random.default_rng(0), np.zeros(2, int)
    for _ in range(25):
        u = rng.uniform(-2, 2, (LANES, 1)) + 1.2 * np.arange(LANES)[:, None]
        mine, theirs = many.step(u), each.step(u)
        for a, b in zip(mine[:4], theirs[:4], strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        assert set(mine[4]) == set(theirs[4])
        for i, last in enumerate(theirs[4].get("final_obs", ())):
            if last is not None:
                np.testing.assert_allclose(mine[4]["final_obs"][i], last, rtol=1e-9)
        ends += mine[2].sum(), mine[3].sum()
    assert (ends > 2).all()


def test_masked_reset():
    many = SimulatorVectorEnv(TASK, LANES, autoreset=AutoresetMode.DISABLED)
    before, _ = many.reset(seed=0)
    mask = np.arange(LANES) == 2
    after, _ = many.reset(seed=[None, None, 9, None, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(after[~mask], before[~mask])
    single = SimulatorEnv(TASK)
    np.testing.assert_allclose(after[2], single.reset(seed=9)[0], rtol=1e-12)
    with pytest.raises(ModelError, match=r"episode of environment \d is over"):
        for _ in range(10):
            many.step(np.full((LANES, 1), -1.0))
    with pytest.raises(ModelError, match="must be 5 truth values"):
        many.reset(options={"reset_mask": np.zeros(3, bool)})


def test_observations_are_the_callers(single):
    """What was returned does not change with the next step."""
    seen, _ = single.reset(seed=0)
    kept = seen.copy()
    single.step(np.array([1.0]))
    np.testing.assert_array_equal(seen, kept)


def test_a_simulation_that_diverges_ends():
    """Terminated in the state before, with numbers that a learner can go on with."""
    task = Task(pendulum(1e300), reward, start=start, repeat=60)
    single = SimulatorEnv(task)
    seen, _ = single.reset(seed=0)
    after, value, ended, _, info = single.step(np.array([1e300]))
    assert (ended, value, info) == (True, 0.0, {"diverged": True})
    np.testing.assert_array_equal(after, seen)
    many = SimulatorVectorEnv(task, 2)
    many.reset(seed=0)
    *_, ended, _, info = many.step(np.array([[1e300], [0.0]]))
    np.testing.assert_array_equal(ended, [True, False])
    np.testing.assert_array_equal(info["diverged"], [True, False])


def test_a_policy_in_the_roll_out_and_variables_in_the_reward():
    """The action is added to what a graft gives, and a recorded force is rewarded."""
    brake = gs.Graft("control.u", "joint.qd", gs.MLP(), name="brake")
    grafted = SIMULATOR.graft(gs.Blueprint(brake))
    vector = jnp.array([-0.7, 0.0])
    grafts = grafted.grafts.replace("brake", grafted.grafts["brake"].with_trainable(vector))
    task = replace(
        TASK,
        simulator=replace(grafted, grafts=grafts),
        reward=lambda motion, u: motion.recorded["joint.tau_actuator"][0, 0],
        record=("joint.tau_actuator",),
    )
    single = SimulatorEnv(task)
    seen, _ = single.reset(seed=1)
    value = single.step(np.array([0.3]))[1]
    assert value == pytest.approx(0.3 - 0.7 * seen[1], rel=1e-9)


@pytest.mark.parametrize(
    "action, message",
    [
        (np.zeros(2), r"must have shape \(1,\) \(motor\), got \(2,\)"),
        (np.array([np.nan]), r"Action 0 \(motor\) is nan"),
    ],
)
def test_actions_that_are_refused(single, action, message):
    single.reset(seed=0)
    with pytest.raises(ModelError, match=message):
        single.step(action)


def test_actions_of_lanes_that_are_refused():
    many = SimulatorVectorEnv(TASK, 3)
    with pytest.raises(ModelError, match="no state yet"):
        many.step(np.zeros((3, 1)))
    many.reset(seed=0)
    with pytest.raises(ModelError, match=r"must have shape \(3, 1\)"):
        many.step(np.zeros(3))
    with pytest.raises(ModelError, match=r"Action 0 of environment 1 \(motor\) is inf"):
        many.step(np.array([[0.0], [np.inf], [0.0]]))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"reward": lambda motion, u: motion.q[-1]}, r"reward.* one real number, got float64\[1\]"),
        ({"terminated": lambda s: s.q[0]}, r"terminated.* one truth value, got float64\[\]"),
        ({"observe": lambda s: s.q[0]}, r"observe.* numbers \[n\], got float64\[\]"),
        ({"repeat": 0}, "repeat must be at least 1"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"simulator": pendulum(np.inf)}, "Command 'motor' lies between -inf and inf"),
        ({"record": ("joint.speed",)}, "no variable named 'joint.speed'"),
    ],
)
def test_tasks_that_are_refused(change, message):
    with pytest.raises(gs.GraftsimError, match=message):
        replace(TASK, **change)


def test_gymnasiums_wrappers_go_on_top():
    wrapped = gymnasium.wrappers.RecordEpisodeStatistics(SimulatorEnv(TASK))
    wrapped.reset(seed=0)
    over, info = False, {}
    while not over:
        _, _, ended, cut, info = wrapped.step(wrapped.action_space.sample())
        over = ended or cut
    assert info["episode"]["l"] <= 9
