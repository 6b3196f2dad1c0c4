"""Signs of the code's structure: what one command enters, import circles, long signatures, tuning numbers, comments.

Any source tree can be measured (`--src DIR`, the folder that holds the package), so two versions can be compared. How
each figure is counted:

entered     `retarget a.bvh --to b.glb -o out.glb` on samples of the tree itself, in a process of its own under
            `sys.setprofile`, with NUMBA_DISABLE_JIT=1 so that kernels are seen as well. A function is a `def`;
            lambdas, comprehensions and generator expressions are not counted. A module is entered when one of its
            functions is; a module that is only imported is counted as imported.
circles     Strongly connected components of more than one module. An import in a function counts like one at the top;
            one under `if TYPE_CHECKING` does not, and circles that only such imports close are counted apart.
            `from a import b` leads to the module a.b if there is one, else to a; importing a.b does not count as
            importing a. Circles between packages: the same for what stands directly below the root package.
arguments   Named parameters, positional and keyword, without self, cls, * and **. A kernel is a function that numba
            compiles: one under `jit`, `njit` or a decorator that hands its function to one of these, or to a class
            that derives from one of numba's dispatchers.
complexity  As radon counts: 1, and 1 more for each if, elif, for, while, except, case, assert, ternary and
            comprehension, each `if` of a comprehension, and each operand of `and`/`or` after the first. Functions
            inside others are counted on their own.
numbers     named: UPPER_CASE constants of modules and classes that are one number, or arithmetic on numbers; integers
            that are unpacked together from a tuple (columns of a table, kinds) are "layout" and counted apart, and so
            are the numbers in constants that are tables. settings: fields with a number as default in classes whose
            names end in Settings. inline: float literals in functions, defaults of parameters included, other than
            MATHEMATICAL; powers of ten up to 1e-9 ("epsilons") are counted apart. Integers are not: nearly all of
            them are indices and shapes.
unused      Public functions, methods and classes whose name occurs nowhere else in the package, nor in docs, examples,
            benchmarks and the README, and which no decorator hands on.
lines       comment: lines with nothing but a comment. docstring: lines of strings that stand as statements, those of
            attributes included. code: all other lines that are not blank.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TypeGuard

SRC = Path(__file__).resolve().parents[1] / "src"
MANY_ARGUMENTS = 9
COMPLEX = 20
"""Functions above this complexity are listed."""
TINY = 1e-9
"""Powers of ten up to this are guards against division by zero and rounding, not tuning."""
MATHEMATICAL = {0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 90.0, 180.0, 360.0, math.log(2.0), math.pi, 2.0 * math.pi}
"""Floats (by magnitude) that formulas and unit conversions bring with them."""
TOP = "(top level)"
"""The modules that stand directly in the root package."""

LINES = ("modules", "total", "code", "docstring", "comment")
NUMBERS = ("named", "layout", "tables", "settings", "inline", "epsilons")
COLUMNS = LINES + NUMBERS

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOP = (ast.For, ast.AsyncFor, ast.While)
BRANCH = (ast.If, ast.IfExp, *LOOP, ast.ExceptHandler, ast.match_case, ast.Assert, ast.comprehension)


@dataclass(frozen=True)
class Pattern:
    """What the code of a function looks like that implements something."""

    needs: tuple[str, ...]
    """Regular expressions that must all be found in the function's code, without its comments and docstrings."""
    loops: int = 0
    """How many loops must at least be nested in one another."""


