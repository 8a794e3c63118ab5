"""A network and a structure from outside the package: a class each, in a file of their own."""

import importlib.util
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import graftsim as gs
import zoo
from graftsim.errors import FileError, VariableError
from graftsim.graft import Network, Specification, Structure
from graftsim.graft.onnx_graph import Function, from_right, line

INPUTS = ("joint.q[*]", "joint.qd[*]")


@dataclass(frozen=True)
class RadialBasis(Specification):
    """A sum of `count` Gaussian bells in the space of the scaled inputs."""

    name: ClassVar[str] = "RadialBasis"

    count: int = 6
    reach: float = 1.5

    def build(self, n_in, n_out, key, dtype):
        """Centres drawn evenly, heights zero."""
        centres = jax.random.uniform(key, (self.count, n_in), dtype, -self.reach, self.reach)
        return Bells(centres, jnp.zeros((n_out, self.count), dtype))


class Bells(Network):
    """y = sum over k of height_k exp(-|x - c_k|^2 / 2)."""

    centres: jax.Array
    heights: jax.Array

    def __call__(self, x):
        """One input vector."""
        return self.heights @ jnp.exp(-0.5 * jnp.sum((x - self.centres) ** 2, -1))

    def to_onnx(self, g):
        """|x - c|^2 multiplied out, and the gradient: sum of height bell (c - x)."""
        centres, heights = np.asarray(self.centres), np.asarray(self.heights)
        square, last = line((centres**2).sum(-1)), np.array([-1])

        def bells(x):
            own = g.ReduceSum(g.Mul(x, x), last, keepdims=1)
            crossed = g.MatMul(x, from_right(-2 * centres))
            return g.Exp(g.Mul(-0.5, g.Add(g.Add(own, square), crossed)))

        def gradient(x):
            weighed = g.Mul(bells(x), heights[..., :1, :])
            total = g.ReduceSum(weighed, last, keepdims=1)
            return g.Sub(g.MatMul(weighed, centres), g.Mul(x, total))

        return Function(lambda x: g.MatMul(bells(x), from_right(heights)), gradient)


@dataclass(frozen=True)
class Saturated(Structure):
    """No output beyond `most`, in units of the output's scale."""

    name: ClassVar[str] = "Saturated"

    most: float = 1.0

    def wrap(self, f, frame):
        """most tanh(f / most)."""
        return lambda x: self.most * jnp.tanh(f(x) / self.most)

    def to_onnx(self, g, f, frame, rows):
        """The same."""
        return Function(lambda x: g.Mul(self.most, g.Tanh(g.Div(f.value(x), self.most))))


def arm():
    """Two rods."""
    return gs.Simulator(zoo.chain(2), 0.01)


def grafted(seed=0, **options):
    """The rods with the network on each joint, its numbers and scales random."""
    graft = gs.Graft("joint.tau[*]", **{"inputs": INPUTS, "name": "own"} | options)
    simulator = arm().graft(gs.Blueprint(graft))
    rng, bound = np.random.default_rng(seed), simulator.grafts["own"]
    bound = bound.with_trainable(jnp.asarray(rng.normal(size=bound.trainable.shape)))
    scales = [jnp.asarray(rng.uniform(0.5, 2, s.shape))
              for s in (bound.input_scale, bound.output_scale)]  # fmt: skip
    bound = eqx.tree_at(lambda g: (g.input_scale, g.output_scale), bound, scales)
    return eqx.tree_at(lambda s: s.grafts, simulator, simulator.grafts.replace("own", bound))


def test_it_moves_the_same_on_kernels_and_on_xla():
    """A roll-out, which the bells change."""
    simulator = grafted(network=RadialBasis(), structure=Saturated(2.0))
    start = simulator.initial_state([0.4, -0.3], [1.0, -2.0])
    ends = [np.asarray(simulator.rollout(start, steps=20, backend=b).q) for b in ("kernel", "xla")]
    np.testing.assert_allclose(*ends, rtol=1e-10, atol=1e-12)
    plain = arm().rollout(start, steps=20, backend="xla").q
    assert np.abs(plain - ends[0]).max() > 1e-3


