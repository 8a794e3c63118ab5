"""The shape of the source: sizes, arguments, circles, floors, and what an extension touches.

    python benchmarks/structure.py [--checkout FOLDER ...] [--json FILE]

Read from the syntax trees alone, nothing is imported, so another checkout (an older commit) is
measured beside this one. A circle is a set of modules that import each other, imports within
functions included. The floors of a package are the longest chain of imports within it, once of its
modules and once of its folders. What an extension touches is counted on one that exists: the
source files whose code, docstrings aside, spells its name.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from statistics import median

from graftsim.targets import write_json

HERE = Path(__file__).resolve().parents[1]
LONG, MANY, MOST = 60, 7, 9  # lines of a function; parameters, and parameters at most
LINES = 500
# What exists of each kind, by the words that its files must spell.
EXTENSIONS = {
    "joint type": r"spherical|_?Spherical",
    "contact law": r"lcp|LinearComplementarity",
    "sensor": r"link\.heading|_?Heading",
    "local optimiser": r"lbfgs|LBFGS",
    "global search": r"cmaes|CMAES",
    "log format": r"\.?parquet|\.parquet",
    "robot format": r"urdf|(read|write)_urdf",
    "shape": r"ellipsoid|Ellipsoid",
    "graft network": r"mlp|MLP",
    "kernel primitive": r"erf_inv",
}
# The bases of strategies: their subclasses should act and not be asked what they are.
STRATEGIES = re.compile(
    r"(ContactLaw|ForceLaw|ImpulseLaw|Integrator|Euler|JointType|Sensor|LocalSolver|GlobalSearch|"
    r"SupervisedLoss|Loss|LogFormat|Preset|RobotFormat|Friction)"
)
# Strategies of the estimation that have no common base in older checkouts.
OPTIONS = {
    "GaussNewton", "LevenbergMarquardt", "LM", "LBFGS", "Adam", "BasinHopping", "RandomRestarts",
    "DifferentialEvolution", "CMAES", "Archipelago", "RungeKutta4", "SpringDamper",
    "SemiImplicitEuler", "ImplicitDamping", "Complementarity", "LinearComplementarity",
}  # fmt: skip


class Module:
    """One file of the source: its tree, its lines, what it imports of the package."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.place = path, path.relative_to(root)
        parts = (root.name, *self.place.with_suffix("").parts)
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def package(self) -> str:
        return self.place.parts[0] if len(self.place.parts) > 1 else "."

    def imported(self) -> Iterator[tuple[str, str]]:
        """Module and name of each import, not those for type checkers only."""
        for node in ast.walk(_without_type_checking(self.tree)):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]

    @cached_property
    def words(self) -> set[str]:
        """Names and strings of the code; docstrings are none of it."""
        documents = {id(d) for d in map(_docstring, ast.walk(self.tree)) if d is not None}
        words: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                words.add(node.id)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.alias):
                words.update(node.name.split("."))
            elif isinstance(node, ast.ClassDef | ast.FunctionDef):
                words.add(node.name)
            elif isinstance(node, ast.Constant) and id(node) not in documents:
                words.update(re.findall(r"[\w.]+", str(node.value)))
        return words


