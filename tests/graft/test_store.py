"""Grafts in files: every number comes back, and what does not fit is named."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, with_scales
from hypothesis import given, settings, strategies as st
from safetensors.numpy import load_file, save_file

import graftsim as gs
from graftsim.errors import FileError, GraftsimWarning, VariableError
from graftsim.graft import Specification, Structure, store

INPUTS = ("joint.q[*]", "joint.qd[*]")


def arm(names=("shoulder", "elbow"), kinds=("revolute", "revolute"), dtype=None, **options):
    """A chain of joints."""
    builder, parent = gs.Builder(options.get("name", "arm")), "world"
    for name, kind in zip(names, kinds, strict=True):
        builder.link(name, parent, kind, axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.2), inertia=0.1)
        parent = name
    return gs.Simulator(builder.build(dtype), dt=options.get("dt", 0.01))


def assert_equal(first, second):
    """The same wiring, structure and numbers."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def saved(tmp_path, simulator):
    """Path of a file with the grafts."""
    path = tmp_path / "grafts.safetensors"
    gs.save_grafts(simulator, path)
    return path


GRAFTS = st.builds(
    lambda network, mode, shared, whole, scales, prior: gs.Graft(
        ("joint.tau_passive", "joint.tau_damping") if whole else "joint.tau[shoulder,elb*]",
        ("joint.q", "joint.qd@prev") if whole else INPUTS,
        network,
        mode=mode,
        shared=shared,
        input_scale={"joint.q" if whole else "joint.q[*]": "90 deg"} if scales else {},
        output_scale=2.0 if scales else None,
        prior=prior,
        name="a graft / with a name",
    ),
    network=st.sampled_from(
        [
            gs.MLP(),
            gs.MLP(*np.array([4, 3]), activation="silu"),
            gs.GRU(3),
            gs.Library("sine", "coulomb"),
        ]
    ),
    mode=st.sampled_from(["add", "scale", "replace"]),
    shared=st.booleans(),
    whole=st.booleans(),
    scales=st.booleans(),
    prior=st.floats(1e-3, 1e3),
)


@given(graft=GRAFTS, seed=st.integers(0, 99))
@settings(max_examples=10)
def test_what_is_loaded_is_what_was_saved(tmp_path_factory, graft, seed):
    """Networks, modes, rows, scales and which of these are settled, bit for bit."""
    simulator = grafted(arm(), graft, gs.Graft("joint.tau_spring", "joint.q"), seed=seed)
    simulator = with_scales(simulator, graft.label, seed)
    path = saved(tmp_path_factory.mktemp("store"), simulator)
    assert_equal(gs.load_grafts(arm(), path), simulator)


@pytest.mark.parametrize(
    ("target", "inputs", "structures"),
    [
        ("joint.tau[*]", INPUTS, (gs.ZeroAtRest(), gs.Dissipative(), gs.Odd("joint.qd[*]"))),
        ("joint.tau[*]", INPUTS, (gs.ZeroAtRest(("joint.qd[*]", "joint.q[*]")),)),
        ("joint.tau", "joint.q", (gs.Conservative("joint.q"), gs.Odd())),
        ("link.force", "link.velocity[*]", (gs.ActionReaction((("shoulder", "elbow"),)),)),
    ],
)
def test_structures_are_kept(tmp_path, target, inputs, structures):
    """Every structure with its fields, in order."""
    simulator = grafted(arm(), gs.Graft(target, inputs, gs.MLP(4), structure=structures), seed=1)
    loaded = gs.load_grafts(arm(), saved(tmp_path, simulator))
    assert_equal(loaded, simulator)
    assert loaded.grafts.grafts[0].wiring.structure == structures


def test_everything_of_the_package_is_described():
    """A new network or structure states its name, that of its class."""
    for kind, names in [
        (Specification, {"GRU", "MLP", "Library"}),
        (Structure, {"ActionReaction", "Conservative", "Dissipative", "Odd", "ZeroAtRest"}),
    ]:
        own = [c for c in kind.__subclasses__() if c.__module__.startswith("graftsim.")]
        assert {c.__name__ for c in own} == names
        assert all(kind.known[c.__name__] is c for c in own)


def test_the_motion_is_the_same(tmp_path):
    """A loaded simulator moves as the saved one, and grafts that it had give way."""
    simulator = grafted(arm(), gs.Graft("joint.tau[*]", INPUTS, gs.GRU(3)), seed=2)
    other = grafted(arm(), gs.Graft("joint.tau_spring", "joint.q"), seed=3)
    loaded = gs.load_grafts(other, saved(tmp_path, simulator))
    start = simulator.initial_state({"shoulder": 1.0})
    ends = [s.rollout(start, steps=20, backend="xla").q for s in (simulator, loaded)]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("there", ["float32", "float64"])
