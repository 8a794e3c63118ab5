"""MuJoCo, MJX and Brax behind one interface: run a case, take its slopes, read its contacts.

Everything is float64. MuJoCo C: central differences of the whole run with a step of 1e-3, Newton
solver to 1e-12, and as its steps are cheap, shorter ones on stiffer springs. MJX, reverse: one
solver iteration, the only setting that reverse mode accepts, and four of the line search, as its
own tests have it. MJX, forward: the default solver. Brax: reverse mode, default solver settings.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from contact_scenes import Case


class Skip(Exception):
    """An engine has no such thing; the message is the result."""


class MujocoC:
    """Finite differences from outside."""

    name = "MuJoCo C"

    def __init__(self) -> None:
        self.version = f"mujoco {version('mujoco')}"

    def _load(self, case: Case) -> tuple[Any, Any, int]:
        import mujoco

        fine, stiffer = case.fine
        m = mujoco.MjModel.from_xml_string(case.xml(case.h / fine, case.k * stiffer))
        m.opt.tolerance = 1e-12
        return m, mujoco.MjData(m), fine

    def path(self, case: Case, z: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """q [steps, nq] and v [steps, nv]."""
        return self._path(case, z)[:2]

    def _path(self, case: Case, z: Any = None) -> tuple[np.ndarray, np.ndarray, Any, Any]:
        import mujoco

        m, d, fine = self._load(case)
        d.qpos[:], d.qvel[:], mu = case.start(np.zeros(len(case.vary)) if z is None else z)
        if mu is not None:
            m.geom_friction[:, 0] = m.pair_friction[:, :2] = mu
        if case.ctrl is not None:
            d.ctrl[:] = case.ctrl
        q, v = np.zeros((case.steps, m.nq)), np.zeros((case.steps, m.nv))
        for i in range(case.steps):
            mujoco.mj_step(m, d, fine)
            q[i], v[i] = d.qpos, d.qvel
        return q, v, m, d

    def slope(self, case: Case, step: float = 1e-3) -> np.ndarray:
        """d(output)/dz."""
        assert case.output is not None
        columns = []
        for dz in step * np.eye(len(case.vary)):
            up, down = (case.output(*self.path(case, s * dz)) for s in (1, -1))
            columns.append((up - down) / (2 * step))
        return np.stack(columns, -1)

    def slopes(self, case: Case, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The same from several states."""
        from dataclasses import replace

        return np.array([self.slope(replace(case, q=a, v=b)) for a, b in zip(q, v, strict=True)])

    def normal_force(self, case: Case) -> float:
        """Sum over contacts in the state at the end."""
        import mujoco

        *_, m, d = self._path(case)
        mujoco.mj_forward(m, d)
        total, wrench = 0.0, np.zeros(6)
        for i in range(d.ncon):
            mujoco.mj_contactForce(m, d, i, wrench)
            total += wrench[0]
        return total

    def contacts(self, case: Case) -> int:
        """Of the initial state."""
        import mujoco

        m, d, _ = self._load(case)
        d.qpos[:] = case.q
        mujoco.mj_forward(m, d)
        return d.ncon


