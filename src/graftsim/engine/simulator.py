"""The simulator: a model, a step size and an integrator; one step, and the roll-out over time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.contact.by_pair import contact_law
from graftsim.contact.law import ContactLaw
from graftsim.displayed import displayed
from graftsim.dynamics.actuation import (
    Commands,
    delay_shares,
    held_before,
    next_held,
    steps_back,
)
from graftsim.dynamics.actuation.prescribed_motion import arrived, prescribed
from graftsim.dynamics.mechanism import Mechanism, prepare
from graftsim.engine.backend import steps_on_kernels
from graftsim.engine.checkpoints import scan_keeping
from graftsim.engine.closing import assemble, closed
from graftsim.engine.integrators import Integrator, SemiImplicitEuler
from graftsim.engine.prescribed_motion import check_commands
from graftsim.engine.recorded import reader
from graftsim.errors import GraftsimWarning, KernelError, ModelError, VariableError, suggest
from graftsim.model.catalogue import labels
from graftsim.model.fuse import fuse
from graftsim.model.model import Model
from graftsim.model.state import State
from graftsim.taps import CATALOGUE, OFF, Augmentation, Grafts, Scope, Tapper, Variable

Backend = Literal["auto", "kernel", "xla"]


class Binds(Protocol):
    """What `Simulator.graft` takes: a blueprint."""

    def bind(self, simulator: Simulator, *, key: Any = None) -> Grafts:
        """Networks wired to the variables of a simulator."""
        ...


class Trajectory(eqx.Module):
    """A roll-out: `states` at times 0, dt ... T dt (leading axis T + 1), and what was recorded.

    `recorded[name]` has leading axis T: the value in the step that starts at that time.
    """

    states: State
    time: Float[Array, " t"]
    recorded: dict[str, Array]

    @property
    def q(self) -> Float[Array, "t nq"]:
        """Joint positions."""
        return self.states.q

    @property
    def qd(self) -> Float[Array, "t nv"]:
        """Joint velocities."""
        return self.states.qd


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
        if key is not None:
            start, speed = np.array(starts.key(key).q), np.array(starts.key(key).qd)
        return State(
            q=_coordinates(q, start, tree.coordinates, dtype, "q"),
            qd=_coordinates(qd, speed, tree.dofs, dtype, "qd"),
            act=jnp.zeros(self.model.actuator.na, dtype),
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
        return self._advance(m, state, u, self._scope(state), self._delay_shares())

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
        if controls is None:
            assert steps is not None
            # NumPy, not JAX: dispatching jnp.zeros takes longer than 100 compiled steps.
            controls = jnp.asarray(np.zeros((steps, self.model.nu), state.q.dtype))
        controls = jnp.asarray(controls, state.q.dtype)
        if controls.ndim != 2 or controls.shape[1] != self.model.nu:
            raise ModelError(
                f"controls must have shape [steps, {self.model.nu}] "
                f"({', '.join(self.model.actuator.names) or 'no actuators'}), got {controls.shape}."
            )
        n = controls.shape[0]
        if keep_every is not None and (keep_every < 1 or n % keep_every):
            raise ModelError(f"keep_every must divide the {n} steps, got {keep_every}.")
        check_commands(self, state, controls)
        return _choose(backend)(self, state, controls, tuple(record), keep_every)

    def _scope(
        self, state: State, augmentations: Mapping[str, Augmentation] | None = None, *,
        always: bool = False,
    ) -> Any:  # fmt: skip
        """Scope of a step: with the grafts first, then further augmentations; OFF for neither."""
        found = dict(self.grafts.augmentations(state.memory)) if self.grafts is not None else {}
        for name, f in (augmentations or {}).items():
            found[name] = _both(found[name], f) if name in found else f
        return Scope(found) if found or always else OFF

    def variables(self) -> dict[str, tuple[tuple[int, ...], Variable, tuple[str, ...]]]:
        """Named variables in the order of computation: shape, description, labels of the rows."""
        scope = Scope()
        m = prepare(fuse(self.model))

        def trace(state: State, u: Array) -> None:
            plain = replace(self, grafts=None)
            plain._advance(m, ready(plain, state, u), u, scope, plain._delay_shares())

        jax.eval_shape(trace, self.initial_state(), jnp.zeros(self.model.nu, self.dt.dtype))
        return {
            name: (jnp.shape(scope[name]), CATALOGUE[name], labels(m.model, CATALOGUE[name].rows))
            for name in scope.names()
        }

    def _advance(
        self, m: Mechanism, state: State, u: Float[Array, " nu"], scope: Any, shares: Any = ()
    ) -> State:
        """A step in a scope; what grafts remember is what they saw at its start."""
        memory, held = state.memory, state.held
        path = prescribed(m, state, u, self.dt)
        state = replace(state, memory=(), held=())
        state = self._integrate(m, state, Commands(u, path=path), scope, (shares, held))
        state = arrived(m, path, state)
        if self.back:
            # A graft may have changed the commands.
            held = next_held(m.model.actuator, held, u if scope is OFF else scope["control.u"])
        if self.grafts is not None:
            memory = self.grafts.remember(scope, memory)
        return replace(state, memory=memory, held=held)

    def _delay_shares(self) -> Any:
        """Shares of present and earlier commands in each sub-step; () without delays."""
        if not self.back:
            if any(self.model.actuator.longest_delay):
                raise ModelError(
                    "The model has delays, and the simulator was made for one without, or with a "
                    "traced dt: make it anew, Simulator(model, dt), or give it `back`."
                )
            return ()
        return delay_shares(self.model.actuator, self.dt, self.substeps, self.back)

    def _integrate(
        self, m: Mechanism, state: State, u: Commands, scope: Tapper, delay: Any
    ) -> State:
        """All sub-steps; `delay` is (shares, held)."""
        h = self.dt / self.substeps
        mixed, left = _mixed(*delay), self.substeps
        if scope is not OFF or left == 1:
            # Variables are named in the first sub-step, at the start of the step.
            first, mixed = jax.tree.map(_head, mixed), jax.tree.map(_tail, mixed)
            state = self._substep(m, state, _mix(u, first), h, scope)
            left -= 1
        if left == 0:
            return state

        def body(s: State, mixed: Any) -> tuple[State, None]:
            return self._substep(m, s, _mix(u, mixed), h, scope.again()), None

        return jax.lax.scan(body, state, mixed, length=left)[0]

    def _substep(
        self, m: Mechanism, state: State, u: Commands, h: Float[Array, ""], scope: Tapper
    ) -> State:
        """h seconds on."""
        state = self.integrator.advance(m, state, u, h, scope, self.contact)
        return closed(m, state) if m.model.closed else state


def _absent(model: Model) -> str:
    first, *others = model.absent
    more = f" and {len(others)} more like it" if others else ""
    return (
        f"Model '{model.name}': contact would be computed without {first}{more}. Give "
        "the files (--package-dir, package_dirs=[...]), or go on without these shapes: --without "
        "meshes, without=['meshes']."
    )


def _mixed(shares: Any, held: Any) -> tuple[Any, Any]:
    """Share of the present command and what acts of earlier ones [substeps, nd]; () for none."""
    if isinstance(shares, tuple):
        return (), ()
    return shares[:, 0], jnp.sum(shares[:, 1:] * held, 1)


def _mix(u: Commands, mixed: tuple[Any, Any]) -> Commands:
    return u._replace(share=mixed[0], earlier=mixed[1])


def _head(x: Array) -> Array:
    return x[0]


def _tail(x: Array) -> Array:
    return x[1:]


def scan_steps(
    simulator: Simulator,
    state: State,
    controls: Float[Array, "t nu"],
    record: tuple[str, ...] = (),
    augmentations: Mapping[str, Augmentation] | None = None,
    *,
    checkpoint: bool = False,
) -> Trajectory:
    """The roll-out itself, to be traced inside a jitted function.

    With `checkpoint` reverse mode keeps the states alone and computes each step again.
    """
    kept = 1 if checkpoint else None
    after = _stack_steps(simulator, state, controls, record, kept, augmentations)
    return _trajectory(simulator, state, controls, *after)


def _stack_steps(
    simulator: Simulator,
    state: State,
    controls: Float[Array, "t nu"],
    record: tuple[str, ...],
    keep_every: int | None,
    augmentations: Mapping[str, Augmentation] | None = None,
) -> tuple[State, dict[str, Array]]:
    """States after each step, and what was recorded in it."""
    m = prepare(fuse(simulator.model))
    chosen = [(text, reader(simulator, m.model, text)) for text in record]
    state = ready(simulator, state, _first_command(simulator, controls))
    shares = simulator._delay_shares()

    def body(s: State, u: Array) -> tuple[State, tuple[State, dict[str, Array]]]:
        scope = simulator._scope(s, augmentations, always=bool(chosen))
        new = simulator._advance(m, s, u, scope, shares)
        kept = {text: read(scope) for text, read in chosen}
        return new, (new, kept)

    return scan_keeping(body, state, controls, keep_every)[1]


def _trajectory(
    simulator: Simulator, state: State, controls: Array, states: State, recorded: dict[str, Array]
) -> Trajectory:
    """With the initial state in front."""
    state = ready(simulator, state, _first_command(simulator, controls))
    states = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), state, states)
    time = simulator.dt * jnp.arange(states.q.shape[0])
    return Trajectory(states=states, time=time, recorded=recorded)


def _rollout_kernel(
    simulator: Simulator, state: State, controls: Array, record: tuple[str, ...],
    keep_every: int | None,
) -> Trajectory:  # fmt: skip
    how = (record, keep_every or 1)
    stacked = steps_on_kernels(
        _stack_steps, simulator, state, controls, how, any_length=how[1] == 1
    )
    return _assemble(simulator, state, controls, *stacked)


_assemble = jax.jit(_trajectory)


def _choose(backend: Backend) -> Callable[..., Trajectory]:
    if backend == "kernel":
        return _rollout_kernel
    if backend == "xla" or (backend == "auto" and jax.default_backend() != "cpu"):
        return _rollout
    if backend != "auto":
        raise ModelError(f"backend '{backend}'. {suggest(backend, ('auto', 'kernel', 'xla'))}")

    def attempt(*arguments: Any) -> Trajectory:
        try:
            return _rollout_kernel(*arguments)
        except KernelError as error:
            warnings.warn(f"The roll-out runs on XLA: {error}", GraftsimWarning, stacklevel=3)
            return _rollout(*arguments)

    return attempt


@partial(jax.jit, static_argnums=(3, 4))
def _rollout(
    simulator: Simulator, state: State, controls: Array, record: tuple[str, ...],
    keep_every: int | None,
) -> Trajectory:  # fmt: skip
    after = _stack_steps(simulator, state, controls, record, keep_every)
    return _trajectory(simulator, state, controls, *after)


def ready(simulator: Simulator, state: State, u: Any) -> State:
    """A state that was made without regard to grafts, contact, delays begins with fresh memory.

    u: the first commands. Raises VariableError: it has the memory of other grafts or delays.
    """
    if simulator.back:
        u = jnp.zeros(simulator.model.nu, state.q.dtype) if u is None else u
        held = held_before(simulator.model.actuator, u, simulator.back)
        if isinstance(state.held, tuple):
            state = replace(state, held=held)
        elif jnp.shape(state.held) != held.shape:
            raise VariableError(
                f"The state remembers commands of shape {jnp.shape(state.held)}, and delays of "
                f"this simulator need {held.shape}. dataclasses.replace(state, held=()) starts "
                "with the first command, held for long."
            )
    law = simulator.contact
    rest = () if law is None else law.rest(simulator.model)
    # Impulses are a first guess: those of other contacts are no use, and no harm.
    if _form(state.impulse) != _form(rest):
        state = replace(state, impulse=rest)
    if simulator.grafts is None:
        return state
    fresh = simulator.grafts.memory()
    # An empty tuple has no leaves: traced or not, this is a question about structure.
    if not jax.tree.leaves(state.memory):
        return replace(state, memory=fresh)
    if _form(state.memory) != _form(fresh):
        raise VariableError(
            "The state has the memory of other grafts than the simulator's. Start afresh with "
            "dataclasses.replace(state, memory=())."
        )
    return state


def _first_command(simulator: Simulator, controls: Array) -> Any:
    """[nu] where it matters; a slice, because kernels are made for any number of steps."""
    if not simulator.back or (isinstance(controls.shape[0], int) and controls.shape[0] == 0):
        return None
    return jax.lax.index_in_dim(controls, 0, keepdims=False)


def _form(memory: Any) -> Any:
    leaves, structure = jax.tree.flatten(memory)
    return structure, [jnp.shape(x) for x in leaves]


def _both(first: Augmentation, second: Augmentation) -> Augmentation:
    return lambda value, scope: second(first(value, scope), scope)


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
