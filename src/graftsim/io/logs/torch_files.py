"""Tensors that torch.save wrote, without torch: a zip archive, and a pickle of which only the few
names that tensors need are known. Nothing else in the pickle can be called.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, check_size, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.nested import leaves, nested_table
from graftsim.io.logs.tables import Table

_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
MOST_PICKLE = 64 * 2**20
"""Bytes of a pickle, which holds names and shapes but no numbers."""


@final
class TorchFile(LogFormat):
    """A dictionary of tensors, nested or not; as PACE and others keep their recordings."""

    name = "PyTorch"
    suffixes = (".pt", ".pth")

    def matches(self, path: Path) -> bool:
        """A zip archive with data.pkl in a folder."""
        if not begins_with(path, b"PK\x03\x04"):
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                return _pickle_of(archive) is not None
        except Exception:  # damaged: its name decides
            return False

    def read(self, path: Path) -> Table:
        """Tensors of one and two dimensions by the path of their keys, `robot.dof_pos`."""
        if not begins_with(path, b"PK\x03\x04"):
            raise LogError(
                f"{path}: is no zip archive, so not what torch.save has written since version "
                "1.6. Load it and save it again with a present torch, or save arrays by "
                "numpy.savez."
            )
        with reading(path, self.name), zipfile.ZipFile(path) as archive:
            place = _pickle_of(archive)
            if place is None:
                raise LogError(
                    f"{path}: there is no data.pkl in it, so torch.save did not write it."
                )
            if archive.getinfo(place).file_size > MOST_PICKLE:
                raise LogError(f"{path}, {place}: is too large for names and shapes.")
            with reading(path, self.name, place):
                content = _Tensors(path, archive, place).load()
        arrays, skipped = {}, []
        for name, value in leaves(content, "."):
            array = value if isinstance(value, np.ndarray) else np.array(None)
            if array.ndim in (1, 2) and array.size:
                arrays[name or "tensor"] = array
            else:
                skipped.append(f"{name or 'it'} ({type(value).__name__}, shape {array.shape})")
        if not arrays:
            raise LogError(f"{path}: there is no tensor of one or two dimensions in it.")
        return nested_table(arrays, str(path), ".", skipped)


def _pickle_of(archive: zipfile.ZipFile) -> str | None:
    found = [name for name in archive.namelist() if name.count("/") == 1]
    return next((name for name in found if name.endswith("/data.pkl")), None)


class _Tensors(pickle.Unpickler):
    """Reads the pickle of a torch archive; a name that no tensor needs is an error."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, place: str) -> None:
        super().__init__(io.BytesIO(archive.read(place)))
        self._path, self._archive = path, archive
        self._folder = place.rpartition("/")[0]
        order = f"{self._folder}/byteorder"
        big = order in archive.namelist() and archive.read(order) == b"big"
        self._big = big

    def find_class(self, module: str, name: str) -> Any:
        """One of the names that tensors need. Raises LogError for any other."""
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        known = {
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): _first,
            ("collections", "OrderedDict"): OrderedDict,
        }
        if (module, name) not in known:
            raise LogError(
                f"{self._path}: holds an object of {module}.{name}, which is not loaded: it would "
                "run code of the file. Save plain tensors, or arrays by numpy.savez."
            )
        return known[module, name]

    def persistent_load(self, pid: Any) -> np.ndarray:
        """The numbers of a storage, [n]."""
        kind, code, key, _, count = pid
        if kind != "storage" or not isinstance(code, str) or not isinstance(count, int):
            raise LogError(f"{self._path}: holds {kind!r}, which is no storage of a tensor.")
        place = f"{self._folder}/data/{key}"
        dtype = np.dtype((">" if self._big else "<") + code)
        check_size(self._path, place, count, dtype.itemsize)
        info = self._archive.getinfo(place)
        if info.file_size != count * dtype.itemsize:
            raise LogError(
                f"{self._path}, {place}: has {info.file_size} bytes where {count} numbers of "
                f"{dtype.itemsize} bytes are declared."
            )
        with reading(self._path, TorchFile.name, place):
            return np.frombuffer(self._archive.read(place), dtype)

    def _tensor(
        self, storage: np.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
        *_: Any,
    ) -> np.ndarray:  # fmt: skip
        """A view of a storage by offset, size and stride, in numbers."""
        if len(size) != len(stride) or min((offset, *size, *stride), default=0) < 0:
            raise LogError(f"{self._path}: a tensor of size {size} and stride {stride}.")
        if 0 in size:
            return np.zeros(size, storage.dtype)
        last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        count = int(np.prod(size, dtype=float))
        if last >= len(storage) or count > max(len(storage), 1):
            raise LogError(
                f"{self._path}: a tensor of size {size} declares more than its storage of "
                f"{len(storage)} numbers holds."
            )
        steps = [s * storage.dtype.itemsize for s in stride]
        view = np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)
        return view.copy()


def _first(tensor: Any, *_: Any) -> Any:
    """A parameter of a network is its tensor."""
    return tensor