def _docstring(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not node.body:
        return None
    first = node.body[0]
    return (
        first.value
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        else None
    )


def _without_type_checking(tree: ast.Module) -> ast.Module:
    """The tree without `if TYPE_CHECKING:`, which imports nothing at run time."""

    class Cut(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            named = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return None if named else self.generic_visit(node)

    return Cut().visit(ast.parse(ast.unparse(tree)))


def arrows(modules: list[Module]) -> dict[str, set[str]]:
    """Module -> the modules that it imports, of the package's own."""
    names = {m.name for m in modules}
    found: dict[str, set[str]] = {}
    for m in modules:
        targets = {
            f"{module}.{name}" if f"{module}.{name}" in names else module
            for module, name in m.imported()
        }
        found[m.name] = {t for t in targets if t in names and t != m.name}
    return found


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected sets, those that others stand on first (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        number[v] = low[v] = len(number)
        stack.append(v)
        for w in sorted(graph[v]):
            if w not in number:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == number[v]:
            cut = stack.index(v)
            found.append(stack[cut:])
            del stack[cut:]

    for v in sorted(graph):
        if v not in number:
            visit(v)
    return found


def floors(graph: dict[str, set[str]]) -> int:
    """The longest chain of imports; those of a circle share a floor."""
    floor: dict[str, int] = {}
    for together in components(graph):
        below = {floor[w] for v in together for w in graph[v] if w in floor}
        for v in together:
            floor[v] = 1 + max(below, default=0)
    return max(floor.values(), default=0)


def within(graph: dict[str, set[str]], package: str, *, folders: bool) -> dict[str, set[str]]:
    """The part of a package, its __init__ (which only gathers) aside."""
    own = {v for v in graph if v.startswith(package + ".")}
    if not folders:
        return {v: graph[v] & own for v in own}

    def folder(v: str) -> str:
        return v.removeprefix(package + ".").split(".")[0]

    found: dict[str, set[str]] = {folder(v): set() for v in own}
    for v in own:
        found[folder(v)] |= {folder(w) for w in graph[v] & own} - {folder(v)}
    return found


def _parameters(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = f.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    return sum(x.arg not in ("self", "cls") for x in named)


def _strategies(modules: list[Module]) -> set[str]:
    """Names of the classes that are methods to choose from."""
    found = set(OPTIONS)
    for m in modules:
        for node in ast.walk(m.tree):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(b).split(".")[-1] for b in node.bases}
                if any(STRATEGIES.fullmatch(b) for b in bases):
                    found.add(node.name)
    return found


def _asked(m: Module, strategies: set[str]) -> Iterator[str]:
    """Where a strategy that another module defines is asked what it is."""
    own = {node.name for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(m.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            names = set(re.findall(r"\w+", ast.unparse(node.args[1])))
            if names & strategies - own:
                yield f"{m.place}:{node.lineno}"


def _any(m: Module) -> int:
    """Public functions whose signature says Any."""
    signatures = (
        " ".join(ast.unparse(x) for x in [*f.args.args, *f.args.kwonlyargs])
        + (ast.unparse(f.returns) if f.returns else "")
        for f in m.functions
        if not f.name.startswith("_")
    )
    return sum(bool(re.search(r"\bAny\b", text)) for text in signatures)


def measure(checkout: Path) -> dict[str, object]:
    """All figures of a checkout."""
    root = checkout / "src" / "graftsim"
    modules = [Module(p, root) for p in sorted(root.rglob("*.py"))]
    graph = arrows(modules)
    circles = [c for c in components(graph) if len(c) > 1]
    functions = [(f, m) for m in modules for f in m.functions]
    long = [
        (f.end_lineno - f.lineno + 1, f"{m.place}:{f.name}")
        for f, m in functions
        if f.end_lineno is not None and f.end_lineno - f.lineno >= LONG
    ]
    wide = [(_parameters(f), f"{m.place}:{f.name}") for f, m in functions if _parameters(f) > MANY]
    sizes = [m.lines for m in modules]
    strategies = _strategies(modules)
    packages = sorted({m.package for m in modules} - {"."})
    tests = {p: sum(t.read_text().count("\n") for t in (checkout / "tests" / p).rglob("*.py"))
             for p in packages}  # fmt: skip
    source = {p: sum(m.lines for m in modules if m.package == p) for p in packages}
    longest = max(modules, key=lambda m: m.lines)
    identify = within(graph, "graftsim.identify", folders=True)
    return {
        "files": len(modules),
        "lines": sum(sizes),
        "median file": median(sizes),
        "longest file": f"{longest.lines} {longest.place}",
        f"files over {LINES} lines": [f"{m.lines} {m.place}" for m in modules if m.lines > LINES],
        f"functions over {LONG} lines": [f"{n} {at}" for n, at in sorted(long, reverse=True)],
        f"functions of more than {MANY} parameters": [
            f"{n} {at}" for n, at in sorted(wide, reverse=True)
        ],
        f"functions of more than {MOST} parameters": sum(n > MOST for n, _ in wide),
        "circles, modules in each": sorted(map(len, circles), reverse=True),
        "floors of modules": {
            p: floors(within(graph, f"graftsim.{p}", folders=False)) for p in packages
        },
        "floors of folders of identify": floors(identify),
        "modules of the fullest folder of identify": max(
            len([*folder.glob("[!_]*.py")])
            for folder in [root / "identify", *(root / "identify").glob("*/")]
        ),
        "isinstance of strategies": [at for m in modules for at in _asked(m, strategies)],
        "public functions with Any": sum(map(_any, modules)),
        "test lines per source line": {p: round(tests[p] / source[p], 2) for p in packages},
        "files that spell": {
            kind: sum(any(re.fullmatch(words, w) for w in m.words) for m in modules)
            for kind, words in EXTENSIONS.items()
        },
    }


def _short(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], str):
        return str(len(value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--checkout", type=Path, nargs="+", default=[HERE], metavar="FOLDER",
                        help="checkouts to measure (default: this one)")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--names", action="store_true", help="print every name that is counted")
    options = parser.parse_args()
    found = {str(folder): measure(folder) for folder in options.checkout}
    for figure in next(iter(found.values())):
        print(figure)
        for folder, figures in found.items():
            value = figures[figure]
            print(f"    {_short(value)}" + (f"   ({folder})" if len(found) > 1 else ""))
            if options.names and isinstance(value, list):
                print(*(f"        {name}" for name in value), sep="\n")
    if options.json:
        write_json(options.json, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
