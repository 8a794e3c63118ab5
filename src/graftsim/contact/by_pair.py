"""Laws chosen by pair: springs under an object, impulses where a rigid tip pushes it.

Every contact has one law. Laws of forces act before the step, each on its own contacts; the one law
of impulses that there may be solves the contact problem of its contacts in a step that has the
forces of all others in it. Contacts of two laws feel each other through the motion of the links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.contact.detect import detect
from graftsim.contact.law import ContactLaw, Felt, Free, Passage
from graftsim.dynamics.mechanism import Mechanism
from graftsim.errors import ModelError, suggest
from graftsim.model.model import Model
from graftsim.model.pairs import contact_counts, listed, only_pairs
from graftsim.model.state import State
from graftsim.spatial.transform import Transform
from graftsim.taps import OFF, Tapper


class Share(NamedTuple):
    """A law with the rows of its pairs and of their candidate contacts."""

    law: ContactLaw
    pairs: np.ndarray
    contacts: np.ndarray


class ByPair(ContactLaw):
    """Contact laws by patterns of pair names: `{"ground/*": SpringDamper(), "tip/*": ...}`.

    Any number of laws of forces, and one of impulses at most. Raises ModelError: no law, two of
    impulses, and for a model whose pairs have no law or two, or a pattern that names no pair.
    """

    name: ClassVar[str] = "by pair"
    inside: ClassVar[str] = "as the law of each pair has it"

    patterns: tuple[str, ...] = eqx.field(static=True)
    laws: tuple[ContactLaw, ...]

    def __init__(self, laws: Mapping[str, ContactLaw]) -> None:
        """`laws`: by pattern of pair names."""
        self.patterns, self.laws = tuple(laws), tuple(laws.values())
        if not laws:
            raise ModelError("contact={}: give at least one law, or contact=None for no contact.")
        for pattern, law in laws.items():
            if not isinstance(law, ContactLaw) or isinstance(law, ByPair):
                raise ModelError(f"contact['{pattern}'] must be a contact law, got {law!r}.")
        jumping = [p for p, law in laws.items() if law.impulsive]
        if len(jumping) > 1:
            raise ModelError(
                f"Contacts of {listed([repr(p) for p in jumping])} have laws of impulses: those of "
                "one step are one problem, so all of them need one pattern with one law, "
                "'[ab]*/*', or laws of forces (SpringDamper)."
            )

    @property
    def impulsive(self) -> bool:  # type: ignore[override]
        """Whether one of the laws is."""
        return any(law.impulsive for law in self.laws)

    def shares(self, model: Model) -> tuple[Share, ...]:
        """What each law has of a model's contacts."""
        owner = _owners(model.pair.names, self.patterns)
        of_contact = np.repeat(owner, contact_counts(model))
        return tuple(
            Share(law, np.flatnonzero(owner == k), np.flatnonzero(of_contact == k))
            for k, law in enumerate(self.laws)
        )

    def forces(
        self, m: Mechanism, X_0: Transform, v: Float[Array, "nl 6"], scope: Tapper
    ) -> Float[Array, "nl 6"] | None:
        """Those of all laws of forces. Depths, places and normals of all contacts are named here,
        so that a network on one law's forces can see another's contacts.
        """
        shares = self.shares(m.model)
        if scope is not OFF:
            found = detect(m, X_0)
            scope.tap("contact.depth", found.depth)
            scope.tap_lazily(
                lambda: {"contact.position": found.position, "contact.normal": found.frame[:, 0]}
            )
        given = [
            s.law.forces(_only(m, s), X_0, v, _part(scope, m.model, s))
            for s in shares
            if not s.law.impulsive
        ]
        given = [f for f in given if f is not None]
        return sum(given[1:], given[0]) if given else None

    def velocities(
        self,
        m: Mechanism,
        free: Free,
        state: State,
        h: Float[Array, ""],
        cut: Bool[Array, ""] | bool,
        scope: Tapper,
    ) -> Passage:
        """What the law of impulses makes of a step with the forces of the others."""
        own = next((s for s in self.shares(m.model) if s.law.impulsive), None)
        if own is None:
            return Passage(free.qd, free.qd, (), h, h)
        inner = _part(scope, m.model, own)
        passage = own.law.velocities(_only(m, own), free, state, h, cut, inner)
        if not isinstance(passage.felt, Felt):
            return passage
        return passage._replace(felt=_whole(passage, own, scope))

    def rest(self, m: Model) -> Any:
        """That of the law of impulses; () without one."""
        own = next((s for s in self.shares(m) if s.law.impulsive), None)
        return () if own is None else own.law.rest(only_pairs(m, own.pairs))

    def located_impacts(self) -> int:
        """As many as the law of impulses asks for."""
        return max(law.located_impacts() for law in self.laws)

    def check(self, m: Model, h: float) -> str:
        """What each law says of its own pairs."""
        said = (s.law.check(only_pairs(m, s.pairs), h) for s in self.shares(m))
        return " ".join(x for x in said if x)


