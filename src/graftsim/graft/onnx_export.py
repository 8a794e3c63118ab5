"""Grafts as ONNX files, for runtimes without JAX: physical inputs in, physical outputs out."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np

from graftsim.engine import Simulator
from graftsim.errors import GraftsimError, VariableError, suggest
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.onnx_graph import Function, Graph, can_write, finished
from graftsim.graft.structure import Frame
from graftsim.graft.wiring import Computed

_MODES = {
    "add": "y is added to the target.",
    "scale": "The target is multiplied by 1 + y.",
    "replace": "y takes the place of the target.",
}


def export_onnx(
    simulator: Simulator, folder: str | Path, *, graft: str | None = None, dtype: Any = None
) -> tuple[Path, ...]:
    """Write each graft of a simulator, or the one of that name, as an ONNX file (opset 17).

    A file maps `x` [batch, n_in], raw inputs in physical units, to `y` [batch, n_out]; scales and
    structures are inside. One file has the networks of all rows: those with a network each take
    `x` [R, n_in], in the order of `rows` in its metadata. A network with memory also maps `h`
    [batch, size], zero at first, to `h_next`. Columns and units are in the metadata.

    dtype: "float32" or "float64", by default the simulator's. Returns the files, named by grafts.
    Raises GraftsimError: onnx is not installed; VariableError: no such graft, or a network or
    structure without `to_onnx`.
    """
    if importlib.util.find_spec("onnx") is None:
        raise GraftsimError("Writing ONNX needs onnx. Install with: pip install 'graftsim[onnx]'")
    grafts = simulator.grafts
    if not isinstance(grafts, BoundGrafts):
        raise VariableError("This simulator has no graft to export.")
    if graft is not None and graft not in grafts.labels:
        raise VariableError(f"There is no graft named '{graft}'. {suggest(graft, grafts.labels)}")
    precision = np.dtype(simulator.dt.dtype if dtype is None else dtype)
    if precision not in (np.float32, np.float64):
        raise GraftsimError(f"ONNX files are in float32 or float64, not in {precision}.")
    chosen = [g for g in grafts.grafts if graft in (None, g.label)]
    # All are made before the first is written: a graft that cannot be leaves nothing behind.
    models = [_model(g, simulator, precision) for g in chosen]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for g, model in zip(chosen, models, strict=True):
        stem = re.sub(r"[^\w.+-]+", "_", g.label).strip("_") or "graft"
        path, n = folder / f"{stem}.onnx", 2
        while path in paths:
            path, n = folder / f"{stem}_{n}.onnx", n + 1
        part = path.with_name(path.name + ".part")
        part.write_bytes(model.SerializeToString())
        os.replace(part, path)
        paths.append(path)
    return tuple(paths)


def _model(graft: BoundGraft, simulator: Simulator, dtype: np.dtype) -> Any:
    w, g = graft.wiring, Graph(dtype)
    rows = None if w.shared else w.rows
    value = g.Div("x", g.constant(np.asarray(graft.input_scale), "input_scale"))
    value = value if rows is None else g.Unsqueeze(value, np.array([1]))
    inputs, outputs = {"x": len(w.columns)}, {"y": graft.output_scale.shape[0]}
    ends = {}
    network = _writable(graft)
    if graft.recurrent:
        memory = "h" if rows is None else g.Unsqueeze("h", np.array([1]))
        value, ends["h_next"] = network.to_onnx(g)(value, memory)
        inputs["h"] = outputs["h_next"] = _memory_size(graft)
    else:
        value = _structured(graft, g, network.to_onnx(g), rows).value(value)
    ends["y"] = g.Mul(value, g.constant(np.asarray(graft.output_scale), "output_scale"))
    if rows is not None:
        ends = {name: g.Squeeze(end, np.array([1])) for name, end in ends.items()}
    into, out = ({n: (rows or "batch", k) for n, k in side.items()} for side in (inputs, outputs))
    return finished(g, ends, into, out, _metadata(graft, simulator))


def _writable(graft: BoundGraft) -> Any:
    """The network, if it can say itself in ONNX."""
    if not can_write(type(graft.form), "__call__"):
        raise VariableError(
            f"Graft '{graft.label}': a network of class {type(graft.form).__name__} cannot be "
            "written as ONNX; MLP, GRU and Library can, and a class with a to_onnx of its own."
        )
    return graft.network


def _structured(graft: BoundGraft, g: Graph, f: Function, rows: int | None) -> Function:
    """The network inside its structures, in scaled terms."""
    scales = np.asarray(graft.input_scale), np.asarray(graft.output_scale)
    frame = Frame(graft.wiring.slices, *scales, len(scales[1]))
    for s in graft.wiring.structure:
        wrapped = s.to_onnx(g, f, frame, rows) if can_write(type(s), "wrap") else None
        if wrapped is None:
            raise VariableError(f"The structure {type(s).__name__} cannot be written as ONNX here.")
        f = wrapped
    return f


def _memory_size(graft: BoundGraft) -> int:
    """Numbers that a row remembers; the file has them in one vector."""
    leaves = jax.tree.leaves(graft.memory())
    if len(leaves) != 1 or leaves[0].ndim != 2:
        raise VariableError(
            f"Graft '{graft.label}': in ONNX, a memory is one vector; it has the shapes "
            f"{[x.shape[1:] for x in leaves]}."
        )
    return leaves[0].shape[-1]


def _metadata(graft: BoundGraft, simulator: Simulator) -> dict[str, str]:
    """What the numbers are, in texts; lists as JSON."""
    w = graft.wiring
    units = [u for t in w.targets for u in t.units]
    lists = {
        "target": w.selectors,
        "rows": w.row_labels,
        "columns": w.columns,
        "units": w.units,
        "output_columns": [c for t in w.targets for c in t.columns],
        "output_units": ["1"] * len(units) if w.mode == "scale" else units,
    }
    texts = {
        "graft": w.label,
        "robot": simulator.model.name,
        "dt": f"{float(simulator.dt):.9g}",
        "mode": w.mode,
        "note": " ".join([_MODES[w.mode], *_notes(graft)]),
    }
    return texts | {k: json.dumps(v) for k, v in lists.items()}


def _notes(graft: BoundGraft) -> list[str]:
    """What a user of the file has to do beside it."""
    w, notes = graft.wiring, []
    if graft.recurrent:
        notes.append("h is zero at first, and h_next of the step before, once every dt seconds.")
    computed = [t for t, i in zip(w.texts, w.inputs, strict=True) if isinstance(i, Computed)]
    if computed:
        notes.append(
            f"x has results of functions that are not in this file: {', '.join(computed)}."
        )
    if any(s.previous for s in w.sources):
        notes.append("Columns with @prev have the value of the step before, zero at first.")
    return notes + [s.onnx_note for s in w.structure if s.onnx_note]