PARENT = r"\b(p|parents?|above|carrier)\b"
"""What code calls the parent of a joint."""
IMPLEMENTATIONS: dict[str, tuple[Pattern, ...]] = {
    "two-bone limb": (
        # the law of cosines: the angle from three lengths
        Pattern((r"\ba(rc)?cos\(", r"/ \(2(\.0)? \* ")),
    ),
    "reach of a limb": (
        # the law of cosines once more: the distance of a limb's ends from its lengths and its flexion
        Pattern((r"2(\.0)? \* \w+ \* \w+ \* (np|math)\.cos\(",)),
    ),
    "forward kinematics": (
        # x[joint] = x[parent] + rotated offset
        Pattern((rf"\b(\w+)\[[^=\n]*\] = .*\b\1\[[^=\n]*{PARENT}.*? \+ ", r"\brotate\(")),
    ),
    "along a chain": (
        # position or rotation of a joint in the frame of one of its ancestors
        Pattern((r"(\w+), (\w+), (\w+), (\w+) = multiply\(\1, \2, \3, \4, local\[", r"offsets\["), 1),
        Pattern((r"(\w+), (\w+), (\w+), (\w+) = multiply\(local\[.*\], \1, \2, \3, \4\)", r"\bwhile\b"), 1),
        Pattern((r"(\w+), (\w+), (\w+) = rotate\(\w+\[.*\], \1, \2, \3\)", r"parents", r"\+ offsets\["), 1),
        Pattern((r"(place|position)s? \+ rotation\.rotate\((\w+),", r"multiply\("), 1),
    ),
    "matrices of a file's nodes": (
        # the parent's matrix times the node's own
        Pattern((rf"\b(\w+)\[[^=\n]*\] = .*\b\1\[[^=\n]*{PARENT}.*? @ ",), loops=1),
    ),
    "least squares by a library": (
        Pattern((r"\b(lstsq|lsq_linear|least_squares|solveh?_banded|cholesky|cho_solve)\(",)),
        Pattern((r"linalg\.solve\([^,]*(\.T|norm|matrix|system|hessian)",)),
    ),
    "factorisation of our own": (
        # division by, or the root of, what stands on the diagonal
        Pattern((r"(/=? |sqrt\()\w+\[(\w+, )?(\w+), \3\]|pivot = \w+\[(\w+), \4\]", r"-=|- dot\("), 2),
        Pattern((r"\bfactors\[", r"-="), 1),
        Pattern((r"sqrt\(\w+\[0\]\)", r"-="), 2),
    ),
}
"""What is looked for, and how it is recognised: any one of the patterns will do. Who calls an implementation is listed
with it and is none itself."""


@dataclass(frozen=True)
class Function:
    """A function or method of the package."""

    module: str
    name: str
    """As `__qualname__` has it."""
    line: int
    """Of its first decorator, or of the `def`: as `co_firstlineno` has it."""
    arguments: int
    complexity: int
    kernel: bool
    loops: int
    """How deeply loops are nested."""
    code: str
    """Its body without comments and docstrings."""


@dataclass
class Imports:
    """The modules of the package that a module imports, with the line of the first import of each."""

    now: dict[str, int] = field(default_factory=dict)
    """When it is imported itself."""
    lazy: dict[str, int] = field(default_factory=dict)
    """When a function is called."""
    typing: dict[str, int] = field(default_factory=dict)
    """For type checkers only."""


@dataclass
class Module:
    """A source file."""

    name: str
    path: Path
    tree: ast.Module
    text: str
    functions: list[Function] = field(default_factory=list)
    imports: Imports = field(default_factory=Imports)

    @property
    def package(self) -> str:
        """What stands directly below the root package: a package, or the module itself."""
        return ".".join(self.name.split(".")[1:2])

    @property
    def is_package(self) -> bool:
        """Whether this is an `__init__.py`."""
        return self.path.name == "__init__.py"


@dataclass
class Package:
    """All modules of a package."""

    name: str
    src: Path
    modules: dict[str, Module]

    @property
    def functions(self) -> list[Function]:
        """The functions of all modules."""
        return [function for module in self.modules.values() for function in module.functions]

    def where(self, function: Function) -> str:
        """File, line and name of a function."""
        path = self.modules[function.module].path.relative_to(self.src).as_posix()
        return f"{path}:{function.line} {function.name}"

    def group(self, module: str) -> str:
        """The row of a table that a module belongs to: its package, or the top level."""
        unit = self.modules[module].package
        return unit if unit and self.modules[f"{self.name}.{unit}"].is_package else TOP