def contact_law(given: ContactLaw | Mapping[str, ContactLaw] | None) -> ContactLaw | None:
    """The law that a simulator was given, or one by pair of a mapping."""
    return ByPair(given) if isinstance(given, Mapping) else given


def _owners(names: tuple[str, ...], patterns: tuple[str, ...]) -> np.ndarray:
    """[np]: which pattern each pair has. Raises ModelError: a pair with none or two, or a pattern
    without a pair.
    """
    hits = np.array([[fnmatchcase(name, p) for p in patterns] for name in names])
    hits = hits.reshape(len(names), len(patterns))
    for k, pattern in enumerate(patterns):
        if not hits[:, k].any():
            raise ModelError(f"contact: '{pattern}' names no pair. {suggest(pattern, names)}")
    count = hits.sum(1)
    if (count == 0).any():
        left = listed([names[k] for k in np.flatnonzero(count == 0)])
        raise ModelError(
            f"contact: no law for {left}. Name these pairs too, or leave them out with "
            "model.keep_pairs."
        )
    if (count > 1).any():
        k = int(np.flatnonzero(count > 1)[0])
        twice = " and ".join(f"'{p}'" for p, hit in zip(patterns, hits[k], strict=True) if hit)
        raise ModelError(f"contact: pair '{names[k]}' is named by {twice}; one law is expected.")
    return np.argmax(hits, 1)


def _only(m: Mechanism, share: Share) -> Mechanism:
    return replace(m, model=only_pairs(m.model, share.pairs))


def _part(scope: Tapper, model: Model, share: Share) -> Tapper:
    return scope if scope is OFF else _Part(scope, share.contacts, sum(contact_counts(model)))


def _whole(passage: Passage, own: Share, scope: Any) -> Felt:
    """Impulses and residuals of all contacts: those of forces are force times time."""
    assert isinstance(passage.felt, Felt)
    normal, tangent = scope["contact.force_n"], scope["contact.force_t"]
    others = passage.time * jnp.concatenate([normal[:, None], tangent], -1)
    impulse = others.at[own.contacts].set(passage.felt.impulse)
    residual = jnp.zeros_like(normal).at[own.contacts].set(passage.felt.residual)
    return passage.felt._replace(impulse=impulse, residual=residual)


class _Part:
    """The scope of a step as the law of some contacts sees it: its own rows of `contact.*`."""

    def __init__(self, scope: Any, rows: np.ndarray, count: int) -> None:
        self.scope, self.rows, self.count = scope, rows, count

    def tap(self, name: str, value: Any) -> Any:
        """Name own rows; geometry has been named for all contacts."""
        if not name.startswith("contact."):
            return self.scope.tap(name, value)
        if name in _GEOMETRY:
            return self.scope[name][self.rows]
        return self.scope.tap_rows(name, value, self.rows, self.count)

    def tap_lazily(self, values: Callable[[], Mapping[str, Any]]) -> None:
        """As `tap`, of each."""
        for name, value in values().items():
            self.tap(name, value)

    def again(self) -> Tapper:
        """The same rows in another evaluation."""
        return _Part(self.scope.again(), self.rows, self.count)

    def amend(self, name: str, value: Any) -> None:
        """Own rows of what is read after the step."""
        whole = self.scope[name]
        self.scope.amend(name, whole.at[self.rows].set(value))


_GEOMETRY = ("contact.depth", "contact.position", "contact.normal")