def test_it_learns():
    """A pendulum's friction, that no parameter expresses: the bells lower the held-out error."""
    truth = gs.Simulator(zoo.pendulum(damping=0.1, friction=0.3, friction_velocity=0.1), 0.01)
    q = np.asarray(truth.rollout(truth.initial_state([1.2]), steps=300).q)
    q = q[:, 0] + np.random.default_rng(0).normal(0, 1e-4, len(q))
    recording = gs.recording_from_arrays({"time": 0.01 * np.arange(301), "q": q},
                                         {"joint.q[bob]": "q"}, time="time")  # fmt: skip
    smooth = gs.Simulator(zoo.pendulum(damping=0.1), 0.01)
    blueprint = gs.Blueprint(gs.Graft("joint.tau_passive[*]", "joint.qd[*]", RadialBasis(8)))
    problem = gs.Problem(smooth.graft(blueprint), recording, ("joint.damping[*]",), horizon=0.2,
                         growth=(1.0,))  # fmt: skip
    result = gs.fit(problem, local=gs.LevenbergMarquardt(iterations=15))
    assert result.errors[0].heldout_after < 0.5 * result.physics[0].heldout_after


@pytest.mark.parametrize("shared", [True, False])
def test_it_comes_back_from_a_file_by_its_name(tmp_path, shared):
    """Fields, structure and every number, without a blueprint."""
    simulator = grafted(network=RadialBasis(3, 0.5), structure=Saturated(0.7), shared=shared)
    path = tmp_path / "own.safetensors"
    gs.save_grafts(simulator, path)
    (entry,) = gs.describe_grafts(path)["grafts"]
    assert entry["network"] == {"class": "RadialBasis", "count": 3, "reach": 0.5}
    loaded = gs.load_grafts(arm(), path)
    assert jax.tree.structure(loaded) == jax.tree.structure(simulator)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(simulator), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_file_read_where_the_class_is_not_defined(tmp_path, monkeypatch):
    """The name is no place to import from: the error says what is missing."""
    path = tmp_path / "own.safetensors"
    gs.save_grafts(grafted(network=RadialBasis()), path)
    monkeypatch.delitem(Specification.known, "RadialBasis")
    with pytest.raises(FileError, match=r"network RadialBasis \(or import the module that"):
        gs.load_grafts(arm(), path)


def test_names_and_fields_that_no_file_could_tell_apart():
    """A name that is taken, and a class whose fields are not known."""
    with pytest.raises(VariableError, match=r"'MLP' is taken by graftsim\.graft\.perceptron\.MLP"):
        type("Mine", (Specification,), {"name": "MLP"})
    nameless = type("Nameless", (Specification,), {"build": lambda self, *a: None})
    assert nameless not in Specification.known.values()
    with pytest.raises(VariableError, match=r"Nameless is no data class: it needs .* describe"):
        nameless().describe()


def same(simulator, folder, run):
    """The file gives what the graft gives."""
    (path,) = gs.export_onnx(simulator, folder)
    bound = simulator.grafts["own"]
    x = np.random.default_rng(1).normal(size=(bound.wiring.rows, len(bound.wiring.columns)))
    wanted, _ = bound(jnp.asarray(x))
    assert np.abs(wanted).min() > 1e-4
    np.testing.assert_allclose(run(path, x), wanted, rtol=0, atol=1e-12)


def by_reference(path, x):
    """What the reference implementation of ONNX computes."""
    return ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})[0]


def by_onnxruntime(path, x):
    """What a runtime computes."""
    import onnxruntime

    return onnxruntime.InferenceSession(path).run(None, {"x": x})[0]


RUNTIMES = [
    by_reference,
    pytest.param(
        by_onnxruntime,
        marks=pytest.mark.skipif(
            importlib.util.find_spec("onnxruntime") is None, reason="needs onnxruntime"
        ),
    ),
]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("run", RUNTIMES)
def test_it_is_exported(tmp_path, shared, run):
    """Under a structure of its own, and as a potential, by its gradient."""
    options = {"network": RadialBasis(), "shared": shared}
    same(grafted(structure=(gs.Odd(), Saturated(0.7)), **options), tmp_path / "a", run)
    potential = gs.Conservative()
    same(grafted(inputs="joint.q[*]", structure=potential, **options), tmp_path / "b", run)


def test_a_class_that_evaluates_otherwise_needs_its_own_nodes(tmp_path):
    """Those that it inherits would say something else."""

    class Doubled(Bells):
        def __call__(self, x):
            return 2 * super().__call__(x)

    own = Doubled(jnp.zeros((2, 2)), jnp.ones((1, 2)))
    with pytest.raises(VariableError, match="class Doubled cannot be written"):
        gs.export_onnx(grafted(network=own), tmp_path)
