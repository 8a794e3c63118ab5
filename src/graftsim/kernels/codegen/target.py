"""What machine code is made for: a processor and a system, as LLVM names them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Target:
    """The triple says architecture and system, and so calling convention and form of objects.

    Features are those of LLVM, "+avx,-avx512f" say; what is not named is as the processor has it.
    """

    triple: str
    processor: str = "generic"
    features: str = ""

    @property
    def vector_bytes(self) -> int:
        """Width of the widest vector registers: 16 where only the base of x86-64 or NEON is."""
        features = set(self.features.split(","))
        if "+avx512f" in features:
            return 64
        if "+avx" in features:
            return 32
        return 16

    def machine(self) -> Any:
        """LLVM's compiler for it."""
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.processor, features=self.features, opt=2
        )


@cache
def host() -> Target:
    """The processor that runs this process."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    # All features of the host, 512-bit vectors included: kernels are almost only vector arithmetic.
    return Target(llvm.get_default_triple(), llvm.get_host_cpu_name(), features.flatten())
