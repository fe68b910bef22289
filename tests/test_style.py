"""Rules of form that no linter checks: short files, short functions, named homes, a sentence for everyone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TREES = ("daskkernels", "datasets", "pipelines", "tests")
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
HOMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}

FILES = sorted(path for tree in TREES for path in (ROOT / tree).rglob("*.py"))
LIBRARY = [path for path in FILES if path.is_relative_to(ROOT / "daskkernels")]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its first statement after the docstring to its end."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def long_functions(source: str) -> list[str]:
    return [
        f"line {node.lineno}: {node.name} has {body_lines(node)} lines, at most {MAX_FUNCTION_LINES}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > MAX_FUNCTION_LINES
    ]


def prints(source: str) -> list[str]:
    """Calls of print: a library reports through events and warnings."""
    return [
        f"line {node.lineno}: print() in the library"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def broad_handlers(source: str) -> list[str]:
    """`except:` and `except Exception:`, which hide errors, unless they raise them again."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
            types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {"" if kind is None else ast.unparse(kind) for kind in types}
            if names & {"", "Exception", "BaseException"}:
                found.append(f"line {node.lineno}: a handler that catches everything")
    return found


def undocumented(source: str) -> list[str]:
    """The module and its public classes, functions and methods without a docstring, own or inherited."""
    tree = ast.parse(source)
    missing = (
        [] if ast.get_docstring(tree) else ["line 1: the module has no docstring (its layer and its job)"]
    )
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        missing += _undocumented_node(node, "")
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            inherited = _documented_by_bases(node, classes)
            for method in node.body:
                if getattr(method, "name", None) not in inherited:
                    missing += _undocumented_node(method, f"{node.name}.")
    return missing


def _undocumented_node(node: ast.stmt, prefix: str) -> list[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith(
        "_"
    ):
        return []
    second_form = any(
        ast.unparse(mark).split(".")[-1] in {"overload", "setter"} for mark in node.decorator_list
    )
    if second_form or ast.get_docstring(node) is not None:
        return []
    return [f"line {node.lineno}: {prefix}{node.name} has no docstring"]


def _documented_by_bases(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Methods that a base class of the same file documents."""
    bases = [classes[name] for base in node.bases if (name := ast.unparse(base)) in classes]
    own = {
        method.name
        for base in bases
        for method in base.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method) is not None
    }
    return own.union(*(_documented_by_bases(base, classes) for base in bases))


def report(path: Path, problems: list[str]) -> str:
    return "\n".join(f"{name_of(path)}: {problem}" for problem in problems)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    problems = long_functions(source)
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        problems.insert(0, f"the file has {lines} lines, at most {MAX_FILE_LINES}: split it by job")
    assert not problems, report(path, problems)


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_library_reports_and_documents(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    problems = prints(source) + broad_handlers(source) + undocumented(source)
    assert not problems, report(path, problems)


def test_no_module_is_a_drawer() -> None:
    drawers = [name_of(path) for path in FILES if {path.stem, path.parent.name} & HOMELESS]
    assert not drawers, f"name these after their job: {drawers}"


LONG = "def f():\n    '''Doc.'''\n" + "    x = 1\n" * (MAX_FUNCTION_LINES + 1)


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (long_functions, LONG, LONG.replace("    x = 1\n", "", 1)),
        (prints, "def f():\n    print(1)", "def f(log):\n    log.print(1)"),
        (
            broad_handlers,
            "try:\n    f()\nexcept Exception:\n    pass",
            "try:\n    f()\nexcept KeyError:\n    pass",
        ),
        (broad_handlers, "try:\n    f()\nexcept:\n    pass", "try:\n    f()\nfinally:\n    g()"),
        (
            broad_handlers,
            "try:\n    f()\nexcept (OSError, Exception):\n    pass",
            "try:\n    f()\nexcept BaseException:\n    g()\n    raise",
        ),
        (undocumented, "def f(): ...", "'''Doc.'''\ndef _f(): ..."),
        (undocumented, "'''Doc.'''\nclass A:\n    '''Doc.'''\n    def f(self): ...", "'''Doc.'''\nx = 1"),
    ],
)
def test_checks_can_fail(check, bad, good) -> None:
    assert check(bad)
    assert not check(good)


def test_a_docstring_may_be_inherited() -> None:
    base = "'''D.'''\nclass A:\n    '''D.'''\n    def f(self):\n        '''D.'''\n"
    source = base + "class B(A):\n    '''D.'''\n    def f(self): ..."
    assert not undocumented(source)
    assert undocumented(source.replace("B(A)", "B"))
