"""Which module may import which outside package, read from the source.

import-linter keeps the order of our own modules (pyproject.toml). It takes
`from dask.distributed import Client` for an import of dask, so the table about outside packages is kept here.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TREES = ("daskkernels", "datasets", "pipelines", "tests")
OURS = set(TREES)

# Module or package of daskkernels -> the outside packages it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "__init__": set(),
    "grid": set(),
    "versions": set(),
    "callers": set(),
    "rates": {"numpy"},
    "units": set(),
    "threads": {"threadpoolctl"},
    "frames": {"numpy", "dask"},
    "finite": set(),
    "events": set(),
    "plan": set(),
    "plan_rounds": set(),
    "plan_clustering": set(),
    "plan_products": set(),
    "plan_training": set(),
    "plan_falkon": set(),
    "rounds": {"numpy", "dask"},
    "xp": {"numpy", "array_api_compat", "cupy"},
    "kernels": {"numpy"},
    "linalg": {"numpy", "scipy"},
    "block": {"numpy", "scipy"},
    "store": {"numpy", "zarr", "numcodecs", "google_crc32c", "fsspec", "dask"},
    "rows": {"numpy", "dask"},
    "rowblocks": {"numpy", "dask"},
    "made": {"numpy", "dask"},
    "runtime": {"numpy", "dask", "psutil"},
    "solvers": {"numpy"},
    "scratch": {"numpy", "fsspec"},
    "inputs": {"numpy", "scipy", "dask", "fsspec"},
    "metrics": {"numpy", "scipy", "dask"},
    "metrics_kernel": {"numpy", "dask"},
    "metrics_inputs": {"numpy", "dask"},
    "estimators": {"numpy", "scipy", "dask", "pandas", "sklearn", "tqdm"},
    "baselines": {"numpy", "scipy", "dask", "sklearn"},
    "models": {"numpy", "dask", "sklearn"},
    "errors": set(),
    "session": {
        "numpy",
        "dask",
        "distributed",
        "fsspec",
        "psutil",
        "threadpoolctl",
        "bokeh",
        "tqdm",
        "dask_cuda",
    },
}
# What only one layer of the library may touch is closed to the programs around it as well.
NOT_IN_PROGRAMS = {"zarr", "distributed", "cupy"}
PEERS = {  # what is measured against the library, or counts what it does
    "pipelines/bench/store.py": {"zarr"},
    "pipelines/reproduce/experiments/round_sizes.py": {"distributed"},
}
LAZY = {
    "bokeh",
    "cupy",
    "dask_cuda",
    "matplotlib",
    "pandas",
    "xarray",
}  # never imported by `import daskkernels`
# Packages whose private names change without notice.
NO_PRIVATE_NAMES = {"dask", "distributed", "sklearn", "zarr"}


class Import:
    """One import: where it is, the dotted name, and whether loading the module runs it."""

    def __init__(self, line: int, name: str, at_load: bool = True) -> None:
        self.line, self.name, self.at_load = line, name, at_load

    @property
    def package(self) -> str:
        """The top package; `dask.distributed` is another name of distributed."""
        return "distributed" if (self.name + ".").startswith("dask.distributed.") else self.name.split(".")[0]


def imports(source: str) -> Iterator[Import]:
    """Every import of a source text, inside functions and through importlib too."""
    tree = ast.parse(source)
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        for name in _names(node):
            yield Import(node.lineno, name, at_load=id(node) not in inner)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):  # a relative import is one of ours
        return [f"{node.module}.{alias.name}" for alias in node.names] if node.level == 0 else []
    if isinstance(node, ast.Call) and node.args and _is_import_call(node.func):
        first = node.args[0]
        return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else ["?"]
    return []


def _is_import_call(function: ast.expr) -> bool:
    name = ast.unparse(function)
    return name in {"__import__", "import_module", "importlib.import_module"}


def forbidden(source: str, allowed: set[str]) -> list[str]:
    """Outside packages that a text imports and may not."""
    free = sys.stdlib_module_names | OURS
    return [
        f"line {found.line}: imports {found.name}"
        for found in imports(source)
        if found.package not in free and found.package not in allowed
    ]


def banned(source: str, packages: set[str]) -> list[str]:
    """Imports of the given packages."""
    return [
        f"line {found.line}: imports {found.name}" for found in imports(source) if found.package in packages
    ]


def not_lazy(source: str) -> list[str]:
    """Optional packages that are imported when the module is loaded."""
    return [
        f"line {found.line}: imports {found.name} at load"
        for found in imports(source)
        if found.at_load and found.package in LAZY
    ]


def private_names(source: str) -> list[str]:
    """Imports of, and attributes read from, names with a leading underscore in packages that are not ours."""
    problems = [
        f"line {found.line}: imports {found.name}"
        for found in imports(source)
        if found.package in NO_PRIVATE_NAMES and any(_is_private(part) for part in found.name.split("."))
    ]
    tree = ast.parse(source)
    bound = _bound_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            owner = ast.unparse(node.value).split(".")[0]
            if owner in bound:
                problems.append(f"line {node.lineno}: reads {ast.unparse(node)}")
    return problems


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _bound_names(tree: ast.AST) -> set[str]:
    """Local names of what is imported from the packages whose private names are closed."""
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias, name in zip(node.names, _names(node), strict=False):
                if name.split(".")[0] in NO_PRIVATE_NAMES:
                    bound.add(alias.asname or alias.name.split(".")[0])
    return bound


def python_files(*trees: str) -> list[Path]:
    return sorted(path for tree in trees for path in (ROOT / tree).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def check(path: Path, problems: list[str]) -> None:
    assert not problems, "\n".join(f"{name_of(path)}: {problem}" for problem in problems)


@pytest.mark.parametrize("path", python_files("daskkernels"), ids=name_of)
def test_library_imports_what_its_layer_may(path: Path) -> None:
    layer = Path(path.relative_to(ROOT / "daskkernels").parts[0]).stem
    assert layer in MAY_IMPORT, f"{name_of(path)}: a new layer, in neither this table nor pyproject.toml"
    source = path.read_text(encoding="utf-8")
    check(path, forbidden(source, MAY_IMPORT[layer]) + not_lazy(source))


@pytest.mark.parametrize("path", python_files("datasets", "pipelines"), ids=name_of)
def test_programs_leave_storage_and_clusters_to_the_library(path: Path) -> None:
    closed = NOT_IN_PROGRAMS - PEERS.get(name_of(path), set())
    check(path, banned(path.read_text(encoding="utf-8"), closed))


@pytest.mark.parametrize("path", python_files(*TREES), ids=name_of)
def test_no_private_names_of_other_packages(path: Path) -> None:
    check(path, private_names(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "source",
    [
        "import zarr",
        "import zarr.codecs as codecs",
        "from zarr import codecs",
        "from dask.distributed import Client",
        "from dask import distributed",
        "import dask.distributed as dd",
        "def f():\n    import zarr",
        "import importlib\nimportlib.import_module('zarr.storage')",
        "from importlib import import_module\nimport_module(name)",
        "__import__('distributed')",
        "if TYPE_CHECKING:\n    from distributed import Client",
        "try:\n    import cupy\nexcept ImportError:\n    pass",
    ],
)
def test_a_forbidden_import_is_found(source: str) -> None:
    assert forbidden(source, {"numpy", "dask"})


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from dask import array",
        "import dask.array",
        "from daskkernels import xp",
        "import os",
    ],
)
def test_an_allowed_import_is_not(source: str) -> None:
    assert not forbidden(source, {"numpy", "dask"})


def test_an_eager_optional_import_is_found() -> None:
    assert not_lazy("import cupy")
    assert not_lazy("try:\n    import cupy\nexcept ImportError:\n    cupy = None")
    assert not not_lazy("def f():\n    import cupy")


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.utils._param_validation import Interval",
        "from dask.array import _private",
        "import zarr._storage",
        "import dask.array as da\nda._slicing(1)",
        "from distributed import Client\nClient._instances",
        "def f():\n    from sklearn import _config",
    ],
)
def test_a_private_name_is_found(source: str) -> None:
    assert private_names(source)


@pytest.mark.parametrize(
    "source",
    ["import dask\ndask.__version__", "from ours import _private", "import numpy as np\nself._x = np._y"],
)
def test_other_names_are_not(source: str) -> None:
    assert not private_names(source)
