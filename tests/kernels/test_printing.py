"""A program is read as text: what people see of it says what it does."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from graftsim import kernels
from graftsim.errors import KernelError
from graftsim.kernels.ir.program import Program


def test_a_line_for_each_instruction():
    """Name, operation, operands, type; constants stand where they are used."""
    p = Program()
    a, b = p.phi("f64", False), p.phi("f64", False)
    product = p.mul(a, p.add(a, b))
    out = p.buffer("f64", 1, False, "output", 0)
    p.store(out, p.const(0, "i64"), p.sub(product, p.const(0.5, "f64")))
    assert str(p).splitlines() == [
        "output out0: f64[1]",
        "every tile:",
        "  %2 = add %0 %1 : f64",
        "  %3 = mul %0 %2 : f64",
        "  %6 = sub %3 0.5 : f64",
        "  out0[0] = %6",
    ]


def test_numbers_are_written_in_their_type():
    """A float32 with the digits that it has, bools as words, signs of zeros."""
    p = Program()
    a = p.phi("f32", False)
    c, d = p.phi("i1", False), p.phi("f64", False)
    p.mul(a, p.const(0.1, "f32"))
    p.apply("bxor", c, p.const(True, "i1"))
    p.apply("xadd", d, p.const(-0.0, "f64"))
    operands = re.findall(r"= \w+ %\d+ (\S+) : (\w+)", str(p).replace("0.1 %0", "%0 0.1"))
    assert operands == [("0.1", "f32"), ("true", "i1"), ("-0.0", "f64")]


def growth(x, rate):
    """A loop that a rate, known before it, is applied in."""

    def step(c, _):
        c = c * jnp.exp(rate)
        return c, c + 1.0

    return jax.lax.scan(step, x, None, length=500)


def test_a_loop_shows_what_goes_round_and_what_left_it():
    """Operations of the parameter alone stand before the loop, what is carried at its head."""
    text = kernels.show(growth, 1.0, 0.1)
    before, loop = text.split("  loop 500 times")
    assert " fma " in before and " fma " not in loop
    inside = [line for line in loop.splitlines() if line.startswith("    ")]
    phi, mul, add, store = inside
    start, following = re.fullmatch(r" +%\d+ = phi (%\d+), then (%\d+) : f64", phi).groups()  # pyright: ignore
    assert f"{start} = load in0[0] : f64" in before
    assert re.fullmatch(rf" +{following} = mul %\d+ %\d+ : f64", mul)
    assert re.fullmatch(rf" +%\d+ = add {following} 1\.0 : f64|.* add 1\.0 {following} : f64", add)
    assert re.fullmatch(r" +out1\[%\d+\] = %\d+", store)
    assert f"= last {following} : f64" in loop


def test_arguments_and_results_are_named():
    """As they are written in the function."""

    def f(state, gain):
        return {"speed": state["v"] * gain, "sum": jnp.sum(state["q"])}

    text = kernels.show(f, {"q": jnp.ones(3), "v": 2.0}, 0.5)
    for line in (
        "input in0: f64[3]  (state['q'])",
        "input in1: f64[1]  (state['v'])",
        "input in2: f64[1]  (gain)",
        "output out0: f64[1]  (result['speed'])",
        "output out1: f64[1]  (result['sum'])",
    ):
        assert line in text.splitlines()


def test_what_all_lanes_share_is_said():
    """Uniform where only shared arguments come in; nothing is uniform that differs."""
    text = kernels.show(lambda x, a: x * (a + 2.0), 1.0, 3.0, lanes=(True, False))
    assert re.search(r"= add .* : uniform f64", text)
    assert re.search(r"= mul .* : f64", text)
    assert "uniform" not in kernels.show(lambda x, a: x * (a + 2.0), 1.0, 3.0, lanes=True)
    assert text.startswith("#") and "simulations side by side" in text


def test_branches_and_library_calls():
    """Both sides of a real branch, and the C library where an argument is far out."""

    def f(x):
        def step(k, c):
            return jax.lax.cond(k > 2, lambda: jnp.sin(c), lambda: -c)

        return jax.lax.fori_loop(0, 5, step, x)

    text = kernels.show(f, 1.0)
    assert re.search(r"^    if %\d+:\n(      .*\n)+    else:\n", text, re.M)
    assert re.search(r"= sin of %\d+ where %\d+, else 0 : f64", text)
    assert re.search(r"= %\d+ or %\d+ : f64", text)


def test_a_loop_with_a_test():
    """The test stands inside the loop, what it guards below it."""
    text = kernels.show(
        lambda x: jax.lax.while_loop(lambda c: c < 100.0, lambda c: c * 3.0, x), 1.0, lanes=True
    )
    assert re.search(
        r"  loop while some lane goes on:\n    (.* = phi .*)\n    .* = lt .* : i1\n    if %\d+:\n",
        text,
    )


def test_networks_are_wide_in_one_simulation():
    """Units side by side."""
    w = jnp.linspace(-1.0, 1.0, 256).reshape(16, 16)
    text = kernels.show(lambda w, x: jnp.tanh(w @ x), w, jnp.ones(16))
    assert re.search(r"= pack .* : wide f64", text)
    assert re.search(r"= lane 3 of %\d+ : f64", text)


def test_llvm_text_is_what_the_kernel_is_made_of():
    """The same function, one level down; a kernel can be asked as well as a function."""
    text = kernels.show(growth, 1.0, 0.1, level="llvm")
    assert text.startswith("define void @kernel") or "\ndefine void @kernel" in text
    assert text == kernels.show(kernels.compile(growth, 1.0, 0.1), 1.0, 0.1, level="llvm")
    assert "x double>" in kernels.show(growth, 1.0, 0.1, level="llvm", lanes=True)


def test_what_is_not_needed_is_not_shown():
    """A value that no result needs is in the program, and not in the kernel."""
    text = kernels.show(lambda x: (jnp.exp(x), x + 1.0)[1], 1.0)
    assert " add " in text and " fma " not in text


def test_nonsense_is_refused():
    """What is wrong, and what there is."""
    with pytest.raises(KernelError, match=r"no level 'lvm'.*llvm"):
        kernels.show(growth, 1.0, 0.1, level="lvm")  # pyright: ignore
    with pytest.raises(KernelError, match="3 times yes or no, for 2 arguments"):
        kernels.show(growth, 1.0, 0.1, lanes=(True, True, False))
    with pytest.raises(KernelError, match="conv_general_dilated"):
        kernels.show(lambda x: jnp.convolve(x, x), jnp.ones(3))


def test_the_page_on_kernels_shows_what_is_compiled():
    """Its example, all but the width of this processor's vectors."""
    page = Path(__file__).parents[2] / "docs" / "kernels.md"
    blocks = re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    source = next(text for kind, text in blocks if kind == "python" and "def fall" in text)
    names = {"jax": jax, "jnp": jnp}
    exec(source.split("\n\nkernel = ")[0], names)
    shown = next(text for kind, text in blocks if kind == "text")
    found = kernels.show(names["fall"], 1.0, 0.1, lanes=(True, False))
    assert found.splitlines()[1:] == shown.splitlines()[1:]
