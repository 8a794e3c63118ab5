"""From LLVM text to code: in memory for this processor, as an object file for any."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import astuple
from typing import Any

from graftsim.kernels.codegen import cache as disk
from graftsim.kernels.codegen.target import Target, host

# Engines own the code: they live as long as the process.
_ENGINES: list[Any] = []
_ADDRESSES: dict[str, int] = {}
_LOCK = threading.Lock()
METADATA = '\n!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n'


def key_of(text: str) -> str:
    """Name of the machine code of a text on this processor with this compiler."""
    import llvmlite
    import llvmlite.binding as llvm

    parts = (text, *astuple(host()), llvmlite.__version__, str(llvm.llvm_version_info))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def assemble(text: str) -> tuple[int, str]:
    """Address of `handler`, and the key of the code. From the disk cache where it is there."""
    key = key_of(text)
    with _LOCK:
        if key in _ADDRESSES:
            return _ADDRESSES[key], key
        engine = _engine(text + METADATA)
        engine.set_object_cache(lambda _, code: disk.write(key, code), lambda _: disk.read(key))
        with disk.once(key):
            engine.finalize_object()
        return _address(engine, key), key


def load(key: str) -> int | None:
    """Address of the code of a key, if this process or the disk has it."""
    import llvmlite.binding as llvm

    with _LOCK:
        if key in _ADDRESSES:
            return _ADDRESSES[key]
        code = disk.read(key)
        if code is None:
            return None
        engine = _engine("")
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return _address(engine, key)


def object_file(text: str, target: Target) -> bytes:
    """Of a kernel's module, for a processor that need not be this one."""
    import llvmlite.binding as llvm

    module, machine = llvm.parse_assembly(text + METADATA), target.machine()
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    return machine.emit_object(module)


def _engine(text: str) -> Any:
    import llvmlite.binding as llvm

    return llvm.create_mcjit_compiler(llvm.parse_assembly(text), host().machine())


def _address(engine: Any, key: str) -> int:
    _ENGINES.append(engine)
    _ADDRESSES[key] = engine.get_function_address("handler")
    return _ADDRESSES[key]