@pytest.mark.parametrize("here", ["float32", "float64"])
def test_numbers_take_the_precision_of_the_simulator(tmp_path, there, here):
    """A float32 number is kept in float64, a float64 number is rounded to float32."""
    simulator = grafted(arm(dtype=there), gs.Graft("joint.tau[*]", INPUTS, gs.MLP(4)), seed=1)
    simulator = jax.tree.map(lambda x: x.astype(there), simulator)
    loaded = gs.load_grafts(arm(dtype=here), saved(tmp_path, simulator))
    for a, b in zip(jax.tree.leaves(loaded.grafts), jax.tree.leaves(simulator.grafts), strict=True):
        assert a.dtype == here
        np.testing.assert_array_equal(a, b.astype(here))


def test_header_is_readable_without_the_numbers(tmp_path):
    """Targets, inputs, units, network, rows, robot and step are in the header."""
    graft = gs.Graft("joint.tau[*]", INPUTS, gs.MLP(4), input_scale={"joint.q[*]": 2.0})
    found = gs.describe_grafts(saved(tmp_path, grafted(arm(), graft)))
    assert (found["robot"], found["dt"]) == ("arm", 0.01)
    (entry,) = found["grafts"]
    assert entry["target"] == ["joint.tau[*]"]
    assert entry["network"] == {
        "class": "MLP",
        "widths": [4],
        "activation": "tanh",
        "signs": False,
    }
    assert entry["rows"] == ["shoulder", "elbow"]
    assert [i["columns"][0] for i in entry["inputs"]] == [
        {"column": "joint.q[*]", "unit": "rad", "settled": True},
        {"column": "joint.qd[*]", "unit": "rad/s", "settled": False},
    ]


def test_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A write that fails leaves the old file; one that works leaves nothing beside it."""
    simulator = grafted(arm(), gs.Graft("joint.tau", "joint.q"), seed=1)
    path = saved(tmp_path, simulator)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            gs.save_grafts(grafted(arm(), gs.Graft("joint.tau", "joint.q"), seed=2), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_cut_file_is_an_error(tmp_path):
    """Wherever it ends, and when it is none of ours."""
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau", "joint.q")))
    whole = path.read_bytes()
    for length in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="cut off"):
            gs.load_grafts(arm(), path)
    with pytest.raises(FileError, match="no such file"):
        gs.describe_grafts(tmp_path / "none.safetensors")
    save_file({"w": np.zeros(2)}, path)
    with pytest.raises(FileError, match=r"not written by graftsim\.save_grafts"):
        gs.load_grafts(arm(), path)


def test_newer_and_damaged_files_are_errors(tmp_path):
    """A version to come is named; a header that misses a part is not taken."""
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau", "joint.q")))
    arrays, content = load_file(path), gs.describe_grafts(path)
    header = {"format": "graftsim grafts", "version": "1", "content": json.dumps(content)}
    save_file(arrays, path, header | {"version": "2"})
    with pytest.raises(FileError, match=r"newer graftsim \(format 2; this one reads up to 1\)"):
        gs.load_grafts(arm(), path)
    del content["grafts"][0]["mode"]
    for damage in ({"content": "{"}, {"content": json.dumps(content)}, {"version": "one"}):
        save_file(arrays, path, header | damage)
        with pytest.raises(FileError, match="header is damaged"):
            gs.load_grafts(arm(), path)


def test_weights_that_are_missing_or_of_another_shape(tmp_path):
    """Each is named, with both shapes."""
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau", "joint.q", gs.MLP(4))))
    arrays, content = load_file(path), gs.describe_grafts(path)
    arrays["joint.tau/weights.layers[0].weight"] = np.zeros((5, 2))
    del arrays["joint.tau/output_scale"]
    header = {"format": "graftsim grafts", "version": "1", "content": json.dumps(content)}
    save_file(arrays, path, header)
    with pytest.raises(FileError) as error:
        gs.load_grafts(arm(), path)
    assert "layers[0].weight: float64 [5, 2] in the file, float64 [4, 2] here" in str(error.value)
    assert "output_scale: nothing in the file, float64 [2] here" in str(error.value)


def test_another_robot_is_named_by_what_differs(tmp_path):
    """Rows, their order, columns and units that differ; a robot without the rows at all."""
    whole = gs.Graft("joint.tau", "joint.qd", gs.MLP(4), name="whole")
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau[*]", INPUTS), whole))
    cases = {
        "rows only in the file: elbow": arm(("shoulder", "wrist")),
        "rows only in the simulator: wrist": arm(("shoulder", "wrist")),
        "columns only in the file: joint.qd[elbow], joint.tau[elbow]": arm(("shoulder", "wrist")),
        "rows in another order: file: shoulder, elbow; simulator: elbow, shoulder": arm(
            ("elbow", "shoulder")
        ),
        "unit of joint.q[*]: rad in the file, rad | m here": arm(kinds=("revolute", "prismatic")),
        "unit of joint.tau[elbow]: N m in the file, N here": arm(kinds=("revolute", "prismatic")),
    }
    for said, other in cases.items():
        with pytest.raises(FileError) as error:
            gs.load_grafts(other, path)
        assert said in str(error.value)
        assert "robot 'arm'" in str(error.value)
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau[elbow]", INPUTS)))
    with pytest.raises(FileError, match=r"does not fit: 'joint.tau\[elbow\]' selects no row"):
        gs.load_grafts(arm(("shoulder", "wrist")), path)


def test_warnings_of_another_name_and_another_step(tmp_path):
    """A robot of the same form but another name, and a memory that would run at another pace."""
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau[*]", INPUTS, gs.GRU(2))))
    with pytest.warns(GraftsimWarning, match="saved for robot 'arm' and are put on 'leg'"):
        gs.load_grafts(arm(name="leg"), path)
    with pytest.warns(GraftsimWarning, match=r"dt = 0.01 s, the simulator 0.005 s"):
        gs.load_grafts(arm(dt=0.005), path)
    path = saved(tmp_path, grafted(arm(), gs.Graft("joint.tau[*]", INPUTS)))
    gs.load_grafts(arm(dt=0.005), path)


class Cubic(eqx.Module):
    """A user's network."""

    gain: jax.Array

    def __call__(self, x):
        return self.gain * x[:1] ** 3