def read_package(src: Path) -> Package:
    """Parse the one package below a folder."""
    roots = sorted(path.parent for path in src.glob("*/__init__.py"))
    if len(roots) != 1:
        raise SystemExit(f"expected one package in {src}, got {[root.name for root in roots]}")
    modules = {}
    for path in sorted(roots[0].rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        modules[name] = Module(name, path, ast.parse(text), text)
    compiling = _compiling_decorators(module.tree for module in modules.values())
    for module in modules.values():
        module.functions = list(_functions(module, compiling))
        module.imports = _imports(module, modules)
    return Package(roots[0].name, src, modules)


# Functions: their arguments, complexity and loops.


def _compiling_decorators(trees: Iterable[ast.Module]) -> set[str]:
    """`jit`, `njit`, dispatchers, and the functions of the package that hand what they are given to one of these."""
    nodes = [node for tree in trees for node in tree.body]
    makers = [node for node in nodes if isinstance(node, FUNCTION) and len(node.args.args) == 1]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    dispatchers = {one.name for one in classes if any(_last_name(base).endswith("Dispatcher") for base in one.bases)}
    found = {"jit", "njit"} | dispatchers
    while True:
        more = {
            maker.name
            for maker in makers
            for node in ast.walk(maker)
            if isinstance(node, ast.Call) and _last_name(node.func) in found
            if [getattr(given, "id", "") for given in node.args] == [maker.args.args[0].arg]
        }
        if more <= found:
            return found
        found |= more


def _functions(module: Module, compiling: set[str]) -> Iterator[Function]:
    def within(node: ast.AST, prefix: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTION):
                yield _function(module.name, child, prefix, compiling)
                yield from within(child, f"{prefix}{child.name}.<locals>.")
            else:
                yield from within(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)

    return within(module.tree, "")


def _function(module: str, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, compiling: set[str]) -> Function:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    own = [argument for argument in given if argument.arg not in ("self", "cls")]
    decorators = {_last_name(decorator) for decorator in node.decorator_list}
    line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return Function(
        module, prefix + node.name, line, len(own), complexity(node), bool(decorators & compiling),
        _loop_depth(node.body), "\n".join(ast.unparse(statement) for statement in node.body if not _is_text(statement)),
    )  # fmt: skip


def _last_name(node: ast.expr) -> str:
    """`jit` of `jit`, `numba.jit` and `jit(nogil=True)`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, without functions and what is in them."""
    if not isinstance(node, FUNCTION):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The cyclomatic complexity of a function."""
    total = 1
    for statement in function.body:
        for node in _own_nodes(statement):
            total += isinstance(node, BRANCH)
            if isinstance(node, ast.BoolOp):
                total += len(node.values) - 1
            elif isinstance(node, ast.comprehension):
                total += len(node.ifs)
    return total


def _loop_depth(nodes: Iterable[ast.AST]) -> int:
    return max((isinstance(node, LOOP) + _loop_depth(ast.iter_child_nodes(node)) for node in nodes), default=0)


# Who imports whom, and where that goes in circles.


def _imports(module: Module, modules: Mapping[str, Module]) -> Imports:
    found = Imports()

    def walk(node: ast.AST, into: dict[str, int]) -> None:
        if isinstance(node, FUNCTION) and into is found.now:
            into = found.lazy
        if isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            for child in node.body:
                walk(child, found.typing)
            for child in node.orelse:
                walk(child, into)
            return
        for name in _imported(node, module):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            if name and name != module.name:
                into.setdefault(name, getattr(node, "lineno", 0))
        for child in ast.iter_child_nodes(node):
            walk(child, into)

    walk(module.tree, found.now)
    return found


def _imported(node: ast.AST, module: Module) -> list[str]:
    """The dotted names that a node imports; of `from a import b`, a.b."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{_base(node, module)}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and _last_name(node.func) == "import_module" and node.args:
        name = node.args[0]
        return [name.value] if isinstance(name, ast.Constant) and isinstance(name.value, str) else []
    return []


def _base(node: ast.ImportFrom, module: Module) -> str:
    """The absolute name of a in `from a import b`."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    above = parts[: len(parts) - node.level + module.is_package]
    return ".".join([*above, node.module] if node.module else above)


def import_graph(package: Package, *, typing: bool = False) -> dict[str, set[str]]:
    """Module → modules that it imports, lazily or not; with `typing` those for type checkers as well."""
    graph = {}
    for name, module in package.modules.items():
        imports = module.imports
        graph[name] = {*imports.now, *imports.lazy, *(imports.typing if typing else ())}
    return graph


Edges = dict[tuple[str, str], tuple[int, int]]
"""(importing, imported) → how many imports at the top of modules, and how many in functions."""


def package_edges(package: Package) -> Edges:
    """The imports between what stands directly below the root package."""
    edges: Edges = {}
    for module in package.modules.values():
        for column, imports in enumerate((module.imports.now, module.imports.lazy)):
            for other in imports:
                above, below = module.package, package.modules[other].package
                if above and below and above != below:
                    count = list(edges.get((above, below), (0, 0)))
                    count[column] += 1
                    edges[above, below] = count[0], count[1]
    return edges


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan 1972), largest first."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        path.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in path:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = path.index(node)
            component = sorted(path[at:])
            del path[at:]
            if len(component) > 1:
                found.append(component)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found, key=lambda component: (-len(component), component))


def _graph_of(edges: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for above, below in edges:
        graph.setdefault(above, set()).add(below)
        graph.setdefault(below, set())
    return graph


def closing_edges(edges: Edges) -> set[tuple[str, str]]:
    """Few edges without which there are no circles: those of imports in functions before others, thin before thick."""
    left, cut = dict(edges), []
    while found := circles(_graph_of(left)):
        inside = [edge for edge in left if any(edge[0] in circle and edge[1] in circle for circle in found)]
        cut.append(min(inside, key=lambda edge: (edges[edge], edge)))
        del left[cut[-1]]
    # what was cut early may no longer close anything
    for edge in sorted(cut, key=lambda edge: (edges[edge], edge), reverse=True):
        if not circles(_graph_of([*left, edge])):
            left[edge] = edges[edge]
    return set(edges) - set(left)


# Numbers that somebody has chosen.


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_arithmetic(node: ast.AST) -> bool:
    """Whether an expression is one number: a literal, arithmetic on literals, or a function of them."""
    if isinstance(node, ast.UnaryOp):
        return _is_arithmetic(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_arithmetic(node.left) and _is_arithmetic(node.right)
    if isinstance(node, ast.Call):
        return len(node.args) == 1 and not node.keywords and _is_arithmetic(node.args[0])
    return _is_number(node) or (isinstance(node, ast.Attribute) and node.attr == "pi")


def _assignments(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr, bool]]:
    """Name, value and whether it was unpacked, of the assignments among statements."""
    for node in body:
        if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            yield node.target.id, node.value, False
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value, False
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts):
                        if isinstance(name, ast.Name):
                            yield name.id, value, True


def tuning_numbers(module: Module) -> Counter[str]:
    """How many numbers of each kind a module has: named, layout, tables, settings, inline and epsilons."""
    counts: Counter[str] = Counter()
    bodies = [(module.tree.body, False)]
    bodies += [
        (node.body, node.name.endswith("Settings"))
        for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
    ]  # fmt: skip
    for body, settings in bodies:
        for name, value, unpacked in _assignments(body):
            if not re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name):
                counts["settings"] += settings and _is_arithmetic(value)
            elif _is_arithmetic(value):
                layout = unpacked and isinstance(value, ast.Constant) and isinstance(value.value, int)
                counts["layout" if layout else "named"] += 1
            else:
                counts["tables"] += sum(map(_is_number, ast.walk(value)))
    for value in _inline_floats(module.tree):
        if 0.0 < value <= TINY and math.isclose(math.log10(value), round(math.log10(value)), abs_tol=1e-9):
            counts["epsilons"] += 1
        else:
            counts["inline"] += value not in MATHEMATICAL
    return counts


def _inline_floats(tree: ast.Module) -> Iterator[float]:
    """Float literals in functions, each once, without those of decorators and annotations."""

    def walk(node: ast.AST, inside: bool) -> Iterator[float]:
        if isinstance(node, FUNCTION):
            defaults = [value for value in (*node.args.defaults, *node.args.kw_defaults) if value is not None]
            for child in (*defaults, *node.body):
                yield from walk(child, True)
            return
        if inside and isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.value
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    return walk(tree, False)


# Lines.


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def line_counts(module: Module) -> Counter[str]:
    """How many lines of each kind a module has: comment, docstring, code, and all lines as total."""
    lines = module.text.splitlines()
    text: set[int] = set()
    for node in ast.walk(module.tree):
        if _is_text(node):
            text.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    comments = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline)
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    }
    filled = {number for number, line in enumerate(lines, 1) if line.strip()}
    return Counter(
        comment=len(comments), docstring=len(text), code=len(filled - text - comments), total=len(lines)
    )  # fmt: skip


# What a command enters.

TRACE = """
import json, runpy, sys, threading
package, folder, out = sys.argv[1:4]
seen = set()
def profile(frame, event, argument):
    if event == "call":
        seen.add(frame.f_code)
sys.argv = [package, *sys.argv[4:]]
threading.setprofile(profile)
sys.setprofile(profile)
try:
    runpy.run_module(package, run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
finally:
    sys.setprofile(None)
ours = [code for code in seen if code.co_filename.startswith(folder)]
entered = [(code.co_filename, code.co_firstlineno) for code in ours]
imported = [name for name in sys.modules if name.partition(".")[0] == package]
with open(out, "w") as file:
    json.dump({"code": code, "entered": entered, "imported": imported}, file)
"""
"""Runs a package's command line and writes which code objects of the package were entered."""


def entered(package: Package) -> tuple[list[Function], int] | None:
    """The functions that retargeting a BVH onto a GLB enters, and how many modules it imports; None if it fails."""
    environment = dict(os.environ, PYTHONPATH=str(package.src), NUMBA_DISABLE_JIT="1", PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "entered.json")
        command = [sys.executable, "-m", package.name]
        trace = [sys.executable, "-c", TRACE, package.name, str(package.src / package.name), str(out)]
        for arguments in (
            [*command, "convert", "sample:walk", "a.bvh"],
            [*command, "convert", "sample:sally", "b.glb"],
            [*trace, "retarget", "a.bvh", "--to", "b.glb", "-o", "out.glb"],
        ):
            done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"not measured: {' '.join(arguments[-6:])}: {done.stderr.strip()[-300:]}", file=sys.stderr)
                return None
        result = json.loads(out.read_text())
    if result["code"]:
        print(f"not measured: retarget ended with {result['code']}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    known = {
        (str(package.modules[function.module].path), function.line): function for function in package.functions
    }  # fmt: skip
    found = {known[place] for place in map(tuple, result["entered"]) if place in known}
    return sorted(found, key=lambda function: (function.module, function.line)), len(result["imported"])


# What is implemented where.


def implementations(package: Package) -> dict[str, list[dict]]:
    """What is implemented where: place, name and importing modules of the functions that fit `IMPLEMENTATIONS`."""
    users = _users(package)
    found: dict[str, list[dict]] = {}
    for label, patterns in IMPLEMENTATIONS.items():
        found[label] = [
            {"where": package.where(function), "callers": sorted(users.get((function.module, function.name), ()))}
            for function in package.functions
            if any(
                function.loops >= pattern.loops and all(re.search(need, function.code) for need in pattern.needs)
                for pattern in patterns
            )
        ]
    return found


def _users(package: Package) -> dict[tuple[str, str], set[str]]:
    """(module, function) → modules that import it, or take it from the module as an attribute."""
    users: dict[tuple[str, str], set[str]] = {}
    for name, module in package.modules.items():
        aliases: dict[str, str] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom):
                base = _base(node, module)
                for alias in node.names:
                    if f"{base}.{alias.name}" in package.modules:
                        aliases[alias.asname or alias.name] = f"{base}.{alias.name}"
                    else:
                        users.setdefault((base, alias.name), set()).add(name)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                users.setdefault((aliases[node.value.id], node.attr), set()).add(name)
    return users


