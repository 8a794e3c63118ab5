"""Functions that call the C library lane by lane."""

from __future__ import annotations

from graftsim.kernels.codegen.writer import LLVM, Writer


def helper(w: Writer, name: str, type: str, uniform: bool) -> str:
    """Name of a function of a value of a type that calls the library's `name` for each lane."""
    lanes = 1 if uniform else w.lanes
    label = f"slow_{name}_{type}_{lanes}"
    if label not in w.helpers:
        w.declare(name, "double", "double")
        w.helpers[label] = _text(label, name, w.vector(type, uniform), type, lanes)
    return label


def _text(label: str, name: str, t: str, type: str, lanes: int) -> str:
    out = [f"define internal {t} @{label}({t} %x) noinline cold {{"]
    result = "poison"
    for k in range(lanes):
        x = "%x"
        if lanes > 1:
            out.append(f"  %x{k} = extractelement {t} %x, i64 {k}")
            x = f"%x{k}"
        if type == "f32":
            out.append(f"  %d{k} = fpext float {x} to double")
            x = f"%d{k}"
        out.append(f"  %y{k} = call double @{name}(double {x})")
        y = f"%y{k}"
        if type == "f32":
            out.append(f"  %f{k} = fptrunc double {y} to float")
            y = f"%f{k}"
        if lanes > 1:
            out.append(f"  %v{k} = insertelement {t} {result}, {LLVM[type]} {y}, i64 {k}")
            y = f"%v{k}"
        result = y
    out.append(f"  ret {t} {result}\n}}")
    return "\n".join(out)
