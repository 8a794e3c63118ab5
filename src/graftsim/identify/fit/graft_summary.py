"""What trained grafts do: how much they give, on what they depend, and the curves they learned."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.identify.problem.graft_scales import follow
from graftsim.identify.problem.parameters import SimulatorAndSensors
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import Windows
from graftsim.identify.results.result import QUANTILE, Curve, GraftSummary

POINTS = 101
# So many inputs, spread over the data, are looked at.
SAMPLES = 2000
# The range of a curve leaves out this share of the data at either end.
EDGE = 0.005


def summarise(
    problem: Problem,
    fitted: SimulatorAndSensors,
    windows: Windows,
    covariance: np.ndarray,
) -> tuple[GraftSummary, ...]:
    """Summaries of the grafts of a fitted simulator, along the windows it was fitted to."""
    grafts = fitted.simulator.grafts
    if not isinstance(grafts, BoundGrafts):
        return ()
    seen = visited(fitted.simulator, windows)
    found = []
    for graft in grafts.grafts:
        if graft.recurrent:
            continue
        label = graft.label
        names = [f"graft.{label}.{i}" for i in range(len(graft.trainable))]
        places = {n: i for i, n in enumerate(problem.parameters.names)}
        where = np.array([places[n] for n in names if n in places], int)
        cov = covariance[np.ix_(where, where)] if len(where) else np.zeros((0, 0))
        x, values = seen[label]
        found.append(_summary(graft, x, values, cov))
    return tuple(found)


def visited(simulator: Simulator, windows: Windows) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each graft its inputs [n, R, k] along the windows, and values of its targets [n, R, m].

    Windows whose simulation diverges are left out.
    """
    grafts = simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    record = tuple(f"inputs.{g.label}" for g in grafts.grafts) + tuple(
        sorted({t.name for g in grafts.grafts for t in g.wiring.targets})
    )
    run = follow(simulator, windows, record, len(windows))
    recorded = {k: np.asarray(v) for k, v in run.recorded.items()}
    out = {}
    for g in grafts.grafts:
        x = recorded[f"inputs.{g.label}"].reshape(-1, g.wiring.rows, len(g.wiring.columns))
        parts = []
        for t in g.wiring.targets:
            flat = recorded[t.name].reshape(-1, *t.shape)
            parts.append(np.asarray(jax.vmap(t.select)(jnp.asarray(flat))))
        values = np.concatenate(parts, -1)
        good = np.isfinite(x).all((1, 2)) & np.isfinite(values).all((1, 2))
        chosen = np.flatnonzero(good)
        if len(chosen) > SAMPLES:
            chosen = chosen[np.linspace(0, len(chosen) - 1, SAMPLES).astype(int)]
        out[g.label] = (x[chosen], values[chosen])
    return out


def _summary(
    graft: BoundGraft, x: np.ndarray, values: np.ndarray, covariance: np.ndarray
) -> GraftSummary:
    w = graft.wiring

    def f(x: Any) -> Any:
        return graft(x)[0]

    y = np.asarray(jax.vmap(f)(x), float)
    # Each row's outputs depend on its own inputs alone, so summing over rows mixes nothing.
    slopes = np.asarray(jax.vmap(jax.jacfwd(f))(x), float)
    slopes = np.abs(np.einsum("nrmrk->nrmk", slopes))
    middle = np.median(x, 0)
    reach = np.zeros((w.rows, y.shape[-1], len(w.columns)))
    for k in range(len(w.columns)):
        held = x.copy()
        held[..., k] = middle[:, k]
        reach[..., k] = np.sqrt(np.mean((y - np.asarray(jax.vmap(f)(held))) ** 2, 0))
    names = tuple(c for t in w.targets for c in t.columns)
    units = tuple(u for t in w.targets for u in t.units)
    return GraftSummary(
        label=w.label,
        mode=w.mode,
        targets=tuple(t.name for t in w.targets),
        outputs=names,
        output_units=("1",) * len(names) if w.mode == "scale" else units,
        columns=w.columns,
        units=w.units,
        rows=w.row_labels,
        weights=int(graft.trainable.shape[0]),
        output_rms=np.sqrt(np.mean(y**2, 0)),
        value_rms=np.sqrt(np.mean(values**2, 0)),
        sensitivity=slopes.mean(0),
        reach=reach,
        curves=_curves(graft, x, middle, covariance),
    )


def _curves(
    graft: BoundGraft, x: np.ndarray, middle: np.ndarray, covariance: np.ndarray
) -> tuple[Curve, ...]:
    """A curve for each row, output and input; one for all rows that share inputs and network."""
    w, found = graft.wiring, []
    names = [c for t in w.targets for c in t.columns]
    units = ["1" if w.mode == "scale" else u for t in w.targets for u in t.units]
    rows = [0] if w.shared and w.rows > 1 else range(w.rows)
    vector = graft.trainable
    pooled = x.reshape(-1, x.shape[-1])

    @jax.jit
    def outputs(vector: Any, points: Any) -> Any:
        return jax.vmap(lambda p: graft.with_trainable(vector)(p)[0])(points)

    for row in rows:
        data = pooled if len(rows) == 1 else x[:, row]
        others = np.median(data, 0)
        for k, column in enumerate(w.columns):
            low, high = np.quantile(data[:, k], [EDGE, 1 - EDGE])
            grid = np.linspace(low, high, POINTS)
            points = np.broadcast_to(middle, (POINTS, *middle.shape)).copy()
            points[:, row] = others
            points[:, row, k] = grid
            y = np.asarray(outputs(vector, jnp.asarray(points, vector.dtype)), float)[:, row]
            spread = np.zeros_like(y)
            if covariance.size and np.isfinite(covariance).all():
                J = jax.jacfwd(outputs)(vector, jnp.asarray(points, vector.dtype))
                J = np.asarray(J, float)[:, row]
                spread = np.sqrt(np.maximum(np.sum(J @ covariance * J, -1), 0))
            for m, name in enumerate(names):
                half = QUANTILE * spread[:, m]
                found.append(
                    Curve(
                        "" if w.shared else w.row_labels[row],
                        column,
                        name,
                        w.units[k],
                        units[m],
                        grid,
                        y[:, m],
                        y[:, m] - half,
                        y[:, m] + half,
                        tuple(map(float, others)),
                    )
                )
    return tuple(found)