# What nobody uses.


def unused(package: Package) -> list[str]:
    """Public functions, methods and classes that nothing in the package names, nor docs, examples or benchmarks.

    By name alone: one that has the name of something used is not found. What other packages call (handlers, hooks of
    numba, commands) stands under a decorator, overrides, or is listed and must be judged.
    """
    places: dict[str, set[tuple[Path, int]]] = {}
    for module in package.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute | ast.Name | ast.Constant):
                named = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
                for word in re.findall(r"\w+", named) if isinstance(named, str) and len(named) < 80 else ():
                    places.setdefault(word, set()).add((module.path, node.lineno))
    root = package.src.parent
    pages = [path for folder in ("docs", "examples", "benchmarks") for path in root.glob(f"{folder}/**/*.*")]
    pages = [path for path in pages if path.suffix in (".md", ".py") and path.resolve() != Path(__file__).resolve()]
    said = {word for path in [*pages, *root.glob("README.md")] for word in re.findall(r"\w+", path.read_text("utf-8"))}
    found = []
    for module in package.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_") and node.name not in said:
                own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                used = any(path != module.path or line not in own for path, line in places.get(node.name, ()))
                if not used and not node.decorator_list:
                    found.append(f"{module.path.relative_to(package.src).as_posix()}:{node.lineno} {node.name}")
    return found


