"""What is installed: the library alone, light to import, with one version and public names that exist."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest
from setuptools import find_namespace_packages

import daskkernels as dk
from tests.interpreter import run_python

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
STACK = "dask.array, distributed, zarr, sklearn.base"
MOST_OF_STACK = 1.3  # importing daskkernels against importing only these; 1.05 measured


def requirement_name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found, requirement
    return found[0]


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    return {
        requirement_name(text): bound[1] for text in requirements if (bound := re.search(r">=([\d.]+)", text))
    }


def test_only_the_library_is_installed() -> None:
    find = PYPROJECT["tool"]["setuptools"]["packages"]["find"]
    found = find_namespace_packages(str(ROOT), **find)
    assert "daskkernels" in found
    assert {name.split(".")[0] for name in found} == {"daskkernels"}


def test_every_folder_of_the_library_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "daskkernels").rglob("*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []
    assert (ROOT / "daskkernels" / "py.typed").exists(), (
        "users' type checkers see the annotations by this file"
    )


def test_one_version() -> None:
    assert dk.__version__ == PROJECT["version"]
    assert f"## {dk.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {"app", "gpu", "peers", "test"}
    assert {"cupy-cuda13x", "dask-cuda"} == {requirement_name(text) for text in extras["gpu"]}
    heavy = {"pandas", "matplotlib", "bokeh", "pyarrow", "cupy-cuda13x"}
    assert not heavy & {requirement_name(text) for text in PROJECT["dependencies"]}


def test_oldest_environment_pins_the_lower_bounds() -> None:
    pins = dict(
        line.split("==")
        for line in (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    )
    bounds = lower_bounds(PROJECT["dependencies"])
    bounds |= lower_bounds(PROJECT["optional-dependencies"]["app"])
    assert set(pins) == set(bounds)
    # "2.1" pinned as "2.1.0" is the same release
    wrong = {name for name in bounds if not (pins[name] + ".0.0").startswith(bounds[name])}
    assert not wrong, f"pyproject.toml and .ci/oldest.txt disagree about {sorted(wrong)}"


def test_admits_the_dask_of_gpu_workers() -> None:
    bounds = lower_bounds(PROJECT["dependencies"])
    for package in ("dask", "distributed"):
        assert bounds[package] == "2026.7.1"
    assert not [text for text in PROJECT["dependencies"] if "<" in text], "no upper bounds"


def import_cost(modules: str) -> tuple[float, set[str]]:
    """Processor seconds to import these modules in a fresh process, and the packages it then holds."""
    code = (
        f"import json, sys, time; before = time.process_time(); import {modules};"
        "seconds = time.process_time() - before;"
        "print(json.dumps([seconds, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    seconds, names = json.loads(run_python("-c", code))
    return seconds, set(names)


def test_import_is_light() -> None:
    # dask.array itself imports pandas and xarray where they are installed: those two are tested below.
    heavy = {"cupy", "matplotlib", "bokeh", "dask_cuda", "rich", "pytest"} & import_cost("daskkernels")[1]
    assert not heavy, f"import daskkernels loads {sorted(heavy)}"
    # a share of what the packages under it cost: seconds alone say how busy the machine is
    trials = [(import_cost("daskkernels")[0], import_cost(STACK)[0]) for _ in range(3)]
    ours, stack = (min(seconds) for seconds in zip(*trials, strict=True))
    assert ours < MOST_OF_STACK * stack, (
        f"import daskkernels takes {ours:.1f} s of processor time, not {stack:.1f} s"
    )


def test_works_without_any_extra() -> None:
    absent = ("pandas", "pyarrow", "xarray", "matplotlib", "bokeh", "rich", "cupy", "dask_cuda", "pytest")
    code = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name}}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
import daskkernels as dk

X = np.random.default_rng(0).normal(size=(300, 3))
print(dk.KernelKMeans(n_clusters=2, n_landmarks=20, random_state=0).fit_predict(X).shape)
"""
    assert run_python("-c", code).strip() == "(300,)"


def test_show_versions(capsys: pytest.CaptureFixture[str]) -> None:
    returned = dk.show_versions()
    text = capsys.readouterr().out or str(returned)
    for name in ("daskkernels", "dask", "distributed", "numpy", "scikit-learn", "zarr"):
        assert name in text.replace("sklearn", "scikit-learn"), f"{name} is not in:\n{text}"
    assert dk.__version__ in text


def test_public_names() -> None:
    assert len(dk.__all__) == len(set(dk.__all__))
    for name in dk.__all__:
        value = getattr(dk, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            assert inspect.getdoc(value), f"dk.{name} has no docstring"
    expected = {
        *("Cauchy", "Cosine", "Gaussian", "Laplacian", "Linear", "Matern", "Polynomial"),
        *("KernelKMeans", "NystromFeatures", "Standardize", "Dataset", "open_dataset", "write_dataset"),
        *("connect", "kernel_block", "kernel_matvec", "metrics", "show_versions"),
    }
    assert expected <= set(dk.__all__), f"missing: {sorted(expected - set(dk.__all__))}"


@pytest.mark.parametrize("name", ["normalized_mutual_info", "adjusted_rand", "contingency"])
def test_metrics(name: str) -> None:
    assert inspect.getdoc(getattr(dk.metrics, name))
