"""The structure holds: import directions, no import circles, every registered name loads, data folders hold no code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from evalkit import registry
from evalkit.cli.main import VERBS

ROOT = Path(__file__).parents[1]
PACKAGES = ("evalkit", "runners", "metrics", "reports")
ALLOWED = {
    "evalkit": ("evalkit",),
    "runners": ("runners", "evalkit.types", "evalkit.errors"),
    "metrics": ("metrics", "evalkit.types", "evalkit.errors", "evalkit.normalize"),
    "reports": ("reports", "evalkit.types", "evalkit.errors", "evalkit.store"),
}


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, *, at_load: bool = False) -> Iterator[str]:
    """Modules that a module imports from our packages; with `at_load`, only those outside functions."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in _nodes(tree, at_load):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                child = f"{node.module}.{alias.name}"
                yield child if child in MODULES else node.module


def _nodes(tree: ast.AST, at_load: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if at_load and (isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _is_type_checking(child)):
            continue
        yield child
        yield from _nodes(child, at_load)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_import_directions(name: str) -> None:
    allowed = ALLOWED[name.split(".")[0]]
    ours = [target for target in imports(name) if target.split(".")[0] in PACKAGES]
    wrong = [
        target for target in ours if not any(target == prefix or target.startswith(prefix + ".") for prefix in allowed)
    ]
    assert not wrong, f"{name} may not import {wrong}"


def test_no_import_circles() -> None:
    graph = {name: {target for target in imports(name, at_load=True) if target in MODULES} - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in registry.BUILTIN for name in registry.names(kind)])
def test_every_registered_name_loads(kind: str, name: str) -> None:
    assert registry.load(kind, name) is not None


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_opens_with_an_example(verb: str) -> None:
    path = ROOT / "evalkit" / "cli" / f"{verb}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert texts["HELP"].strip().startswith("example: evalkit " + verb)


def test_datasets_holds_data_only() -> None:
    assert list((ROOT / "datasets").rglob("*.py")) == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_module_says_what_it_is(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring, f"{name} has no docstring"


def test_no_catch_all_modules() -> None:
    bad = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [name for name in MODULES if name.split(".")[-1] in bad] == []