class _Jax:
    """What MJX and Brax share. `begin` and `step` are theirs."""

    forward = False

    def _run(self, case: Case) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
        """Path of a start."""
        raise NotImplementedError

    def path(self, case: Case, z: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """q [steps, nq] and v [steps, nv]."""
        import jax

        start = case.start(np.zeros(len(case.vary)) if z is None else z)
        q, v = jax.jit(self._run(case))(*start)
        return np.asarray(q), np.asarray(v)

    def _slope(self, case: Case) -> Callable[..., Any]:
        import jax

        run, output = self._run(case), case.output
        assert output is not None
        jacobian = jax.jacfwd if self.forward else jax.jacrev

        def at(q: Any, v: Any) -> Any:
            def f(z: Any) -> Any:
                dq, dv, mu = case.start(z)
                return output(*run(q - case.q + dq, v - case.v + dv, mu))

            return jacobian(f)(jax.numpy.zeros(len(case.vary)))

        return at

    def slope(self, case: Case) -> np.ndarray:
        """d(output)/dz."""
        import jax

        return np.asarray(jax.jit(self._slope(case))(case.q, case.v))

    def slopes(self, case: Case, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The same from several states."""
        import jax

        return np.asarray(jax.jit(jax.vmap(self._slope(case)))(q, v))

    def differences(self, case: Case, step: float = 1e-4) -> np.ndarray:
        """Central differences of this engine's own run."""
        import jax

        run, output = self._run(case), case.output
        assert output is not None
        f = jax.jit(lambda z: output(*run(*case.start(z))))
        points = step * np.eye(len(case.vary))
        return np.stack([(f(p) - f(-p)) / (2 * step) for p in points], -1)


def _with_friction(model: Any, mu: Any) -> Any:
    return model.replace(
        geom_friction=model.geom_friction.at[:, 0].set(mu),
        pair_friction=model.pair_friction.at[:, :2].set(mu),
    )


def _scan(step: Callable[[Any], Any], first: Any, steps: int, reverse: bool) -> tuple[Any, Any]:
    import jax

    body = jax.checkpoint(step) if reverse else step
    return jax.lax.scan(lambda s, _: body(s), first, None, length=steps)[1]


class Mjx(_Jax):
    """Automatic differentiation of `mjx.step`."""

    def __init__(self, forward: bool) -> None:
        self.forward = forward
        self.name = f"MJX, {'forward' if forward else 'reverse'}"
        self.version = f"mujoco-mjx {version('mujoco-mjx')}, jax {version('jax')}"

    def _load(self, case: Case) -> Any:
        import mujoco
        from mujoco import mjx

        m = mujoco.MjModel.from_xml_string(case.xml(case.h, case.k))
        m.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL  # slopes with the elliptic one are NaN
        if not self.forward:
            m.opt.iterations, m.opt.ls_iterations = 1, 4
        return m, mjx.put_model(m)

    def _run(self, case: Case) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
        from mujoco import mjx

        _, model = self._load(case)
        empty = mjx.make_data(model)

        def run(q: Any, v: Any, mu: Any) -> tuple[Any, Any]:
            m = model
            if mu is not None:
                m = _with_friction(m, mu)
            d = empty.replace(qpos=q, qvel=v)
            if case.ctrl is not None:
                d = d.replace(ctrl=case.ctrl)

            def step(d: Any) -> Any:
                d = mjx.step(m, d)
                return d, (d.qpos, d.qvel)

            return _scan(step, d, case.steps, not self.forward)

        return run

    def normal_force(self, case: Case) -> float:
        """Sum over contacts in the state at the end."""
        import jax
        import mujoco
        from mujoco import mjx

        q, v = self.path(case)
        m, model = self._load(case)
        d = jax.jit(mjx.forward)(model, mjx.make_data(model).replace(qpos=q[-1], qvel=v[-1]))
        found = mjx.get_data(m, d)
        total, wrench = 0.0, np.zeros(6)
        for i in range(found.ncon):
            mujoco.mj_contactForce(m, found, i, wrench)
            total += wrench[0]
        return total

    def contacts(self, case: Case) -> int:
        """Of the initial state."""
        import jax
        from mujoco import mjx

        _, model = self._load(case)
        d = jax.jit(mjx.forward)(model, mjx.make_data(model).replace(qpos=case.q))
        return int(np.sum(np.asarray(d._impl.contact.dist) < 0))


class Brax(_Jax):
    """One of Brax's pipelines."""

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self.name = f"Brax {pipeline}"
        self.version = f"brax {version('brax')}, jax {version('jax')}"

    def _load(self, case: Case) -> tuple[Any, Any]:
        from importlib import import_module

        import mujoco
        from brax.io import mjcf

        m = mujoco.MjModel.from_xml_string(case.xml(case.h, case.k))
        m.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL  # it refuses the other
        return import_module(f"brax.{self.pipeline}.pipeline"), mjcf.load_model(m)

    def _run(self, case: Case) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
        pipeline, system = self._load(case)
        ctrl = np.zeros(system.act_size()) if case.ctrl is None else case.ctrl

        def run(q: Any, v: Any, mu: Any) -> tuple[Any, Any]:
            s = system
            if mu is not None:
                s = _with_friction(s, mu)

            def step(state: Any) -> Any:
                state = pipeline.step(s, state, ctrl)
                return state, (state.q, state.qd)

            return _scan(step, pipeline.init(s, q, v), case.steps, True)

        return run

    def normal_force(self, case: Case) -> float:
        """What the state holds: the constraint force of the generalized pipeline, else nothing."""
        if self.pipeline != "generalized":
            raise Skip("no contact force in its state")
        import jax

        pipeline, system = self._load(case)
        q, v = (np.asarray(x)[-1] for x in self.path(case))
        state = jax.jit(pipeline.init)(system, q, v)
        state = jax.jit(pipeline.step)(system, state, np.zeros(0))
        return float(state.qf_constraint[2])

    def contacts(self, case: Case) -> int:
        """Of the initial state."""
        import jax
        from brax import contact

        pipeline, system = self._load(case)
        state = jax.jit(pipeline.init)(system, case.q, case.v)
        return int(np.sum(np.asarray(contact.get(system, state.x).dist) < 0))


ENGINES: dict[str, Callable[[], Any]] = {
    "mujoco": MujocoC,
    "mjx_reverse": lambda: Mjx(forward=False),
    "mjx_forward": lambda: Mjx(forward=True),
    "brax_generalized": lambda: Brax("generalized"),
    "brax_spring": lambda: Brax("spring"),
    "brax_positional": lambda: Brax("positional"),
}
