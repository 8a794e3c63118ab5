"""The simulator: a model, a step size and an integrator; one step, and the roll-out over time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.contact.by_pair import contact_law
from graftsim.contact.law import ContactLaw
from graftsim.displayed import displayed
from graftsim.dynamics.actuation import steps_back
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.closing import assemble
from graftsim.engine.integrators import Integrator, SemiImplicitEuler
from graftsim.engine.prescribed_motion import check_commands
from graftsim.engine.rollout import Backend, Trajectory, chosen
from graftsim.engine.step import advance, ready, scope_of, shares_of
from graftsim.errors import GraftsimWarning, ModelError, suggest
from graftsim.model.catalogue import labels
from graftsim.model.fuse import fuse
from graftsim.model.model import Model
from graftsim.model.state import State
from graftsim.taps import CATALOGUE, Grafts, Scope, Variable


class Binds(Protocol):
    """What `Simulator.graft` takes: a blueprint."""

    def bind(self, simulator: Simulator, *, key: Any = None) -> Grafts:
        """Networks wired to the variables of a simulator."""
        ...


class Simulator(eqx.Module):
    """A mechanism in time. An immutable pytree: jit, grad and vmap it, and over its leaves.

    `dt` (s) is the step that controls and recordings are on; `substeps` divides it for the
    integrator. `contact`: the law between shapes that touch, or laws by patterns of pair names,
    `{"ground/*": SpringDamper(), "tip/*": Complementarity()}`; without one nothing touches.
    `back`: how many steps the longest delay of a command reaches back.
    """

    model: Model
    dt: Float[Array, ""]
    integrator: Integrator
    substeps: int = eqx.field(static=True)
    contact: ContactLaw | None
    grafts: Grafts | None
    back: int = eqx.field(static=True)

    def __init__(
        self,
        model: Model,
        dt: float = 0.002,
        *,
        integrator: Integrator | None = None,
        substeps: int = 1,
        contact: ContactLaw | Mapping[str, ContactLaw] | None = None,
        grafts: Grafts | None = None,
        back: int | None = None,
    ) -> None:
        """Raises ModelError: dt or substeps not positive, impulses within Runge-Kutta stages,
        contact of a model of which shapes could not be read.

        `back` is computed from the model and dt; it is read only where dt is traced.
        """
        if not isinstance(dt, Tracer) and not float(dt) > 0:
            raise ModelError(f"The step dt must be positive, got {dt} s.")
        if substeps < 1:
            raise ModelError(f"substeps must be at least 1, got {substeps}.")
        self.model = model
        self.dt = jnp.asarray(dt, model.link.mass.dtype)
        self.integrator = SemiImplicitEuler() if integrator is None else integrator
        self.substeps = substeps
        contact = contact_law(contact)
        if contact is not None and model.absent:
            raise ModelError(_absent(model))
        if contact is not None and not model.pair.names:
            warnings.warn(
                f"Model '{model.name}' has no two shapes that may touch: contact has nothing to "
                "do. `load(..., ground=0.0)` puts a floor under a robot.",
                GraftsimWarning,
                stacklevel=2,
            )
            contact = None
        if contact is not None and contact.impulsive and not self.integrator.impulses:
            raise ModelError(
                f"{type(contact).__name__} changes velocities by impulses, which "
                f"{type(self.integrator).__name__} cannot integrate: use SemiImplicitEuler or "
                "ImplicitDamping, or contact=SpringDamper()."
            )
        self.contact = contact
        self.grafts = grafts
        self.back = (back or 0) if isinstance(dt, Tracer) else steps_back(model.actuator, float(dt))
        if contact is not None and not isinstance(dt, Tracer):
            wrong = contact.check(model, float(dt) / substeps)
            if wrong:
                warnings.warn(wrong, GraftsimWarning, stacklevel=2)

    def __hash__(self) -> int:
        """By structure, which equal simulators share: `jax.jit(simulator.step)` looks it up."""
        return hash(jax.tree.structure(self))

    _repr_html_ = displayed

    def initial_state(
        self,
        q: Mapping[str, Any] | Any | None = None,
        qd: Mapping[str, Any] | Any | None = None,
        *,
        key: str | None = None,
    ) -> State:
        """State at rest in the position that the file draws, or with the given coordinates.

        `q` and `qd` are arrays [nq], [nv], or mappings from labels (a joint's name, `root.z`) to
        numbers. `key`: start from a key frame of the file instead (`model.keys`). Raises ModelError
        for an unknown label or key, or a wrong length.
        """
        tree, dtype, starts = self.model.tree, self.model.link.mass.dtype, self.model.starts
        start, speed = np.array(starts.drawn or tree.neutral), np.zeros(tree.nv)
        act: Any = np.zeros(self.model.actuator.na)
        if key is not None:
            chosen = starts.key(key)
            start, speed, act = np.array(chosen.q), np.array(chosen.qd), chosen.act or act
        return State(
            q=_coordinates(q, start, tree.coordinates, dtype, "q"),
            qd=_coordinates(qd, speed, tree.dofs, dtype, "qd"),
            act=jnp.asarray(act, dtype),
            memory=() if self.grafts is None else self.grafts.memory(),
            impulse=() if self.contact is None else self.contact.rest(self.model),
        )

    def assemble(self, state: State, keep: Sequence[str] = ()) -> State:
        """The state put on the model's closed loops and couplings, velocities too.

        Of all states on them, the nearest in the sense of the inertia; degrees of freedom in `keep`
        (labels or patterns) stay where they are. Differentiable. A model without loops leaves a
        state as it is. Raises ModelError: it cannot be assembled, with what stays open and how far;
        a traced state is not checked.
        """
        return assemble(self.model, state, keep)

    def graft(self, blueprint: Binds, *, key: Any = None) -> Simulator:
        """This simulator with networks on named variables, after those that it has.

        `key`: a `jax.random.key` for the starting weights. Raises VariableError: an unknown name,
        rows that do not exist, an input that is computed after its target.
        """
        return replace(self, grafts=blueprint.bind(self, key=key))

    def step(self, state: State, u: Float[Array, " nu"] | None = None) -> State:
        """State dt later under commands u (default zero), held over the step."""
        u = jnp.zeros(self.model.nu, state.q.dtype) if u is None else u
        state = ready(self, state, u)
        m = prepare(fuse(self.model))
        return advance(self, m, state, u, scope_of(self, state), shares_of(self))

    def rollout(
        self,
        state: State,
        controls: Float[Array, "t nu"] | None = None,
        *,
        steps: int | None = None,
        record: Sequence[str] = (),
        backend: Backend = "auto",
        keep_every: int | None = None,
    ) -> Trajectory:
        """Step through `controls`, or `steps` times with zero commands; compiled on first use.

        `record` names variables to keep, with rows in brackets if wanted: `joint.tau[knee]`.
        `backend`: "kernel" (this package's compiler, on the CPU; `jax.vmap` fills its lanes),
        "xla", or "auto": kernels on the CPU, XLA elsewhere and for what kernels do not know.
        `keep_every`: reverse mode keeps the state of every so many steps and computes those between
        again; by default each of them on kernels, and all that is computed on XLA.
        Raises KernelError: "kernel" was asked for and cannot be; ModelError: neither or both of
        controls and steps, wrong shape, a number of steps that `keep_every` does not divide, a path
        that jumps or leaves its joint's limits (traced numbers are not checked); VariableError: a
        name that does not exist.
        """
        if (controls is None) == (steps is None):
            raise ModelError("rollout needs either controls [steps, nu] or a number of steps.")
        dtype, nu = state.q.dtype, self.model.nu
        # NumPy, not JAX: dispatching jnp.zeros takes longer than 100 compiled steps.
        commands: Any = np.zeros((steps or 0, nu), dtype)
        if controls is not None:
            commands = jnp.asarray(controls, dtype)
        if commands.ndim != 2 or commands.shape[1] != nu:
            raise ModelError(
                f"controls must have shape [steps, {nu}] "
                f"({', '.join(self.model.actuator.names) or 'no actuators'}), got {commands.shape}."
            )
        n = commands.shape[0]
        if keep_every is not None and (keep_every < 1 or n % keep_every):
            raise ModelError(f"keep_every must divide the {n} steps, got {keep_every}.")
        check_commands(self, state, commands)
        return chosen(backend)(self, state, commands, tuple(record), keep_every)

    def variables(self) -> dict[str, tuple[tuple[int, ...], Variable, tuple[str, ...]]]:
        """Named variables in the order of computation: shape, description, labels of the rows."""
        scope = Scope()
        m = prepare(fuse(self.model))

        def trace(state: State, u: Array) -> None:
            plain = replace(self, grafts=None)
            advance(plain, m, ready(plain, state, u), u, scope, shares_of(plain))

        jax.eval_shape(trace, self.initial_state(), jnp.zeros(self.model.nu, self.dt.dtype))
        return {
            name: (jnp.shape(scope[name]), CATALOGUE[name], labels(m.model, CATALOGUE[name].rows))
            for name in scope.names()
        }


def _absent(model: Model) -> str:
    first, *others = model.absent
    more = f" and {len(others)} more like it" if others else ""
    return (
        f"Model '{model.name}': contact would be computed without {first}{more}. Give "
        "the files (--package-dir, package_dirs=[...]), or go on without these shapes: --without "
        "meshes, without=['meshes']."
    )


def _coordinates(given: Any, default: np.ndarray, names: tuple[str, ...], dtype: Any, what: str):
    if given is None:
        return jnp.asarray(default, dtype)
    if not isinstance(given, Mapping):
        given = jnp.asarray(given, dtype)
        if given.shape != default.shape:
            raise ModelError(f"{what} must have shape {default.shape}, got {given.shape}.")
        return given
    values: list[Any] = list(default)
    for name, value in given.items():
        if name not in names:
            raise ModelError(f"{what}: no coordinate named '{name}'. {suggest(name, names)}")
        values[names.index(name)] = value
    return jnp.stack([jnp.asarray(v, dtype) for v in values])
