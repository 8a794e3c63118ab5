"""E14: Breakout by iLQR on a learned paddle, beside a tracker that knows no physics (ale-py).

The world is a ball between two walls and a paddle on a rail, in pixels and frames, read from the
console's memory. How the paddle answers the joystick, a gain and a damping, is fitted from ten
roll-outs of random actions. At each frame a receding-horizon iLQR brings the paddle under the ball
while that comes down; the joystick takes the sign of its command where that is more than half.

The tracker is three lines: move towards the ball while it comes down, with a dead zone. Published
for comparison: 30.5 human, 1.6 random. Frame skip 1, a quarter of all actions repeated.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import ale_py
import gymnasium
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import control
from graftsim.targets import Figures

# Actions of the joystick, and the sign of what they do.
NOTHING, FIRE, RIGHT, LEFT = 0, 1, 2, 3
ACTION = {-1: LEFT, 0: NOTHING, 1: RIGHT}
WALLS, PADDLE_WIDTH, BALL_WIDTH, PADDLE_TOP = (8.0, 152.0), 16.0, 2.0, 189.0
LEAST = 12
ROLLOUTS, FRAMES, HORIZON, DEAD_ZONE, HUMAN = 10, 40, 6, 3.0, 30.5
SOLVER = control.ILQR(iterations=2)


@dataclass(frozen=True)
class Seen:
    """Centre of the paddle, centre of the ball (None: there is none), in pixels; lives."""

    paddle: float
    ball: np.ndarray | None
    lives: int


def see(env: Any) -> Seen:
    """From the console's memory (places as OCAtari has them, checked against the picture)."""
    ram = env.unwrapped.ale.getRAM().astype(int)
    ball = None
    if ram[101]:
        ball = np.array([ram[99] - 49 + BALL_WIDTH / 2, ram[101] + 9 + 2.0])
    return Seen(ram[72] - 47 + PADDLE_WIDTH / 2, ball, env.unwrapped.ale.lives())


def rail(gain: float, damping: float) -> gs.Builder:
    """A paddle of mass 1 that a joystick pushes; a step is a frame."""
    b = gs.Builder("breakout", gravity=(0, 0, 0))
    b.link("paddle", joint="prismatic", axis=(1, 0, 0), mass=1.0, damping=damping)
    b.actuator("stick", "paddle", gain=gain, control_range=(-1, 1))
    return b


def world(gain: float, damping: float) -> gs.Simulator:
    """The paddle, and a ball, which nothing pulls, between two walls."""
    b = rail(gain, damping)
    half = float(np.sqrt(0.5))
    b.geom("plane", (), name="left", position=(WALLS[0], 0, 0), rotation=(half, 0, half, 0),
           restitution=1.0, friction=0.0)  # fmt: skip
    b.geom("plane", (), name="right", position=(WALLS[1], 0, 0), rotation=(half, 0, -half, 0),
           restitution=1.0, friction=0.0)  # fmt: skip
    b.link("along", joint="prismatic", axis=(1, 0, 0), mass=0.5)
    b.link("ball", "along", joint="prismatic", axis=(0, 1, 0), mass=0.5)
    b.geom("sphere", BALL_WIDTH / 2, "ball", name="ball", restitution=1.0, friction=0.0)
    return gs.Simulator(
        b.build(), 1.0, integrator=gs.ImplicitDamping(), contact=gs.contact.Complementarity()
    )


def random_rollouts(env: Any, seed: int) -> list[gs.Recording]:
    """The paddle under random actions, each held for some frames."""
    rng, recordings = np.random.default_rng(seed), []
    for k in range(ROLLOUTS):
        env.reset(seed=1000 * seed + k)
        x, u, left, sign = [see(env).paddle], [], 0, 0
        for _ in range(FRAMES):
            if not left:
                sign, left = int(rng.integers(-1, 2)), int(rng.integers(2, 7))
            env.step(ACTION[sign])
            left -= 1
            x.append(see(env).paddle)
            u.append(float(sign))
        # At the walls the paddle is stopped by what the model has not.
        inside = np.abs(np.array(x) - np.mean(WALLS)) < np.ptp(WALLS) / 2 - PADDLE_WIDTH
        n = int(np.argmin(np.append(inside, False)))
        arrays = {"time": np.arange(n), "joint.q[paddle]": x[:n], "control[stick]": [*u, 0.0][:n]}
        if n > LEAST:
            arrays = {name: np.asarray(v, float) for name, v in arrays.items()}
            with warnings.catch_warnings():
                # Pixels are not metres.
                warnings.simplefilter("ignore", gs.SuspiciousLogWarning)
                recordings.append(gs.recording_from_arrays(arrays, name=f"rollout{k}"))
    return recordings


