"""The layer in PyTorch: gradients through contact, memory that is shared, workers, refusals."""

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sliding_ball

from graftsim.errors import InteropError, PrecisionError

torch = pytest.importorskip("torch")
from graftsim.interop import torch as interop  # noqa: E402
from graftsim.interop.torch import SMALL, layer  # noqa: E402

VELOCITY = (1.0, 0.2, 0.1, 0.3, -0.2)


def real(*values, grad=True):
    """A float64 tensor."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def friction(value=0.4):
    """A float64 scalar."""
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def test_gradients_through_contact():
    """PyTorch's own check, over 100 steps in each of which the ball presses on the floor."""
    forces = layer(sliding_ball.slide)(real(*VELOCITY), friction())[1]
    assert forces.shape == (100,)
    assert forces.min() > 0.9 * 0.5 * 9.81
    end = layer(sliding_ball.last_position)
    assert torch.autograd.gradcheck(end, (real(*VELOCITY), friction()))


def test_side_by_side_is_one_by_one():
    """Results and gradients of a batch; friction is shared, and gathers from all."""
    rng = np.random.default_rng(0)
    speeds = torch.tensor(np.array(VELOCITY) + 0.1 * rng.standard_normal((5, 5)))
    speeds.requires_grad_()
    many = layer(sliding_ball.last_position, batched=(True, False))
    one = layer(sliding_ball.last_position)
    weights = torch.tensor(rng.standard_normal((5, 7)))
    found = []
    for evaluate in (
        lambda mu: many(speeds, mu),
        lambda mu: torch.stack([one(v, mu) for v in speeds]),
    ):
        mu = friction()
        speeds.grad = None
        (evaluate(mu) * weights).sum().backward()
        found.append((speeds.grad, mu.grad))
    torch.testing.assert_close(found[0], found[1], rtol=1e-10, atol=1e-12)
    assert torch.autograd.gradcheck(many, (speeds[:2].detach().requires_grad_(), friction()))


def test_gradients_of_gradients():
    """A pull-back is a layer itself."""
    cube = layer(lambda x, w: {"y": jnp.sin(x * w) ** 3, "n": jnp.argmax(x)})
    given = (real(0.3, -0.4, 0.7), real(1.0, 2.0, 0.5))
    assert torch.autograd.gradgradcheck(lambda *a: cube(*a)["y"], given)


def test_trees_and_constants():
    """Dicts and states go in and out; numbers and arrays among them are constants."""
    here = sliding_ball.simulator()
    state = here.initial_state({"ball.z": 0.5})

    def fall(state, numbers):
        after = here.rollout(state, steps=10).states
        return after, numbers["scale"] * after.q[-1, 2], jnp.array(3)

    def tensors(x):
        return torch.from_dlpack(x) if jnp.ndim(x) else x

    given = jax.tree.map(tensors, state)
    given.q.requires_grad_()
    scale = friction(2.0)
    states, height, count = layer(fall)(given, {"scale": scale, "unused": 1})
    assert type(states) is type(state)
    assert states.q.shape == (11, 7)
    assert count == 3 and not count.requires_grad
    height.backward()
    assert given.q.grad[2] == pytest.approx(2.0)
    assert scale.grad == pytest.approx(states.q[-1, 2].item())


def test_part_of_what_is_given_needs_a_gradient():
    """Others get none, and without any nothing is recorded."""
    product = layer(lambda a, b: a * b)
    a, b = real(2.0), real(3.0, grad=False)
    y = product(a, b)
    y.sum().backward()
    assert a.grad.item() == 3.0 and b.grad is None
    assert not product(b, b).requires_grad
    with torch.no_grad():
        assert not product(a, b).requires_grad


@pytest.mark.parametrize("outside", [torch.float32, torch.float64])
def test_precision_goes_along(outside):
    """As given, or computed in another and given back."""
    x = torch.tensor([0.5, 1.5], dtype=outside, requires_grad=True)
    seen = []

    def f(x):
        seen.append(x.dtype)
        return jnp.sin(x)

    for inside in (None, "float32", "float64"):
        x.grad = None
        y = layer(f, dtype=inside)(x)
        y.sum().backward()
        assert y.dtype == x.grad.dtype == outside
        exact = inside in (None, "float64") and outside == torch.float64
        torch.testing.assert_close(y.detach(), x.detach().sin(), rtol=1e-15 if exact else 1e-6,
                                   atol=0)  # fmt: skip
        assert seen[-1] == (inside or str(outside).removeprefix("torch."))


