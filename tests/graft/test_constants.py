"""Each name of the catalogue: a graft that gives a constant does what the constant does by hand."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted

import zoo
from engine import by_hand
from graftsim import MLP, Graft, Simulator, VariableError
from graftsim.model.fuse import fuse

DT = 0.01
GRAFTABLE = [name for name, variable in zoo.VARIABLES.items() if not variable.observe_only]
OBSERVE_ONLY = [name for name, variable in zoo.VARIABLES.items() if variable.observe_only]


@lru_cache
def case():
    """A mechanism without fixed joints, a graft on every variable, and a constant for each."""
    model, state, u = zoo.everything()
    plain = Simulator(fuse(model), DT)
    simulator = grafted(plain, *(Graft(n, "state.q", MLP(), name=n) for n in GRAFTABLE))
    rng = np.random.default_rng(0)
    shapes = {name: shape for name, (shape, _, _) in plain.variables().items()}
    return simulator, state, u, {n: rng.uniform(0.05, 0.15, shapes[n]) for n in GRAFTABLE}


@pytest.mark.parametrize("name", GRAFTABLE)
def test_constant_graft(name):
    """Weights of zero and a bias b: b is added to the variable, and the step goes on with that."""
    simulator, state, u, constants = case()
    bias = jnp.asarray(constants[name].reshape(-1))
    grafts = simulator.grafts
    graft = eqx.tree_at(lambda g: g.weights.layers[-1].bias, grafts[name], bias)
    simulator = eqx.tree_at(lambda s: s.grafts, simulator, grafts.replace(name, graft))
    record = tuple(f"graft.{n}" for n in GRAFTABLE) + tuple(zoo.VARIABLES)
    found = zoo.rollout(simulator, state, u[None], record)
    value, *hand = by_hand.step(simulator.model, state, u, DT, {name: constants[name]})
    end = jax.tree.map(lambda x: x[1], found.states)
    for mine, other in zip((end.q, end.qd, end.act), hand, strict=True):
        assert np.allclose(mine, other, rtol=1e-9, atol=1e-10)
    for other, x in value.items():
        scale = max(np.abs(x).max(), 1.0)
        assert np.abs(np.asarray(found.recorded[other][0]) - x).max() < 1e-9 * scale, other
    for other in GRAFTABLE:
        given = np.asarray(found.recorded[f"graft.{other}"]).reshape(-1)
        assert np.array_equal(given, bias if other == name else np.zeros_like(given)), other


@pytest.mark.parametrize("name", OBSERVE_ONLY)
def test_what_is_only_shown_is_refused(name):
    """A graft on a variable that the dynamics does not read is an error, not a graft in vain."""
    with pytest.raises(VariableError, match=f"'{name}' is shown, but nothing .* reads it"):
        grafted(case()[0], Graft(f"{name}[*]", "state.q"))
