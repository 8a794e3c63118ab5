"""From LLVM text to code in memory, for the processor that runs it."""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from typing import Any

from graftsim.kernels.codegen import cache as disk

# Engines own the code: they live as long as the process.
_ENGINES: list[Any] = []
_ADDRESSES: dict[str, int] = {}
_LOCK = threading.Lock()
METADATA = '\n!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n'


@cache
def host() -> tuple[str, str]:
    """Processor name and features, as LLVM names them."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    # All features of the host, 512-bit vectors included: kernels are almost only vector arithmetic.
    return llvm.get_host_cpu_name(), features.flatten()


@cache
def vector_bytes() -> int:
    """Width of the widest vector registers."""
    features = set(host()[1].split(","))
    if "+avx512f" in features:
        return 64
    if "+avx" in features:
        return 32
    return 16


def key_of(text: str) -> str:
    """Name of the machine code of a text on this processor with this compiler."""
    import llvmlite
    import llvmlite.binding as llvm

    parts = (text, *host(), llvmlite.__version__, str(llvm.llvm_version_info))
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


def _engine(text: str) -> Any:
    import llvmlite.binding as llvm

    cpu, features = host()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=2
    )
    return llvm.create_mcjit_compiler(llvm.parse_assembly(text), target)


def _address(engine: Any, key: str) -> int:
    _ENGINES.append(engine)
    _ADDRESSES[key] = engine.get_function_address("handler")
    return _ADDRESSES[key]
