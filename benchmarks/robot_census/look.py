"""One robot file: is it opened, is it right, is it still right after it was written as MJCF?

Errors are relative to the largest number. Those of accelerations are measured as forces, H (qdd -
qdd'), so that a light fingertip does not count for more than the robot that carries it.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

STATES = 3
# How far random states lie from the drawn pose, the first that can be put on the loops.
SHARES = (1.0, 0.3, 0.1, 0.03, 0.0)


def look(path: Path, form: str) -> Iterator[dict[str, Any]]:
    """What is found of a file, stage by stage: others, opened, errors, written."""
    _prepare()
    import jax

    yield {}
    other = _other(path, form)
    yield {"other": other if isinstance(other, str) else ""}
    model = None
    for found in _opened(path):
        model = found.pop("model", None)
        yield found
    if model is not None and model.nv:
        terms = jax.jit(_terms)
        states = [on_loops(model, _state(model, seed)) for seed in range(STATES)]
        if any(s is None for s in states):
            yield {"errors": "no state on the loops was found"}
            return
        ours = [{k: np.asarray(v) for k, v in terms(model, *s).items()} for s in states]
        if isinstance(other, str):
            yield {"errors": other}
        else:
            yield {"errors": _errors(other, model, states, ours)}
        yield {"written": _written(model, states, ours, terms)}
    jax.clear_caches()


def opens(path: Path, form: str) -> Iterator[dict[str, Any]]:
    """Whether a file is opened, here and by the other program."""
    _prepare()
    other = _other(path, form)
    yield {"other": other if isinstance(other, str) else ""}
    for found in _opened(path):
        found.pop("model", None)
        yield found


def _prepare() -> None:
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from graftsim.compilation import BRIEF_FLAGS

    os.environ.setdefault("XLA_FLAGS", BRIEF_FLAGS)


def _other(path: Path, form: str) -> Any:
    from robot_census.oracles import mujoco_file, pinocchio_file

    return mujoco_file(path) if form == "mjcf" else pinocchio_file(path)


def _opened(path: Path) -> Iterator[dict[str, Any]]:
    """The model and facts of it, or why it is refused and what option opens it."""
    import graftsim as gs

    began = time.perf_counter()
    try:
        model = gs.load(path)
    except gs.GraftsimError as error:
        yield {"refused": str(error), "seconds": time.perf_counter() - began}
        yield {"by option": _by_option(path, str(error))}
        return
    facts = {"nv": model.nv, "links": model.tree.nl, "notes": list(model.notes)}
    yield {"opened": True, "seconds": time.perf_counter() - began, "model": model} | facts


def _by_option(path: Path, said: str) -> str:
    """The options that an error names, if the file opens with them; else ""."""
    import graftsim as gs

    options: dict[str, Any] = {}
    for _ in range(4):  # an option may uncover another fault
        if found := re.search(r"--without ([a-z ]+)\.", said):
            options["without"] = sorted({*options.get("without", ()), *found[1].split()})
        if "--repair-inertia" in said:
            options["repair_inertia"] = True
        try:
            gs.load(path, **options)
        except gs.GraftsimError as error:
            if str(error) == said or not options:
                return ""
            said = str(error)
        else:
            return " ".join([*options.get("without", ()), *(k for k in options if k != "without")])
    return ""


def _terms(model: Any, q: Any, qd: Any, u: Any) -> dict[str, Any]:
    """Mass matrix, bias, passive forces (without dry friction), accelerations under commands."""
    import equinox as eqx
    import jax.numpy as jnp

    from graftsim.dynamics import actuation, bias_forces, mass_matrix, passive_forces
    from graftsim.dynamics.mechanism import prepare
    from graftsim.dynamics.motion import joint_motion
    from graftsim.dynamics.passive import displacements
    from graftsim.dynamics.paths import posed, tendon_arms
    from graftsim.dynamics.tendons import tendon_forces
    from graftsim.engine.forces import acceleration
    from graftsim.model.state import State
    from graftsim.taps import Scope

    dry = (model.joint.friction, model.joint.stribeck, model.tendon.friction)
    model = eqx.tree_at(
        lambda m: (m.joint.friction, m.joint.stribeck, m.tendon.friction),
        model, tuple(jnp.zeros_like(x) for x in dry),
    )  # fmt: skip
    m = prepare(model)
    q_dof, _ = displacements(model, q, qd)
    arms = tendon_arms(model.tendon, q_dof, posed(m, joint_motion(m, q, qd), None))
    tendons = tendon_forces(model.tendon, arms, qd)
    passive = passive_forces(model, q, qd) + tendons.tau + _around(model, q, qd)
    state = State(q=q, qd=qd, act=jnp.zeros(model.actuator.na))
    commands = actuation.Commands(u, (), 0.0)
    scope = Scope()
    qdd = acceleration(m, state, commands, scope=scope).qdd
    H, C = mass_matrix(model, q), bias_forces(model, q, qd)
    tau = scope["joint.tau"]
    return {"mass matrix": H, "bias": C, "passive": passive, "qdd": qdd, "tau": tau}


def _around(model: Any, q: Any, qd: Any) -> Any:
    """Joint forces of what surrounds the links."""
    import jax.numpy as jnp

    from graftsim.dynamics import bias_forces, inverse_dynamics
    from graftsim.dynamics.mechanism import prepare
    from graftsim.dynamics.medium import medium_forces
    from graftsim.dynamics.motion import joint_motion, link_velocity

    m = prepare(model)
    motion = joint_motion(m, q, qd)
    f = medium_forces(m, motion, None, link_velocity(m.tree, motion))
    return bias_forces(m, q, qd) - inverse_dynamics(m, q, qd, jnp.zeros_like(qd), f)


def _state(model: Any, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random positions (unit quaternions), velocities and commands."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, model.nq)
    for kind, rows in zip(model.tree.types, model.tree.q_index, strict=True):
        if kind in ("free", "spherical"):
            last = list(rows)[-4:]
            q[last] = rng.normal(size=4)
            q[last] /= np.linalg.norm(q[last])
    return q, rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nu)


def on_loops(model: Any, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
    """A state like the one given on the loops of a model, as near to the drawn pose as it takes."""
    if not model.closed:
        return state
    import graftsim as gs
    from graftsim.dynamics.passive import displacement
    from graftsim.engine.integrators import move

    q, qd, u = state
    simulator = gs.Simulator(model)
    start = simulator.initial_state()
    away = np.asarray(displacement(model.tree, start.q, q))
    for share in SHARES:
        near = np.asarray(move(model.tree, start.q, share * away, np.ones(())))
        try:
            there = simulator.assemble(simulator.initial_state(near, qd))
        except gs.ModelError:
            continue
        return np.asarray(there.q), np.asarray(there.qd), u
    return None


def _errors(other: Any, model: Any, states: list, ours: list) -> dict[str, float] | str:
    """The largest error of each quantity; or why there is nothing to compare."""
    worst: dict[str, float] = {}
    for state, mine in zip(states, ours, strict=True):
        theirs = other(model, *state, tau=mine["tau"])
        if isinstance(theirs, str):
            return theirs
        for name, error in compared(mine, theirs).items():
            worst[name] = max(worst.get(name, 0.0), error)
    return worst


def compared(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, float]:
    """Relative error of each quantity that both have."""
    H, errors = theirs["mass matrix"], {}
    scale = max(float(np.abs(mine["bias"]).max()), float(np.abs(mine["passive"]).max()), 1e-9)
    for name, b in theirs.items():
        a = mine[name]
        if name == "qdd":
            errors["acceleration"] = float(np.abs(H @ (a - b)).max()) / max(
                scale, float(np.abs(H @ b).max())
            )
        else:
            size = float(np.abs(b).max()) if name == "mass matrix" else scale
            errors[name] = float(np.abs(a - b).max()) / max(size, 1e-300)
    return {k: v if np.isfinite(v) else np.inf for k, v in errors.items()}


def _written(model: Any, states: list, ours: list, terms: Any) -> dict[str, Any]:
    """The model written as MJCF and read by graftsim, MuJoCo and Pinocchio."""
    import graftsim as gs
    from robot_census.oracles import mujoco_file, pinocchio_mjcf

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.xml"
        try:
            gs.write_mjcf(model, file)
            again = gs.load(file)
        except gs.GraftsimError as error:
            return {"read": str(error)}
        if again.nv != model.nv or again.nu != model.nu:
            found["read"] = f"{again.nv} degrees of freedom, {again.nu} controls"
        else:
            second = [{k: np.asarray(v) for k, v in terms(again, *s).items()} for s in states[:1]]
            found["read"] = compared(second[0], ours[0])
        for name, reader in {"mujoco": mujoco_file, "pinocchio": pinocchio_mjcf}.items():
            other = reader(file)
            if isinstance(other, str):
                found[name] = other
                continue
            theirs = other(model, *states[0])
            if isinstance(theirs, str):
                found[name] = theirs
            else:
                only = {"mass matrix": theirs["mass matrix"]}
                found[name] = compared(ours[0], only)
    return found
