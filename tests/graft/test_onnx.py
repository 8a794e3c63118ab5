"""ONNX files compute what the grafts compute, and say what their numbers are."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from onnx.reference import ReferenceEvaluator

import graftsim as gs
from graftsim.errors import GraftsimError, VariableError
from graftsim.graft import onnx_graph
from graftsim.graft.pointwise import ACTIVATIONS, TERMS

INPUTS = ("joint.q[*]", "joint.qd[*]")
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


def arm(dtype="float64", links=3):
    """A chain of hinges."""
    builder = gs.Builder("arm")
    for i in range(links):
        builder.link(f"l{i}", f"l{i - 1}" if i else "world", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    return gs.Simulator(builder.build(dtype), dt=0.01)


def grafted(graft, seed=0, dtype="float64"):
    """The arm with a graft whose weights, biases and scales are random."""
    simulator = arm(dtype).graft(gs.Blueprint(graft), key=jax.random.key(seed))
    rng = np.random.default_rng(seed)
    bound = simulator.grafts.grafts[0]
    bound = bound.with_trainable(jnp.asarray(rng.normal(size=bound.trainable.shape), dtype))
    scales = [
        jnp.asarray(rng.uniform(0.5, 2, s.shape), dtype)
        for s in (bound.input_scale, bound.output_scale)
    ]
    bound = eqx.tree_at(lambda g: (g.input_scale, g.output_scale), bound, scales)
    return eqx.tree_at(lambda s: s.grafts, simulator, simulator.grafts.replace(bound.label, bound))


def assert_same(simulator, folder, seed=0, dtype=None):
    """The file gives what the graft gives for random inputs."""
    bound = simulator.grafts.grafts[0]
    (path,) = gs.export_onnx(simulator, folder, dtype=dtype)
    dtype = np.dtype(dtype or simulator.dt.dtype)
    rng = np.random.default_rng(seed + 1)
    feed = {"x": rng.normal(size=(bound.wiring.rows, len(bound.wiring.columns)))}
    memory = ()
    if bound.recurrent:
        feed["h"] = memory = rng.normal(size=bound.memory().shape)
    y, h = eqx.filter_jit(lambda g, *xs: g(*xs))(bound, jnp.asarray(feed["x"]), memory)
    got = ReferenceEvaluator(onnx.load(path)).run(
        None, {k: v.astype(dtype) for k, v in feed.items()}
    )
    for found, wanted in zip(got, [y, h] if bound.recurrent else [y], strict=True):
        assert found.dtype == dtype
        assert found.shape == wanted.shape
        size = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE[dtype.name] * size)


NETWORKS = st.one_of(
    st.builds(
        lambda widths, activation, signs: gs.MLP(*widths, activation=activation, signs=signs),
        st.sampled_from(((), (4,), (4, 3), (3, 1, 4))),
        st.sampled_from(("tanh", "elu", "silu")),
        st.booleans(),
    ),
    st.lists(
        st.sampled_from(("linear", "quadratic", "cubic", "coulomb", "stribeck", "sine", "cosine")),
        min_size=1,
        unique=True,
    ).map(lambda terms: gs.Library(*terms)),
)
PLACES = st.sampled_from(
    [
        ("joint.tau_passive[*]", "joint.q[*]", "joint.qd[*]"),
        ("joint.tau", "joint.q", "joint.qd"),
    ]
)
STRUCTURES = {
    "none": lambda q, v: (),
    "odd": lambda q, v: (gs.Odd(v),),
    "odd in all": lambda q, v: (gs.Odd(),),
    "rest": lambda q, v: (gs.ZeroAtRest(v),),
    "dissipative": lambda q, v: (gs.Dissipative(v),),
    "odd dissipative": lambda q, v: (gs.ZeroAtRest(v), gs.Dissipative(v), gs.Odd((v,))),
    "rest of an odd one": lambda q, v: (gs.Odd(), gs.ZeroAtRest((v,))),
}


@given(
    network=NETWORKS,
    place=PLACES,
    structure=st.sampled_from(list(STRUCTURES)),
    shared=st.booleans(),
    dtype=st.sampled_from(list(TOLERANCE)),
    seed=st.integers(0, 99),
)
@settings(max_examples=10)
def test_file_is_the_graft(tmp_path_factory, network, place, structure, shared, dtype, seed):
    """Networks of every kind, under every structure, of all rows or of each, in both precisions."""
    target, q, v = place
    graft = gs.Graft(target, (q, v), network, shared=shared, structure=STRUCTURES[structure](q, v))
    assert_same(grafted(graft, seed), tmp_path_factory.mktemp("onnx"), seed, dtype)


@given(
    network=NETWORKS,
    place=PLACES,
    outer=st.sampled_from([(), (gs.Odd(),)]),
    shared=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=10)
def test_potential_is_differentiated(tmp_path_factory, network, place, outer, shared, seed):
    """The chain rule written out is the gradient that JAX takes."""
    target, q, _ = place
    graft = gs.Graft(target, q, network, shared=shared, structure=(gs.Conservative(q), *outer))
    assert_same(grafted(graft, seed), tmp_path_factory.mktemp("onnx"), seed)


@pytest.mark.parametrize("name", [*TERMS, *ACTIVATIONS])
def test_nodes_of_a_term_or_activation_are_its_value_and_its_derivative(name):
    """What JAX gives, and what it differentiates to."""
    function = (TERMS | ACTIVATIONS)[name]
    x = np.concatenate([np.linspace(-2, 2, 41)[1::2], [-0.03, 0.004, 0.1]])
    g = onnx_graph.Graph(np.dtype("float64"))
    ends = [function.value(g, "x"), function.slope(g, "x")]
    sides = [
        [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, [None]) for n in names]
        for names in (["x"], ["value", "slope"])
    ]
    for end, out in zip(ends, sides[1], strict=True):
        g.nodes.append(onnx.helper.make_node("Identity", [end], [out.name]))
    graph = onnx.helper.make_graph(g.nodes, "one", *sides, initializer=g.constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    value, slope = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(value, function(jnp.asarray(x)), atol=1e-13)
    np.testing.assert_allclose(slope, jax.vmap(jax.grad(function))(x), rtol=1e-12, atol=1e-13)


class Own(gs.Odd):
    """A user's structure, though it is one of the package's by descent."""

    def wrap(self, f, frame):
        return f


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_memory_is_an_input_and_an_output(tmp_path, shared, dtype):
    """A gated recurrent unit takes h and gives h_next."""
    assert_same(grafted(gs.Graft("joint.tau[*]", INPUTS, gs.GRU(5), shared=shared)), tmp_path, 3,
                dtype)  # fmt: skip


def test_model_in_float32_gives_a_file_in_float32(tmp_path):
    """Without being asked, a file has the precision of its simulator."""
    simulator = grafted(gs.Graft("joint.tau[*]", INPUTS), dtype="float32")
    (path,) = gs.export_onnx(simulator, tmp_path)
    assert onnx.load(path).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_shared_network_takes_any_batch(tmp_path):
    """Rows of a batch are independent of each other."""
    (path,) = gs.export_onnx(grafted(gs.Graft("joint.tau[*]", INPUTS)), tmp_path)
    run = ReferenceEvaluator(onnx.load(path)).run
    x = np.random.default_rng(0).normal(size=(7, 2))
    whole = run(None, {"x": x})[0]
    np.testing.assert_allclose(whole[4:5], run(None, {"x": x[4:5]})[0], atol=1e-15)


def test_metadata_says_what_the_numbers_are(tmp_path):
    """Columns, units, rows, target and mode are in the file, and what is to be done beside it."""
    inputs = ("joint.qd[*]", gs.Feature(jnp.sin, "joint.q[*]"), "joint.tau[*]@prev")
    graft = gs.Graft("joint.tau[*]", inputs, gs.GRU(3), shared=False, name="friction of gears")
    (path,) = gs.export_onnx(grafted(graft), tmp_path)
    assert path.name == "friction_of_gears.onnx"
    props = {p.key: p.value for p in onnx.load(path).metadata_props}
    assert json.loads(props["columns"]) == ["joint.qd[*]", "sin(joint.q[*])", "joint.tau[*]@prev"]
    assert json.loads(props["units"]) == ["rad/s", "1", "N m"]
    assert json.loads(props["output_units"]) == ["N m"]
    assert json.loads(props["rows"]) == ["l0", "l1", "l2"]
    assert json.loads(props["target"]) == ["joint.tau[*]"]
    assert (props["mode"], props["dt"], props["robot"]) == ("add", "0.01", "arm")
    for said in ("y is added", "h_next", "not in this file: sin(joint.q[*])", "@prev"):
        assert said in props["note"]


def test_wrench_of_a_pair_is_written_with_a_note(tmp_path):
    """The file has the wrench on the first link; the reaction is named as missing."""
    graft = gs.Graft(
        "link.force",
        "link.velocity[*]",
        structure=gs.ActionReaction((("l0", "l1"), ("l0", "l2"))),
    )
    simulator = grafted(graft)
    assert_same(simulator, tmp_path)
    (path,) = gs.export_onnx(simulator, tmp_path)
    props = {p.key: p.value for p in onnx.load(path).metadata_props}
    assert "reaction is not in this file" in props["note"]
    assert json.loads(props["rows"]) == ["l0/l1", "l0/l2"]


def test_one_of_several_and_names_that_meet(tmp_path):
    """One graft by name, or all, each in a file of its own."""
    first, second = (gs.Graft(t, "joint.qd") for t in ("joint.tau_passive", "joint.tau[l0,l1,l2]"))
    third = gs.Graft("joint.tau_passive[*]", "joint.qd")
    simulator = arm().graft(gs.Blueprint(first, second, third))
    names = [p.name for p in gs.export_onnx(simulator, tmp_path / "all")]
    assert names == [
        "joint.tau_passive.onnx",
        "joint.tau_l0_l1_l2.onnx",
        "joint.tau_passive_2.onnx",
    ]
    (path,) = gs.export_onnx(simulator, tmp_path / "one", graft=third.label)
    assert [p.name for p in (tmp_path / "one").iterdir()] == [path.name]


def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch):
    """A user's network, an unknown name, no graft, another precision, a missing library."""
    own = gs.Graft("joint.tau", "joint.qd", eqx.nn.Linear(3, 3, key=jax.random.key(0)))
    with pytest.raises(VariableError, match=r"class Linear cannot be written.*MLP, GRU"):
        gs.export_onnx(arm().graft(gs.Blueprint(own)), tmp_path / "x")
    own = gs.Graft("joint.tau", "joint.qd", structure=Own())
    with pytest.raises(VariableError, match="structure Own cannot be written"):
        gs.export_onnx(arm().graft(gs.Blueprint(own)), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    simulator = grafted(gs.Graft("joint.tau[*]", INPUTS, name="friction"))
    with pytest.raises(VariableError, match=r"no graft named 'frictoin'\. Nearest: friction"):
        gs.export_onnx(simulator, tmp_path, graft="frictoin")
    with pytest.raises(VariableError, match="no graft to export"):
        gs.export_onnx(arm(), tmp_path)
    with pytest.raises(GraftsimError, match="not in float16"):
        gs.export_onnx(simulator, tmp_path, dtype="float16")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(GraftsimError, match=r"pip install 'graftsim\[onnx\]'"):
        gs.export_onnx(simulator, tmp_path)
