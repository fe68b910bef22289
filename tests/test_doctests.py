"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import daskkernels

MODULES = sorted(m.name for m in pkgutil.walk_packages(daskkernels.__path__, "daskkernels."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_there_are_examples() -> None:
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(bool(test.examples) for tests in found for test in tests) >= 5
