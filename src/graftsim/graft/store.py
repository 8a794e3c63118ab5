"""Grafts as files: weights and scales in one .safetensors, the blueprint as JSON in its header."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from graftsim.engine import Simulator
from graftsim.errors import FileError, GraftsimError, GraftsimWarning, VariableError
from graftsim.graft.blueprint import Blueprint
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.description import describe, differences, graft_of, undescribed

VERSION = 1
_FORMAT = "graftsim grafts"


def save_grafts(simulator: Simulator, path: str | Path) -> None:
    """Write the grafts of a simulator, weights, scales and blueprint, to one .safetensors file.

    The file is written whole or not at all. Raises VariableError: there is no graft; FileError:
    another ending than .safetensors.
    """
    path, grafts = Path(path), simulator.grafts
    if not isinstance(grafts, BoundGrafts):
        raise VariableError("This simulator has no graft to save.")
    if path.suffix != ".safetensors":
        raise FileError(f"{path}: grafts are written to a file that ends in .safetensors.")
    arrays = {name: x for g in grafts.grafts for name, x in _arrays(g).items()}
    # Contiguous, because the format takes the buffer as it lies in memory.
    arrays = {name: np.array(x, order="C") for name, x in arrays.items()}
    content = {
        "robot": simulator.model.name,
        "dt": float(simulator.dt),
        "grafts": [describe(g) for g in grafts.grafts],
    }
    header = {"format": _FORMAT, "version": str(VERSION), "content": json.dumps(content)}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(save(arrays, header))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def describe_grafts(path: str | Path) -> dict[str, Any]:
    """What a file of grafts says: robot, dt (s), and of each graft all but its numbers.

    Reads the header only. Raises FileError: no file of grafts, cut off, of a newer version.
    """
    return _read(Path(path), numbers=False)[0]


def load_grafts(
    simulator: Simulator, path: str | Path, blueprint: Blueprint | None = None
) -> Simulator:
    """The simulator with the grafts of a file, in place of those that it has.

    Numbers take the simulator's precision. `blueprint`: the one that the grafts were made from,
    needed where it contains a user's own module, structure or `Feature`, which a file cannot hold;
    weights and scales are the file's in any case.

    Raises FileError: no file of grafts, cut off, of a newer version; grafts that do not fit this
    robot or this blueprint, with the rows, columns and units that differ.
    """
    path = Path(path)
    content, arrays = _read(path, numbers=True)
    with _parsing(path):
        about = f"{path} (robot '{content['robot']}', here '{simulator.model.name}')"
        entries = {e["name"]: e for e in content["grafts"]}
        blueprint = _blueprint(path, entries, blueprint)
    bound = _bind(about, simulator, blueprint)
    with _parsing(path):
        wrong = [
            f"  graft '{g.label}': {line}"
            for g in bound.grafts
            for line in differences(entries[g.label], describe(g))
        ]
        if wrong:
            raise FileError("\n".join([f"{about} does not fit:", *wrong]))
        grafts = tuple(_filled(about, g, entries[g.label], arrays) for g in bound.grafts)
    _warn(content, simulator, grafts)
    return replace(simulator, grafts=BoundGrafts(grafts, bound.previous))


def _read(path: Path, *, numbers: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Content of the header, and the arrays if they are wanted."""
    if not path.is_file():
        raise FileError(f"{path}: there is no such file.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {k: file.get_tensor(k) for k in file.keys()} if numbers else {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise FileError(f"{path}: no .safetensors file, or one that is cut off: {error}") from error
    if header.get("format") != _FORMAT:
        raise FileError(f"{path} has no grafts: it was not written by graftsim.save_grafts.")
    with _parsing(path):
        if int(header["version"]) > VERSION:
            raise FileError(
                f"{path}: written by a newer graftsim (format {header['version']}; this one reads "
                f"up to {VERSION}). Update graftsim."
            )
        return json.loads(header["content"]), arrays


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    """A header that is not as it was written."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{path}: its header is damaged ({error!r}).") from error


def _blueprint(
    path: Path, entries: Mapping[str, Mapping[str, Any]], given: Blueprint | None
) -> Blueprint:
    """The blueprint of a file, or the given one if it has the same grafts in the same order."""
    if given is not None:
        labels = [g.label for g in given]
        if labels != list(entries):
            raise FileError(
                f"{path} has the grafts {', '.join(entries)}; the blueprint has "
                f"{', '.join(labels)}."
            )
        return given
    own = [f"  graft '{n}': {part}" for n, e in entries.items() for part in undescribed(e)]
    if own:
        raise FileError(
            "\n".join(
                [
                    f"{path} has numbers for your own code, which a file cannot hold. Give "
                    "load_grafts(..., blueprint=...) the blueprint that these were made from:",
                    *own,
                ]
            )
        )
    return Blueprint(*(graft_of(e) for e in entries.values()))


def _bind(about: str, simulator: Simulator, blueprint: Blueprint) -> BoundGrafts:
    try:
        return blueprint.bind(replace(simulator, grafts=None))
    except GraftsimError as error:
        raise FileError(f"{about} does not fit: {error}") from error


def _arrays(graft: BoundGraft) -> dict[str, Any]:
    """All numbers of a graft by name."""
    found = {
        f"{graft.label}/weights{jax.tree_util.keystr(place)}": x
        for place, x in jax.tree_util.tree_leaves_with_path(graft.weights)
    }
    scales = {"input_scale": graft.input_scale, "output_scale": graft.output_scale}
    return found | {f"{graft.label}/{k}": x for k, x in scales.items()}


def _filled(
    about: str, graft: BoundGraft, entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> BoundGraft:
    """A graft with the numbers of a file."""
    wrong, new = [], []
    for name, x in _arrays(graft).items():
        found = arrays.get(name)
        if found is None or found.shape != x.shape or found.dtype.kind != x.dtype.kind:
            there = "nothing" if found is None else f"{found.dtype} {list(found.shape)}"
            wrong.append(f"  {name}: {there} in the file, {x.dtype} {list(x.shape)} here")
        else:
            new.append(jnp.asarray(found, x.dtype))
    if wrong:
        raise FileError("\n".join([f"{about}: weights of other shapes:", *wrong]))
    *weights, input_scale, output_scale = new
    known = tuple(c["settled"] for i in entry["inputs"] for c in i["columns"])
    return BoundGraft(
        replace(graft.wiring, scaled=(known, all(c["settled"] for c in entry["outputs"]))),
        graft.form,
        jax.tree.unflatten(jax.tree.structure(graft.weights), weights),
        input_scale,
        output_scale,
    )


def _warn(content: Mapping[str, Any], simulator: Simulator, grafts: tuple[BoundGraft, ...]) -> None:
    """What fits by its names, and may yet mean something else."""
    if content["robot"] != simulator.model.name:
        warnings.warn(
            f"The grafts were saved for robot '{content['robot']}' and are put on "
            f"'{simulator.model.name}', whose rows and units are the same.",
            GraftsimWarning,
            stacklevel=3,
        )
    remember = [g.label for g in grafts if g.recurrent or any(s.previous for s in g.wiring.sources)]
    there, here = float(content["dt"]), float(simulator.dt)
    if remember and abs(there - here) > 1e-6 * there:
        warnings.warn(
            f"The memory of {', '.join(remember)} advances once a step; the file has dt = "
            f"{there:.6g} s, the simulator {here:.6g} s.",
            GraftsimWarning,
            stacklevel=3,
        )