# The drawing.

BOX, GAP, ROW, MARGIN, LEAST_WIDTH = (112, 34), 22, 96, 40, 900
"""Sizes of the drawing, pixels."""


def layers(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The nodes of a graph without circles, those that nobody imports first; every edge goes down."""
    graph = _graph_of(edges)
    height: dict[str, int] = {}

    def climb(node: str) -> int:
        if node not in height:
            height[node] = 1 + max(map(climb, graph[node]), default=-1)
        return height[node]

    top = max(map(climb, graph), default=-1)
    rows = [sorted(node for node in graph if height[node] == top - row) for row in range(top + 1)]
    above = {node: [other for other in graph if node in graph[other]] for node in graph}
    # a few sweeps that put each node below the middle of what imports it, then above the middle of what it imports
    place = {node: (column + 0.5) / len(row) for row in rows for column, node in enumerate(row)}
    for sweep in range(6):
        near = above if sweep % 2 == 0 else graph
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            middle = {
                node: sum(place[other] for other in near[node]) / len(near[node]) if near[node] else place[node]
                for node in row
            }
            row.sort(key=lambda node: (middle[node], node))
            place.update({node: (column + 0.5) / len(row) for column, node in enumerate(row)})
    return rows


def draw(package: Package) -> str:
    """The import graph of what stands directly below the root package, as SVG: layers from top to bottom.

    Grey: imports, the strong ones those that no path over other packages stands for. Red: imports that close a circle.
    """
    edges = package_edges(package)
    closing = closing_edges(edges)
    down = set(edges) - closing
    rows, graph = layers(down), _graph_of(down)
    sizes = Counter(module.package for module in package.modules.values())
    width = max(LEAST_WIDTH, 2 * MARGIN + max((len(row) for row in rows), default=1) * (BOX[0] + GAP))
    place = {
        node: (width * (column + 0.5) / len(row), MARGIN + 40 + number * ROW)
        for number, row in enumerate(rows) for column, node in enumerate(row)
    }  # fmt: skip
    height = 2 * MARGIN + 40 + len(rows) * ROW
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN}" font-size="18">{escape(package.name)}: {len(package.modules)} modules, '
        f"{len(edges)} imports between packages, {len(closing)} of them (red) close circles</text>",
    ]
    weak, strong, red = [], [], []
    for edge in sorted(edges):
        if edge in closing:
            red.append(_line(place, edge, f'stroke="#d01c1c" stroke-width="{1.2 + 0.3 * sum(edges[edge]):.1f}"'))
        elif _has_detour(graph, *edge):
            weak.append(_line(place, edge, 'stroke="#999" stroke-width="0.6" stroke-opacity="0.25"'))
        else:
            strong.append(_line(place, edge, 'stroke="#555" stroke-width="1.2"'))
    out += [*weak, *strong]
    for node, (x, y) in sorted(place.items()):
        label = node if sizes[node] == 1 else f"{node} ({sizes[node]})"
        out.append(
            f'<rect x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="6" '
            f'fill="#eef3fa" stroke="#34507a"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(label)}</text>'
        )
    return "\n".join([*out, *red, "</svg>", ""])


def _line(place: Mapping[str, tuple[float, float]], edge: tuple[str, str], style: str) -> str:
    """A curve from the bottom of one box to the top of another; one that goes up bulges out at the right."""
    (x, y), (u, v) = place[edge[0]], place[edge[1]]
    if v > y:
        y, v = y + BOX[1] / 2, v - BOX[1] / 2
        bends = (x, (y + v) / 2), (u, (y + v) / 2)
    else:
        x, u = x + BOX[0] / 2, u + BOX[0] / 2
        right = max(x, u) + BOX[0] + 0.1 * (y - v)
        bends = (right, y), (right, v)
    curve = " ".join(f"{a:.0f},{b:.0f}" for a, b in (*bends, (u, v)))
    title = f"<title>{escape(edge[0])} → {escape(edge[1])}</title>"
    return f'<path d="M{x:.0f},{y:.0f} C{curve}" fill="none" {style}>{title}</path>'


def _has_detour(graph: Mapping[str, set[str]], above: str, below: str) -> bool:
    """Whether another path leads from one node to the other."""
    waiting, seen = [other for other in graph[above] if other != below], set()
    while waiting:
        node = waiting.pop()
        if node == below:
            return True
        if node not in seen:
            seen.add(node)
            waiting += graph[node]
    return False


# The report.


def report(package: Package, *, command: bool = True) -> dict:
    """All figures: flat numbers, rows by package, and lists of places."""
    figures: dict[str, float] = {}
    lists: dict[str, list] = {}
    run = entered(package) if command else None
    if run is not None:
        functions, imported = run
        modules = {function.module for function in functions}
        own = {function.module for function in functions if not function.kernel}
        figures["entered.modules"] = len(modules)
        figures["entered.modules_without_kernels"] = len(own)
        figures["entered.modules_imported"] = imported
        figures["entered.functions"] = len(functions)
        figures["entered.functions_without_kernels"] = sum(not function.kernel for function in functions)
        lists["entered functions"] = [package.where(function) for function in functions]
    found = circles(import_graph(package))
    edges = package_edges(package)
    between = circles(_graph_of(edges))
    with_typing = circles(import_graph(package, typing=True))
    figures["circles.modules"] = len(found)
    figures["circles.modules_in_them"] = sum(map(len, found))
    figures["circles.closed_by_typing_only"] = len([circle for circle in with_typing if circle not in found])
    figures["circles.packages"] = len(between)
    figures["circles.packages_in_them"] = sum(map(len, between))
    figures["circles.package_imports_that_close_them"] = len(closing_edges(edges))
    figures["imports.lazy"] = sum(len(module.imports.lazy) for module in package.modules.values())
    figures["imports.typing_only"] = sum(len(module.imports.typing) for module in package.modules.values())
    lists["circles of modules"] = [" ".join(circle) for circle in found]
    lists["circles of packages"] = [" ".join(circle) for circle in between]
    lists["imports that close circles of packages"] = [
        place for edge in sorted(closing_edges(edges)) for place in _import_places(package, *edge)
    ]
    functions = package.functions
    many = sorted((f for f in functions if f.arguments >= MANY_ARGUMENTS), key=lambda f: -f.arguments)
    tangled = sorted((f for f in functions if f.complexity > COMPLEX), key=lambda f: -f.complexity)
    figures["functions.all"] = len(functions)
    figures["functions.kernels"] = sum(f.kernel for f in functions)
    figures[f"arguments.kernels_with_{MANY_ARGUMENTS}_or_more"] = sum(f.kernel for f in many)
    figures[f"arguments.others_with_{MANY_ARGUMENTS}_or_more"] = sum(not f.kernel for f in many)
    figures[f"complexity.above_{COMPLEX}"] = len(tangled)
    lists["many arguments, kernels"] = [f"{f.arguments:3} {package.where(f)}" for f in many if f.kernel]
    lists["many arguments, others"] = [f"{f.arguments:3} {package.where(f)}" for f in many if not f.kernel]
    lists["public, and used by tests alone"] = unused(package)
    figures["unused.public"] = len(lists["public, and used by tests alone"])
    lists["complex functions"] = [f"{f.complexity:3} {package.where(f)}" for f in tangled]
    rows: dict[str, Counter[str]] = {}
    for name, module in package.modules.items():
        row = rows.setdefault(package.group(name), Counter())
        row.update(Counter(modules=1) + line_counts(module) + tuning_numbers(module))
    total = sum(rows.values(), Counter())
    for column in COLUMNS:
        figures[f"{'numbers' if column in NUMBERS else 'lines'}.{column}"] = total[column]
    found_at = implementations(package)
    for label, places in found_at.items():
        figures[f"implementations.{label.replace(' ', '_').replace('-', '_')}"] = len(places)
    return {
        "figures": figures,
        "packages": {name: {column: row[column] for column in COLUMNS} for name, row in sorted(rows.items())},
        "implementations": found_at,
        "lists": lists,
    }


def _import_places(package: Package, above: str, below: str) -> list[str]:
    """File and line of the imports from one package to another."""
    out = []
    for module in package.modules.values():
        if module.package == above:
            for kind, imports in (("", module.imports.now), (" (in a function)", module.imports.lazy)):
                for name, line in imports.items():
                    if package.modules[name].package == below:
                        path = module.path.relative_to(package.src).as_posix()
                        out.append(f"{path}:{line} → {name}{kind}")
    return out


def print_report(found: dict, *, verbose: bool) -> None:
    """Tables for people: figures, packages, circles and implementations; with `verbose` every list."""
    width = max(map(len, found["figures"]))
    for name, value in found["figures"].items():
        print(f"{name:<{width}}  {value:>7,}")
    print("\n" + f"{'package':<14}" + "".join(f"{column:>11}" for column in COLUMNS))
    for name, row in found["packages"].items():
        print(f"{name:<14}" + "".join(f"{row[column]:>11,}" for column in COLUMNS))
    for label, places in found["implementations"].items():
        print(f"\n{label}: {len(places)} functions")
        for place in places:
            print(f"  {place['where']}" + (f"  ← {', '.join(place['callers'])}" if place["callers"] else ""))
    for label, lines in found["lists"].items():
        if lines and (verbose or "circles" in label):
            print(f"\n{label}:")
            print("\n".join(f"  {line}" for line in lines))


def run() -> dict[str, float]:
    """The figures of this tree, for `run.py`."""
    return {f"structure.{name}": value for name, value in report(read_package(SRC))["figures"].items()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--src", type=Path, default=SRC, help="the folder that holds the package (default: src)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with all figures and lists")
    parser.add_argument("--verbose", action="store_true", help="list the functions that are counted, too")
    parser.add_argument("--static", action="store_true", help="read the sources only, run no command")
    parser.add_argument("--graph", type=Path, metavar="SVG", help="draw the imports between packages")
    arguments = parser.parse_args()
    package = read_package(arguments.src.resolve())
    found = report(package, command=not arguments.static)
    if arguments.graph:
        arguments.graph.write_text(draw(package), encoding="utf-8")
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        print_report(found, verbose=arguments.verbose)


if __name__ == "__main__":
    main()
