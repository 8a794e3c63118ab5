"""Forces that hardly any file has: their shapes, and where they act."""

import jax.numpy as jnp
import numpy as np

from graftsim.identify.doubt.effects import EFFECTS, ORDERS, Effects, Shapes


def test_harmonics_are_sines_and_cosines():
    """By doubling the angle, for arrays of both kinds."""
    q = np.linspace(-4, 4, 101)
    for xp in (np.asarray, jnp.asarray):
        at = Shapes.of(xp(q), xp(0 * q))
        for n in ORDERS:
            np.testing.assert_allclose(EFFECTS[f"effect.ripple{n}s"](at), np.sin(n * q), atol=1e-13)
            np.testing.assert_allclose(EFFECTS[f"effect.ripple{n}c"](at), np.cos(n * q), atol=1e-13)


def test_effects_act_on_their_own_joints():
    """Sizes go to the joints of the names and add to what is there; without names there is none."""
    effects = Effects(("a", "b"), ["effect.drag[b]", "effect.ripple2s[a]"])
    add = effects.augmentations(jnp.array([3.0, 5.0]))["joint.tau"]
    scope = {"joint.q": jnp.array([0.3, 0.4]), "joint.qd": jnp.array([2.0, -2.0])}
    found = add(jnp.array([1.0, 1.0]), scope)
    np.testing.assert_allclose(found, [1 + 5 * np.sin(0.6), 1 + 3 * 4.0], rtol=1e-12)
    assert Effects(("a",), []).augmentations(jnp.zeros(0)) == {}
