"""Every primitive that has a rule, on one simulation and in lanes, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxprs_in_params

from graftsim import kernels
from graftsim.kernels import machine_code  # noqa: F401  (its import registers the rules)
from graftsim.kernels.ir.trace import RULES
from graftsim.seldom import seldom

R = np.random.default_rng(4)
REAL = R.uniform(-2, 2, (9, 3, 4))
UNIT = R.uniform(-0.95, 0.95, (9, 3, 4))
POSITIVE = R.uniform(0.1, 3, (9, 3, 4))
WHOLE = R.integers(-7, 8, (9, 3, 4))
SPD = np.einsum("bij,bkj->bik", *[R.normal(size=(9, 4, 4))] * 2) + 3 * np.eye(4)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 2.5, 1e300])
BINARY = ("add", "sub", "mul", "div", "max", "min", "rem", "atan2",
          "lt", "le", "gt", "ge", "eq", "ne")  # fmt: skip
UNARY = ("neg", "abs", "sign", "floor", "ceil", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh",
         "asinh", "exp", "exp2", "expm1", "logistic", "erf", "erfc", "cbrt", "square",
         "is_finite")  # fmt: skip
# Primitives from JAX 0.12 on.
NEWER = {
    "log2": lambda: (lax.log2, (POSITIVE,)),
    "one_minus_square": lambda: (lax.one_minus_square, (REAL,)),
    "polynomial": lambda: (lambda x, y: lax.polynomial(x, (2.0, y, x[:1], 0.5)), (REAL, UNIT)),
}
CASES = {
    **{name: case() for name, case in NEWER.items() if hasattr(lax, f"{name}_p")},
    **{name: (getattr(lax, name), (REAL, POSITIVE)) for name in BINARY},
    **{f"{n} of whole numbers": (getattr(lax, n), (WHOLE, WHOLE[::-1]))
       for n in (*BINARY[:7], *BINARY[8:])},
    **{name: (getattr(lax, name), (REAL,)) for name in UNARY},
    **{name: (getattr(lax, name), (UNIT,)) for name in ("asin", "acos", "atanh", "erf_inv")},
    **{name: (getattr(lax, name), (POSITIVE,)) for name in ("log", "log1p", "sqrt", "rsqrt")},
    **{f"{n} of special": (getattr(lax, n), (SPECIAL,))
       for n in ("abs", "sign", "floor", "exp", "tanh", "is_finite", "neg")},
    "max of special": (lambda x: (lax.max(x, 0.0), lax.min(x, 0.0)), (SPECIAL,)),
    "acosh": (lambda x: lax.acosh(x + 1), (POSITIVE,)),
    "pow": (lax.pow, (POSITIVE, REAL)),
    "whole powers": (lambda x: (x**5, x**-3, x**0, jnp.power(x, 2.0)), (REAL,)),
    "round": (lambda x: (lax.round(x), lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
              (np.arange(-9, 9).reshape(9, 2) / 2,)),
    "clamp": (lambda x: lax.clamp(-0.5, x, 1.0), (REAL,)),
    "select": (lambda x, y: (jnp.where(x > 0, x, y), lax.select_n(jnp.int32(x[0, 0] > 0), x, y)),
               (REAL, UNIT)),
    "bits": (lambda x, y: (x & y, x | y, x ^ y, ~x, x << 2, x >> 1,
                           lax.shift_right_logical(x, jnp.full_like(x, 3))), (WHOLE, WHOLE[::-1])),
    "logic": (lambda x, y: ((x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0)),
              (REAL, UNIT)),
    "types": (lambda x: (x.astype(jnp.int32), x.astype(jnp.float32), (x > 0).astype(x.dtype),
                         x.astype(bool), lax.bitcast_convert_type(x, jnp.int64),
                         x.astype(jnp.int32).astype(jnp.uint32).astype(x.dtype)), (REAL,)),
    "identities": (lambda x: (jnp.copy(x), lax.stop_gradient(x), lax.reduce_precision(x, 11, 52),
                              lax.optimization_barrier(x)), (REAL,)),
    "shapes": (lambda x: (x.T, x.reshape(2, 6), x[None], jnp.squeeze(x[:1]), x[::-1], x[1:, ::2],
                          jnp.tile(x, (2, 1)), jnp.broadcast_to(x, (2, 3, 4))), (REAL,)),
    "joins": (lambda x, y: (jnp.concatenate([x, y], 1), jnp.stack([x, y], 1), jnp.split(x, 2, 1),
                            [r * 2 for r in jnp.unstack(x)]), (REAL, UNIT)),
    "pads": (lambda x: (lax.pad(x, 7.0, ((1, 2, 0), (0, 1, 2))), lax.pad(x, 0.0, ((-1, 1, 0),
                        (1, -2, 0)))), (REAL,)),
    "iota": (lambda x: x + lax.broadcasted_iota(x.dtype, (3, 4), 1), (REAL,)),
    "sums": (lambda x: (x.sum(), x.sum(0), x.prod(1), x.max(0), x.min(), (x > 0).all(0),
                        (x > 0).any()), (REAL,)),
    "exclusive or": (lambda x: lax.reduce_xor(x, (0,)), (WHOLE,)),
    "running": (lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 1),
                           lax.cummin(x, 0, reverse=True)), (REAL,)),
    "arg": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (REAL,)),
    "products": (lambda x, y: (x @ y.T, jnp.einsum("ij,ij->i", x, y), jnp.outer(x[0], y[1])),
                 (REAL, UNIT)),
    "gather": (lambda x, i: (x[i[0, 0] % 3], x[:, jnp.abs(i[0]) % 4], x.at[i[0]].get(mode="clip"),
                             x.at[i[0]].get(mode="fill", fill_value=5.0)), (REAL, WHOLE)),
    "scatter": (lambda x, i: (x.at[i[0]].add(1.0), x.at[:, i[0, 0]].set(3.0), x.at[1].mul(2.0),
                              x.at[i[:, 0], i[:, 1]].max(1.0), x.at[0].min(0.0),
                              x.at[2].subtract(1.0), x.at[i[0]].add(2.0, mode="clip")),
                (REAL, WHOLE)),
    "slices at run time": (lambda x, i: (lax.dynamic_slice(x, (i[0, 0], i[0, 1]), (2, 2)),
                                         lax.dynamic_update_slice(x, x[:2] * 2, (i[0, 0], 0))),
                           (REAL, WHOLE)),
    "sort": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1), -jnp.sort(-x[0])), (REAL,)),
    "sort of special": (lambda x: jnp.sort(jnp.stack([x, 0.3 * x, 1 - x])), (SPECIAL,)),
    "cholesky": (jnp.linalg.cholesky, (SPD,)),
    "triangular": (lambda a, b: (lax.linalg.triangular_solve(a, b.T, left_side=True, lower=True),
                                 lax.linalg.triangular_solve(a, b, lower=False, transpose_a=True)),
                   (SPD, REAL)),
    "solve": (lambda a, b: (jnp.linalg.solve(a, b[0]), jnp.linalg.inv(a), jnp.linalg.det(a)),
              (SPD, REAL)),
    "calls": (lambda x: (jax.jit(jnp.sin)(x), jax.nn.relu(x), jax.checkpoint(jnp.cos)(x),
                         jax.nn.softplus(x)), (REAL,)),
    "loops": (lambda x, i: (lax.scan(lambda c, r: (c + r, c * r), x[0], x),
                            lax.fori_loop(0, 4, lambda k, c: c * 0.5 + k, x),
                            lax.while_loop(lambda c: c[0] < i[0, 0], lambda c: (c[0] + 1, c[1] / 2),
                                           (0, x))[1]), (REAL, WHOLE)),
    "branches": (lambda x, i: (lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x),
                               lax.switch(i[0, 0], [jnp.sin, jnp.cos, jnp.tanh], x)),
                 (REAL, WHOLE)),
    "seldom": (lambda x: jax.jvp(lambda v: seldom(v[0] > 0, lambda v: jnp.sin(v) * v, v),
                                 (x[0],), (x[1],)), (REAL,)),
    "large": (lambda x: jnp.sum(jnp.sin(jnp.arange(40000.0) * x[0, 0]).reshape(200, 200) @
                                jnp.ones(200)), (UNIT,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_equals_jax(name):
    """One, and nine in lanes; relative to the largest element."""
    f, arrays = CASES[name]
    arrays = [jnp.asarray(a) for a in arrays]
    kernel = kernels.compile(f, *(a[0] for a in arrays))
    for ours, theirs in (
        (jax.vmap(kernel)(*arrays), jax.vmap(f)(*arrays)),
        (kernel(*(a[0] for a in arrays)), f(*(a[0] for a in arrays))),
    ):
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.dtype == b.dtype and a.shape == b.shape
            if b.dtype.kind in "iub":
                np.testing.assert_array_equal(a, b)
                continue
            size = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
            tiny = 1e-12 if b.dtype == np.float64 else 1e-6
            rtol = tiny if name.endswith("special") else 0
            np.testing.assert_allclose(a, b, rtol=rtol, atol=0 if rtol else tiny * size)


# Names that other versions of JAX give to primitives, and calls that only appear inside others.
ELSEWHERE = {
    *(NEWER.keys() - CASES.keys()),
    "pjit", "closed_call", "core_call", "eval_jaxpr", "custom_vjp_call_jaxpr", "custom_vjp_call",
    "checkpoint", "remat", "remat2", "copy_p", "pvary", "switch", "expand_dims", "scatter_add",
    "scatter_mul", "scatter_min", "scatter_max", "add_any", "reduce_or", "custom_linear_solve",
    "stop_gradient", "scatter_sub", "empty", "empty2", "dim_as_value",
}  # fmt: skip


def test_every_rule_is_met():
    """The cases above leave no rule out."""
    met = set()

    def walk(jaxpr):
        for eqn in jaxpr.eqns:
            met.add(eqn.primitive.name)
            for inner in jaxprs_in_params(eqn.params):
                walk(inner)

    for f, arrays in CASES.values():
        walk(jax.make_jaxpr(f)(*(jnp.asarray(a[0]) for a in arrays)))
    assert sorted(set(RULES) - met - ELSEWHERE) == []
