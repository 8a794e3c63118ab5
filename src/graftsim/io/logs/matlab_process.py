"""`python -m graftsim.io.logs.matlab_process FILE OUT`: arrays of a .mat file as an .npz file.

Prints the arrays' paths, and what is no array of numbers, as JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from graftsim.io.logs.damage import MOST_BYTES, check_size
from graftsim.io.logs.nested import leaves


def arrays_of(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays of one and two dimensions by the path of their structures; the rest, described.

    Raises: whatever SciPy or h5py stumble over.
    """
    import pymatreader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on objects, which are named as skipped
        for name, shape in _shapes(path):
            check_size(path, f"array {name!r}", int(np.prod(shape, dtype=float)), 8)
        content = pymatreader.read_mat(str(path))
    arrays, skipped = {}, []
    own = {name: value for name, value in content.items() if not name.startswith(("__", "#"))}
    for name, value in leaves(own, "."):
        try:
            array = np.asarray(value)
        except ValueError:  # lists of arrays of several lengths
            array = np.array(None)
        if array.ndim in (1, 2) and array.dtype.kind in "fiub" and array.size > 1:
            arrays[name] = array
        elif array.size > 1 or array.dtype.kind not in "fiubUS":
            skipped.append(f"{name} ({type(value).__name__}, shape {array.shape})")
    return arrays, skipped


def _shapes(path: Path) -> list[tuple[str, tuple[int, ...]]]:
    """Shapes that the file declares; none where SciPy cannot list them, as with objects."""
    import pymatreader

    try:
        return [(name, shape) for name, shape, _ in pymatreader.whosmat(str(path))]
    except TypeError:
        return []


def main(path: str, out: str) -> int:
    """Exit code 1 with a reason on standard error where the file cannot be read."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
    except (ImportError, OSError, ValueError):
        pass  # no such limits here: SciPy's own errors must do
    try:
        arrays, skipped = arrays_of(Path(path))
        np.savez(out, **{str(k): array for k, array in enumerate(arrays.values())})  # type: ignore[arg-type]
    except Exception as error:  # of many kinds: they all mean the same to the user
        said = " ".join(str(error).split()) or type(error).__name__
        print(said, file=sys.stderr)
        return 1
    print(json.dumps([list(arrays), skipped]))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
