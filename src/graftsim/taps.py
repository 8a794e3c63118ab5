"""Named variables of a simulation: the catalogue of names, and the scope that does the naming.

The engine writes `tau = scope.tap("joint.tau_passive", tau)` where it has computed a quantity.
With `OFF` that is the identity and leaves no trace in the program. An open `Scope` keeps the values
of one step, for recording, and lets an augmentation replace them as they are produced. A scope
lives for one trace of one step; it is passed explicitly and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np

from graftsim.errors import VariableError, suggest


class Variable(NamedTuple):
    """What a name stands for: the label kind of its rows, unit and meaning.

    `observe_only`: an output; changing it does not change the motion, so it cannot be a graft's
    target.
    """

    rows: str
    unit: str
    meaning: str
    observe_only: bool = False


# Order does not matter here: which name comes before which is a fact of the traced code.
CATALOGUE: dict[str, Variable] = {
    "state.q": Variable("coordinate", "rad | m | 1", "joint positions, quaternions included"),
    "state.qd": Variable("dof", "rad/s | m/s", "joint velocities"),
    "control.u": Variable("control", "control", "commands as given"),
    "joint.q": Variable("dof", "rad | m", "displacement of each degree of freedom from zero"),
    "joint.qd": Variable("dof", "rad/s | m/s", "velocity of each degree of freedom"),
    "tendon.length": Variable("tendon", "rad | m", "length of each tendon"),
    "tendon.rate": Variable("tendon", "rad/s | m/s", "rate of each tendon's length"),
    "tendon.force": Variable("tendon", "N m | N", "spring, damping and friction of each tendon"),
    "joint.tau_tendon": Variable("dof", "N m | N", "joint force of the tendons' resistance"),
    "actuator.delayed": Variable("control", "control", "commands after their delay"),
    "actuator.command": Variable("actuator", "control", "commands after limits and lag"),
    "actuator.drive": Variable("actuator", "N m | N", "force of the drive, before its limits"),
    "actuator.force": Variable("actuator", "N m | N", "force of each actuator, before its gear"),
    "joint.tau_actuator": Variable("dof", "N m | N", "joint force of the actuators"),
    "joint.tau_spring": Variable("dof", "N m | N", "joint force of the springs"),
    "joint.tau_damping": Variable("dof", "N m | N", "joint force of viscous damping"),
    "joint.tau_friction": Variable(
        "dof", "N m | N", "joint force of Coulomb and Stribeck friction"
    ),
    "joint.tau_limit": Variable("dof", "N m | N", "joint force of the limits of travel"),
    "joint.tau_passive": Variable("dof", "N m | N", "sum of spring, damping, friction and limits"),
    "joint.tau": Variable("dof", "N m | N", "total joint force: actuators, passive, tendons"),
    "link.position": Variable("link", "m", "position of the link's origin in the world", True),
    "link.rotation": Variable("link", "1", "rotation matrix, link to world", True),
    "link.velocity": Variable("link", "rad/s, m/s", "spatial velocity in link coordinates"),
    "link.com_velocity": Variable(
        "link", "rad/s, m/s", "spatial velocity at the centre of mass, in link coordinates", True
    ),
    "link.com_force": Variable(
        "link", "N m, N", "further external force at the centre of mass, in it: of grafts alone"
    ),
    "link.force": Variable("link", "N m, N", "external spatial force at the link's origin, in it"),
    "link.acceleration": Variable(
        "link",
        "rad/s^2, m/s^2",
        "spatial acceleration in link coordinates, gravity subtracted",
        True,
    ),
    "joint.qdd": Variable("dof", "rad/s^2 | m/s^2", "joint accelerations, before contact impulses"),
    "joint.reaction": Variable(
        "dof", "N m | N", "force of prescribed motion; step's mean, contact impulses included", True
    ),
    "loop.error": Variable("closure", "m | rad", "how far loops and couplings are open", True),
    "loop.force": Variable(
        "closure", "N | N m", "force that holds them; with contact impulses the step's mean", True
    ),
    "contact.depth": Variable("contact", "m", "overlap of the shapes; minus the gap when apart"),
    "contact.position": Variable("contact", "m", "place of the contact in the world", True),
    "contact.normal": Variable("contact", "1", "normal, from the first shape to the second", True),
    "contact.velocity_n": Variable("contact", "m/s", "normal velocity, apart positive"),
    "contact.velocity_t": Variable("contact", "m/s", "sliding velocity along two tangents"),
    "contact.friction": Variable("contact", "1", "coefficient of sliding friction"),
    "contact.slip": Variable("contact", "m/s", "sliding speed (SpringDamper)"),
    "contact.drag": Variable("contact", "N", "friction against sliding (SpringDamper)"),
    "contact.residual": Variable("contact", "m/s", "what the impulse solver has left open", True),
    "contact.force_n": Variable("contact", "N", "normal force on the second shape; step's mean"),
    "contact.force_t": Variable("contact", "N", "friction on it, along the tangents; step's mean"),
}


class Tapper(Protocol):
    """What the engine needs of a scope."""

    def tap(self, name: str, value: Any) -> Any:
        """Name a value; what is returned is used from here on."""
        ...

    def tap_lazily(self, values: Callable[[], Mapping[str, Any]]) -> None:
        """Values that the engine itself does not need, computed only in an open scope."""
        ...

    def again(self) -> Tapper:
        """A scope for another evaluation in the same step: a sub-step, a Runge-Kutta stage."""
        ...

    def amend(self, name: str, value: Any) -> None:
        """What is read of a name after the step, where that is a matter of the whole step."""
        ...


class _Off:
    """The scope that does nothing: a tap is the identity, the traced program is unchanged."""

    def tap(self, name: str, value: Any) -> Any:
        return value

    def tap_lazily(self, values: Callable[[], Mapping[str, Any]]) -> None:
        return None

    def again(self) -> Tapper:
        return self

    def amend(self, name: str, value: Any) -> None:
        return None


OFF = _Off()

Augmentation = Callable[[Any, "Scope"], Any]


class Scope:
    """Values of one step by name, as they are computed.

    `augmentations` maps a name to a function of the analytic value and the values named before it;
    what it returns is used instead. A child scope, for the body of a loop, reads outwards, and what
    it names stays inside.
    """

    def __init__(
        self,
        augmentations: Mapping[str, Augmentation] | None = None,
        parent: Scope | None = None,
    ) -> None:
        self._augmentations = dict(augmentations or {})
        self._parent = parent
        self._values: dict[str, Any] = {}
        # What augmentations leave for later in the same step, and for who reads the scope.
        self.notes: dict[str, Any] = {}
        # Of variables that are named in parts: rows so far, and those that are there for reading.
        self._rows: dict[str, np.ndarray] = {}
        self.present: dict[str, np.ndarray] = {}
        for name in self._augmentations:
            _known(name)

    def tap(self, name: str, value: Any) -> Any:
        """Name `value`; raises VariableError for a name off the catalogue or named already."""
        _known(name)
        if name in self._values:
            raise VariableError(f"'{name}' is named twice in one step.")
        if name in self._augmentations:
            value = self._augmentations[name](value, self)
        self._values[name] = value
        return value

    def tap_rows(self, name: str, value: Any, rows: np.ndarray, count: int) -> Any:
        """Name rows of a variable of `count` rows, whose others are named apart; zero until then.

        An augmentation runs each time, and reads in `present` which rows are named now. Raises
        VariableError as `tap`.
        """
        _known(name)
        named = self._rows.setdefault(name, np.zeros(count, bool))
        if named[rows].any() or (name in self._values and not named.any()):
            raise VariableError(f"'{name}' is named twice in one step.")
        whole = self._values.get(name)
        if whole is None:
            whole = jnp.zeros((count, *jnp.shape(value)[1:]), value.dtype)
        whole = whole.at[rows].set(value)
        named[rows] = True
        if name in self._augmentations:
            self.present[name] = np.isin(np.arange(count), rows)
            value = self._augmentations[name](whole, self)[rows]
            whole = whole.at[rows].set(value)
        self.present[name] = named.copy()
        self._values[name] = whole
        return value

    def tap_lazily(self, values: Callable[[], Mapping[str, Any]]) -> None:
        """Name values that later computation does not use; the compiler drops those unread."""
        for name, value in values().items():
            self.tap(name, value)

    def again(self) -> Scope:
        """A scope with the same augmentations and no values yet."""
        return Scope(self._augmentations)

    def amend(self, name: str, value: Any) -> None:
        """Replace the value of a name for who reads the scope; VariableError if it has none."""
        self[name]
        self._values[name] = value

    def child(self) -> Scope:
        """A scope for a loop body or branch."""
        return Scope(self._augmentations, parent=self)

    def __getitem__(self, name: str) -> Any:
        """Value named earlier in this step; VariableError when unknown or not yet computed."""
        _known(name)
        scope: Scope | None = self
        while scope is not None:
            if name in scope._values:
                return scope._values[name]
            scope = scope._parent
        raise VariableError(
            f"'{name}' is not computed yet at this point of the step. Computed so far, in order: "
            + ", ".join(self.names())
            + "."
        )

    def names(self) -> list[str]:
        """Names so far, in the order of computation."""
        outer = self._parent.names() if self._parent else []
        return outer + list(self._values)


class Grafts(Protocol):
    """What the engine needs of networks on named variables."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the grafts; what each adds is recorded as `graft.NAME`."""
        ...

    def memory(self) -> Any:
        """What the grafts remember before the first step; () when they remember nothing."""
        ...

    def augmentations(self, memory: Any) -> Mapping[str, Augmentation]:
        """What happens to each variable in a step that begins with this memory."""
        ...

    def remember(self, scope: Scope, memory: Any) -> Any:
        """Memory after a step, from the scope of its start."""
        ...


def _known(name: str) -> None:
    if name not in CATALOGUE:
        raise VariableError(f"There is no variable named '{name}'. {suggest(name, CATALOGUE)}")
