"""Kernels for processors that are not this one: assembled, and where this one can, run."""

import platform
import re
import struct
from dataclasses import replace

import jax
import jax.numpy as jnp
import llvmlite.binding as llvm
import numpy as np
import pytest
from agreement import agree

from graftsim import kernels
from graftsim.kernels import machine_code
from graftsim.kernels.codegen import machine, target
from graftsim.kernels.codegen.target import Target

X = np.random.default_rng(3).uniform(0.2, 1.5, (7, 40))
MAC = Target("arm64-apple-macosx14.0.0", "apple-m1")
ARM = Target("aarch64-unknown-linux-gnu")
BASE = Target("x86_64-unknown-linux-gnu", "x86-64")
INTEL_MAC = Target("x86_64-apple-macosx13.0", "haswell", "+avx,+avx2,+fma")
# By target: how an object begins, a vector register of its assembly, one that it lacks.
FORMS = {
    "Apple": (MAC, struct.pack("<II", 0xFEEDFACF, 0x0100000C), r"\.2d\s+v\d", "mm0"),
    "ARM": (ARM, b"\x7fELF\x02\x01", r"\bv\d+\.2d", "mm0"),
    "no AVX": (BASE, b"\x7fELF\x02\x01", r"%xmm\d", "%ymm"),
    "AVX": (INTEL_MAC, struct.pack("<II", 0xFEEDFACF, 0x01000007), r"%ymm\d", "%zmm"),
}
MACHINE_OF_ELF = {"ARM": 183, "no AVX": 62}
# What the entry asks of the system, and what compilers put in for operations without instruction.
SYSTEM = {"aligned_alloc", "free", "pthread_create", "pthread_join", "memcpy", "memset"}
LIBRARY = {"sin", "cos", "fma"}
# Names of functions and variables in assembly; constants of macOS hold CPI.
CALLED = re.compile(r"\b(?:callq?|bl|movabsq|adrp)\s+(?:x\d+, )?[$_]*(?!l?L?CPI)([A-Za-z]\w*)")


def busy(x, w):
    """A loop over rows, functions, a sum, a choice and a table that the loop fills."""

    def body(y, row):
        y = jnp.sin(y) * row + jnp.exp(-y * y) * w
        return jnp.where(y > 0.5, y, y + 0.1), jnp.tanh(y)

    y, ys = jax.lax.scan(body, x[:4], jnp.reshape(x, (10, 4)))
    return y, ys, jnp.sqrt(y.sum() + 4)


def assembly(text, wanted):
    """Of a module, for a target."""
    module, compiler = llvm.parse_assembly(text + machine.METADATA), wanted.machine()
    module.triple, module.data_layout = wanted.triple, str(compiler.target_data)
    return compiler.emit_assembly(module)


@pytest.fixture(scope="module")
def function():
    """Of one simulation, not yet compiled."""
    return kernels.compile(busy, X[0], 0.7).function


@pytest.mark.parametrize("many", [False, True], ids=["one", "lanes"])
@pytest.mark.parametrize("name", FORMS)
def test_objects_of_other_processors(function, name, many):
    """Of their form, with vectors of their width, and asking for nothing that they lack."""
    wanted, head, register, lacking = FORMS[name]
    lowered = machine_code.lower(function, (many, False), many, wanted)
    if many:
        assert lowered.layout.lanes == wanted.vector_bytes // 8
    text = machine_code.text(function, lowered)
    code = machine.object_file(text, wanted)
    assert code.startswith(head)
    if name in MACHINE_OF_ELF:
        assert struct.unpack_from("<H", code, 18)[0] == MACHINE_OF_ELF[name]
    lines = assembly(text, wanted)
    found = [bool(re.search(r, lines)) for r in (register, lacking)]
    assert found == [True, False]
    called = set(CALLED.findall(lines))
    own = set(re.findall(r"^define [^@]*@(\w+)", text, re.M))
    assert SYSTEM - {"memcpy", "memset"} <= called
    assert called - SYSTEM - LIBRARY - own <= {"message"}


def test_the_host_is_a_target_like_any_other(function):
    """Without a target, and with this machine's, the text is the same."""
    own = target.host()
    texts = [machine_code.lower(function, (True, False), True, t).module.text for t in (None, own)]
    assert texts[0] == texts[1]
    assert machine.object_file(texts[0], own)
    assert {replace(own, features=f).vector_bytes for f in ("", "+avx", "+avx,+avx512f")} == {
        16, 32, 64,
    }  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="runs what is made for x86-64")
def test_values_without_wide_vectors(monkeypatch):
    """The base of x86-64, on a processor that has more: the same numbers as JAX's."""
    base = replace(BASE, triple=target.host().triple)
    for module in (machine, machine_code):
        monkeypatch.setattr(module, "host", lambda: base)
    agree(busy, X, np.linspace(0.1, 1.0, 7), lanes=(1, 7))
