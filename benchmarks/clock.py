"""Cycles per second of this core under load, by timing additions that wait for each other."""

from __future__ import annotations

import ctypes
import statistics
import time

PAIRS = 64  # of additions and exclusive ors in a turn of the loop, a cycle each

_IR = """
define i64 @chain(i64 %turns, i64 %a, i64 %b) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x0 = phi i64 [ %a, %entry ], [ %x{last}, %loop ]
{body}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %loop, label %done
done:
  ret i64 %x{last}
}}
"""


def cycles_per_second(turns: int = 200_000, repeats: int = 7) -> float:
    """The median of several tries of about 10 ms."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    body = "\n".join(
        f"  %x{i + 1} = {'add' if i % 2 == 0 else 'xor'} i64 %x{i}, {'%b' if i % 2 == 0 else '%a'}"
        for i in range(2 * PAIRS)
    )
    module = llvm.parse_assembly(_IR.format(body=body, last=2 * PAIRS))
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * 3)
    run = signature(engine.get_function_address("chain"))
    rates = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run(turns, 12345, 98765)
        rates.append(2 * PAIRS * turns / (time.perf_counter() - began))
    return statistics.median(rates[1:])
