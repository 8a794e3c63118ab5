"""A fast swing whose stiffness a local solver misses, and tasks that workers can import."""

import os
import signal
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import graftsim as gs


def rest(*_):
    """Where the swing starts."""
    return np.array([0.5]), np.zeros(1)


def problem(stiffness=4.0):
    """One window of 0.6 s; truth 40 N m/rad, to be found from far away."""
    builder = gs.Builder("swing")
    builder.link("link0", mass=1.0, com=(0, 0, -0.2), inertia=0.02, axis=(1, 0, 0), stiffness=40.0)
    simulator = gs.Simulator(builder.build(), 0.005)
    q = np.asarray(simulator.rollout(simulator.initial_state({"link0": 0.5}), steps=120).q)[:, 0]
    q = q + np.random.default_rng(5).normal(0, 0.01, q.shape)
    channel = gs.Channel("joint.q[link0]", 0.005 * np.arange(121), q, "rad")
    free = {"joint.stiffness[*]": gs.Bounds(1.0, 100.0), "joint.damping[*]": gs.Bounds(0, 1)}
    soft = gs.model.with_leaf(simulator.model, "joint.stiffness", jnp.array([stiffness]))
    return gs.Problem(
        gs.Simulator(soft, 0.005), gs.Recording({channel.name: channel}, name="swing"),
        free, noise={channel.name: 0.01}, holdout=0, horizon=0.6, growth=(1.0,),
        initial=rest, fit_initial=False,
    )  # fmt: skip


def scaled(problem, item):
    """A task: the start of the problem, times a number."""
    return {"theta": problem.parameters.start * item["factor"], "process": os.getpid()}


def wrong(problem, item):
    """A task that fails for one item."""
    if item == 2:
        raise gs.ProblemError("two is not possible")
    return {"item": item}


def dies_once(problem, item):
    """A task that kills its worker the first time that it runs; the folder remembers."""
    mark = Path(item["folder"]) / str(item["index"])
    if item["index"] == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"index": item["index"]}


def always_dies(problem, item):
    """A task that kills its worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def slow(problem, item):
    """A task that takes half a second."""
    time.sleep(0.5)
    return {"index": item["k"]}
