"""Which shapes may touch, and what their surfaces make of it."""

import numpy as np
import pytest

from graftsim.errors import ModelError
from graftsim.model import Builder, pairs
from graftsim.model.catalogue import labels

BODY = {"mass": 1.0, "inertia": 0.1}
# Name of a link, what carries it, joint.
TREE = (
    ("base", "world", "fixed"),
    *(("a", "base", "revolute"), ("plate", "a", "fixed"), ("b", "plate", "revolute")),
    *(("c", "b", "revolute"), ("free", "world", "free")),
)


def machine(*, mask=(1, 1), **surface):
    """A sphere of the link's name on each link of TREE, and one on the world."""
    b = Builder("machine")
    for name, above, joint in TREE:
        b.link(name, above, joint, **BODY).geom("sphere", 0.1, name, name=name, mask=mask)
    return b.geom("sphere", 0.1, name="wall", **surface)


def names(model):
    return {"/".join(sorted(n.split("/"))) for n in model.pair.names}


OTHERS = {"free/a", "free/b", "free/c", "free/plate", "base/free", "free/wall"}
MOVING = {f"{x}/{y}" for x in ("base", "wall") for y in ("a", "b", "c", "plate")}


def both_ways(found):
    return {"/".join(sorted(n.split("/"))) for n in found}


def test_who_may_touch():
    """Different mechanisms and what is fixed to the world; with self-collision no neighbours."""
    model = machine().build()
    assert names(model) == both_ways(OTHERS | MOVING)
    assert labels(model, "pair") == model.pair.names
    own = names(machine().build(self_collision=True))
    assert own - names(model) == both_ways({"a/c", "plate/c"}), "b hangs on plate and so on a"


def test_exclusions_and_declared_pairs():
    """An exclusion is of two links; a declared pair stands above masks, neighbours, exclusions."""
    b = machine(mask=(1, 0)).exclude("free", "a").exclude("world", "free")
    assert names(b.build()) == both_ways({f"wall/{x[0]}" for x in TREE[1:5]})
    model = b.pair("free", "a", friction=0.5).pair("a", "b").build()
    assert {"a/free", "a/b"} < names(model)
    k = [set(n.split("/")) for n in model.pair.names].index({"a", "free"})
    assert float(model.pair.friction[k]) == 0.5


def test_surfaces():
    """What is stated for the pair, else the larger of both shapes, else the default."""
    b = Builder("two").link("a", joint="free", **BODY).link("b", joint="free", **BODY)
    b.geom("sphere", 0.1, "a", name="a", friction=0.2, stiffness=3e4, restitution=0.1)
    b.geom("sphere", 0.1, "b", name="b", friction=0.6, stiffness=6e4)
    b.geom("plane", (), name="floor").pair("a", "floor", restitution=0.9, cfm=1e-3)
    pair = b.build().pair
    assert pair.names == ("a/b", "floor/a", "floor/b")
    np.testing.assert_allclose(pair.friction, [0.6, 0.2, 0.6])
    np.testing.assert_allclose(pair.restitution, [0.1, 0.9, 0.0])
    np.testing.assert_allclose(pair.stiffness, [2e4, 3e4, 6e4])
    np.testing.assert_allclose(pair.cfm, [0, 1e-3, 0])
    np.testing.assert_allclose(pair.dissipation, 10.0)
    plain = Builder("p").link("a", joint="free", **BODY).geom("sphere", 0.1, "a").geom("plane", ())
    # It carries the weight at a depth of a millimetre.
    np.testing.assert_allclose(plain.build().pair.stiffness, 9.81 / 1e-3**1.5)


def test_kinds_that_cannot_touch_are_named(monkeypatch):
    """In the notes, the first of many."""
    monkeypatch.setattr(pairs, "contacts", lambda *_: None)
    model = machine().build()
    assert model.pair.names == ()
    (note,) = model.notes
    assert note.startswith("contact between sphere and sphere is not computed")
    assert note.endswith("and 4 more.")


REFUSED = {
    "twice": (lambda b: b.pair("a", "b").pair("b", "a"), "'b', 'a' is declared twice"),
    "friction": (lambda b: b.pair("a", "b", friction=-1.0), "friction must be zero or more"),
    "stiffness": (lambda b: b.pair("a", "b", stiffness=0.0), "stiffness must be positive"),
    "quantity": (lambda b: b.pair("a", "b", bounce=1.0), "'bounce' is not one of friction"),
    "shape": (lambda b: b.pair("a", "bb").build(), "Pair of shapes: no 'bb'"),
    "link": (lambda b: b.exclude("a", "walls").build(), "Exclusion of links: no 'walls'"),
    "infinite": (lambda b: b.geom("sphere", 1.0, restitution=np.inf), "finite"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    """With what would do."""
    build, message = REFUSED[what]
    with pytest.raises(ModelError, match=message):
        build(machine())