def learn(recordings: list[gs.Recording]) -> dict[str, float]:
    """Gain (px/frame^2) and damping (1/frame) of the paddle, from positions alone."""
    free = {"actuator.gain[stick]": gs.Bounds(0.01, 50), "joint.damping[paddle]": gs.Bounds(0, 20)}
    simulator = gs.Simulator(rail(1.0, 0.5).build(), 1.0, integrator=gs.ImplicitDamping())
    problem = gs.Problem(
        simulator, recordings, free, noise={"joint.q[paddle]": 1.0}, horizon=10.0, holdout=0,
        growth=(1.0,),
    )  # fmt: skip
    result = gs.fit(problem)
    return {row.name: row.value for row in result.parameters}


def running(state: gs.State, u: Any) -> Any:
    """Distance from the ball, and a command that costs little."""
    return jnp.stack([state.q[0] - state.q[1], 0.1 * u[0]])


def terminal(state: gs.State) -> Any:
    """The same distance."""
    return jnp.stack([state.q[0] - state.q[1]])


COST = control.LeastSquares(running, terminal)
# Sign of the joystick, given what is seen now and what was a frame ago.
Policy = Callable[[Seen, Seen], int]


def tracker(now: Seen, before: Seen) -> int:
    """Towards the ball while it comes down."""
    if now.ball is None or before.ball is None or now.ball[1] <= before.ball[1]:
        return 0
    off = now.ball[0] - now.paddle
    return 0 if abs(off) <= DEAD_ZONE else int(np.sign(off))


def planner(simulator: gs.Simulator) -> Policy:
    """iLQR on the learned world; the aim varies a little, or the game repeats itself for ever."""
    rng = np.random.default_rng(0)

    def act(now: Seen, before: Seen) -> int:
        if now.ball is None or before.ball is None or now.ball[1] <= before.ball[1]:
            return 0
        aim = rng.uniform(-1, 1)
        q = np.array([now.paddle + aim, now.ball[0], now.ball[1]])
        qd = np.array([now.paddle - before.paddle, *(now.ball - before.ball)])
        state = gs.State(q=q, qd=qd, act=np.zeros(0))
        u = float(control.ilqr(simulator, state, COST, HORIZON, solver=SOLVER).controls[0, 0])
        return int(np.sign(u)) if abs(u) > 0.5 else 0

    return act


def play(env: Any, policy: Policy, seed: int, most: int) -> tuple[float, int]:
    """Score of an episode, and its frames."""
    env.reset(seed=seed)
    now, score, frames, done, serve = see(env), 0.0, 0, False, True
    before = now
    while not done and frames < most:
        serve = now.ball is None
        action = FIRE if serve and frames % 4 == 0 else ACTION[policy(now, before)]
        _, reward, over, late, _ = env.step(action)
        before, now = now, see(env)
        score, frames, done = score + float(reward), frames + 1, over or late
    return score, frames


def main() -> int:
    arguments = Figures.arguments(__doc__ or "").parse_args()
    figures = Figures("E14 Breakout", seed=arguments.seed, json_path=arguments.json)
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(
        "ALE/Breakout-v5", frameskip=1, repeat_action_probability=0.25,
        max_num_frames_per_episode=108_000,
    )  # fmt: skip
    recordings = random_rollouts(env, arguments.seed)
    found = learn(recordings)
    gain, damping = found["actuator.gain[stick]"], found["joint.damping[paddle]"]
    figures.note("roll-outs to learn from", len(recordings))
    figures.note("paddle: gain", gain, "px/frame^2")
    figures.note("paddle: damping", damping, "1/frame")
    figures.note("paddle: speed in the end", gain / damping, "px/frame")
    episodes, most = (1, 300) if arguments.quick else (3, 20_000)
    means = []
    for name, policy in (("iLQR", planner(world(gain, damping))), ("tracker", tracker)):
        scores = [play(env, policy, arguments.seed + k, most) for k in range(episodes)]
        means.append(float(np.mean([s for s, _ in scores])))
        for k, (score, frames) in enumerate(scores):
            figures.note(f"{name}, episode {k}: score", score)
            figures.note(f"{name}, episode {k}: frames", frames)
    figures.at_least("iLQR, mean score", means[0], HUMAN)
    figures.note("tracker, mean score", means[1])
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