class Still(gs.graft.Structure):
    """A user's structure."""

    def wrap(self, f, frame):
        return f


def test_own_code_needs_its_blueprint(tmp_path):
    """The error names each part; with the blueprint every number comes back."""

    def make(gain=0.0):
        return gs.Blueprint(
            gs.Graft("joint.tau[*]", "joint.qd[*]", Cubic(jnp.array([gain])), name="cubic"),
            gs.Graft("joint.tau_passive[*]", gs.Feature(jnp.sin, "joint.q[*]"), structure=Still()),
        )

    simulator = arm().graft(make(2.5))
    path = saved(tmp_path, simulator)
    with pytest.raises(FileError) as error:
        gs.load_grafts(arm(), path)
    for said in (
        "Give load_grafts(..., blueprint=...)",
        "graft 'cubic': the network test_store.Cubic",
        "graft 'joint.tau_passive[*]': the function of input 'sin(joint.q[*])'",
        "graft 'joint.tau_passive[*]': the structure test_store.Still",
    ):
        assert said in str(error.value)
    loaded = gs.load_grafts(arm(), path, make())
    np.testing.assert_array_equal(loaded.grafts["cubic"].network.gain, [2.5])
    for a, b in zip(jax.tree.leaves(loaded.grafts), jax.tree.leaves(simulator.grafts), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_blueprint_is_refused(tmp_path):
    """Grafts of other names, or of other mode, network, structure or inputs."""
    graft = gs.Graft("joint.tau[*]", INPUTS, gs.MLP(4), structure=gs.Odd(), name="friction")
    path = saved(tmp_path, grafted(arm(), graft))
    with pytest.raises(FileError, match=r"has the grafts friction; the blueprint has joint\.tau"):
        gs.load_grafts(arm(), path, gs.Blueprint(gs.Graft("joint.tau", "joint.q")))
    other = gs.Graft("joint.tau[*]", "joint.qd[*]", gs.MLP(4, 4), mode="scale", name="friction")
    with pytest.raises(FileError) as error:
        gs.load_grafts(arm(), path, gs.Blueprint(other))
    for said in (
        "mode: add in the file, scale here",
        "network: MLP(widths=[4], activation=tanh, signs=False) in the file, MLP(widths=[4, 4]",
        "structure: [Odd(of=[])] in the file, [] here",
        "inputs only in the file: joint.q[*]",
    ):
        assert said in str(error.value)


def test_what_cannot_be_saved(tmp_path):
    """A simulator without grafts, and another kind of file."""
    with pytest.raises(VariableError, match="no graft to save"):
        gs.save_grafts(arm(), tmp_path / "a.safetensors")
    with pytest.raises(FileError, match=r"ends in \.safetensors"):
        gs.save_grafts(grafted(arm(), gs.Graft("joint.tau", "joint.q")), tmp_path / "a.npz")