def test_narrow_jax_refuses_wide_tensors():
    """Rather than compute in single precision without a word."""
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(PrecisionError, match="jax_enable_x64"):
            layer(sliding_ball.doubled)(real(1.0))
        assert layer(sliding_ball.doubled)(torch.ones(2)).dtype == torch.float32
        with pytest.raises(PrecisionError):
            layer(sliding_ball.doubled, dtype="float64")
    finally:
        jax.config.update("jax_enable_x64", True)


def test_memory_is_shared_where_it_is_large():
    """JAX reads a large tensor in its place; results are in memory of their own."""
    x = torch.ones(SMALL, dtype=torch.float64)
    assert interop._array(x).unsafe_buffer_pointer() == x.data_ptr()
    results = layer(lambda y: (y, y, y + 1))(x)
    assert len({x.data_ptr(), *(y.data_ptr() for y in results)}) == 4
    results[0].add_(1.0)
    assert x.max() == results[1].max() == 1.0


@pytest.mark.parametrize("size", [4, 2 * SMALL])
def test_tensors_of_any_layout(size):
    """Slices that begin anywhere, strides, transposed ones, expanded cotangents, none at all."""
    double = layer(sliding_ball.doubled)
    base = torch.arange(3 * size + 1, dtype=torch.float64)
    for x in (base[1:], base[::2], base[1:].reshape(3, size).T, base[:0], base[3]):
        x = x.detach().requires_grad_()
        y = double(x)
        torch.testing.assert_close(y, 2 * x)
        y.sum().backward()
        torch.testing.assert_close(x.grad, torch.full_like(x, 2.0))


def test_a_tensor_changed_before_the_way_back_is_an_error():
    """Its memory is what the pull-back reads."""
    square = layer(lambda x: x * x)
    weights = torch.ones(2 * SMALL, dtype=torch.float64, requires_grad=True)
    y = square(weights).sum()
    with torch.no_grad():
        weights.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_calls_from_several_threads():
    """The same gradients as alone, while the main thread computes in JAX."""
    end = layer(sliding_ball.last_position)

    def gradient(k):
        v = real(*(np.array(VELOCITY) + 0.01 * k))
        end(v, friction()).sum().backward()
        return v.grad

    alone = [gradient(k) for k in range(4)]
    found = {}

    def work(k):
        for _ in range(20):
            found[k] = gradient(k)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
    for t in threads:
        t.start()
    for _ in range(50):
        jax.block_until_ready(jnp.linalg.inv(jnp.eye(50)))
    for t in threads:
        t.join(timeout=60)
    assert not any(t.is_alive() for t in threads)
    for k, expected in enumerate(alone):
        assert torch.equal(found[k], expected)


def test_a_layer_is_pickled():
    """With what it was asked for."""
    again = pickle.loads(pickle.dumps(layer(sliding_ball.doubled, batched=True, dtype="float64")))
    x = torch.ones(3, 2, requires_grad=True)
    y = again(x)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.unique().item() == 2.0


WORKERS = """
import sys
import sliding_ball, torch
from torch.utils.data import DataLoader
from graftsim.interop.torch import layer
if __name__ == "__main__":
    double = layer(sliding_ball.doubled)
    double(torch.ones(2))
    loader = DataLoader(sliding_ball.Doubles(double), batch_size=2, num_workers=1,
                        multiprocessing_context=sys.argv[1])
    print([b.tolist() for b in loader])
"""


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_in_workers_of_a_data_loader(tmp_path, way):
    """Spawned ones work; forked ones say why not, and how, instead of waiting for ever."""
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    path = os.pathsep.join([str(Path(sliding_ball.__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, str(script), way],
        env=os.environ | {"PYTHONPATH": path, "JAX_ENABLE_X64": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if way == "spawn":
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "[[[0.0, 0.0], [2.0, 2.0]], [[4.0, 4.0], [6.0, 6.0]]]"
    else:
        assert done.returncode == 1
        assert "multiprocessing_context='spawn'" in done.stderr


def test_other_devices_and_batches_are_refused():
    """By what is wrong."""
    with pytest.raises(InteropError, match="on meta"):
        layer(sliding_ball.doubled)(torch.ones(2, device="meta"))
    for batched in ((True, False), (False,)):
        with pytest.raises(InteropError, match="one word for each"):
            layer(sliding_ball.doubled, batched=batched)(torch.ones(2))
