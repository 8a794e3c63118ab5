"""What is known of machine code beside the code itself, kept on disk: no jaxpr is lowered twice.

Machine code is kept by its LLVM text (`codegen.cache`), which takes longer to write than anything
else in a process that finds the code there. So how a kernel is called is kept too, by what the text
is made of: the jaxpr, what is known of its arguments, which of them differ between lanes, and this
compiler, by its sources.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from graftsim.kernels.codegen import cache as disk, machine
from graftsim.kernels.ir.fingerprint import digest, fingerprint, of_array


@cache
def _compiler() -> str:
    """Digest of the sources of all that makes code of a jaxpr, and of JAX's version."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return digest(jax.__version__, *(f"{path.name}\0{path.read_text()}" for path in files))


def name(
    closed: Any,
    known: Sequence[np.ndarray | None],
    batched: Sequence[bool],
    many: bool,
) -> str | None:
    """Of the code of a jaxpr; None: it has none, or nothing is kept.

    known, batched, many: as `Function` has them.
    """
    if disk.folder() is None:
        return None
    whole = fingerprint(closed)
    if whole is None:
        return None
    numbers = ("" if x is None else of_array(x) for x in known)
    return digest(_compiler(), machine.key_of(whole), *numbers, repr((tuple(batched), many)))


def read(key: str | None) -> Any:
    """What was kept under a name, if its machine code is there too; else None."""
    content = None if key is None else disk.read(key)
    if content is None:
        return None
    code, machine_key = pickle.loads(content)
    return code if machine.load(machine_key) is not None else None


def write(key: str | None, code: Any, machine_key: str) -> None:
    """Keep `code` beside the machine code that it calls."""
    if key is not None:
        disk.write(key, pickle.dumps((code, machine_key)))
