"""Tests: one door to array libraries: numpy in place, array_api_strict by value."""

from __future__ import annotations

import sys

import array_api_strict as strict
import numpy as np
import pytest

from daskkernels import xp


def test_mapped_writes_over_a_numpy_array() -> None:
    x = np.array([1.0, 4.0])
    assert xp.mapped("sqrt", x) is x
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_mapped_keeps_the_layout_of_a_slice() -> None:
    whole = np.arange(6.0).reshape(2, 3)
    xp.mapped("negative", whole[:, :2])
    np.testing.assert_array_equal(whole, [[0, -1, 2], [-3, -4, 5]])


def test_mapped_returns_a_new_strict_array() -> None:
    x = strict.asarray([1.0, 4.0])
    y = xp.mapped("sqrt", x)
    np.testing.assert_array_equal(np.asarray(y), [1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [1.0, 4.0])


@pytest.mark.parametrize("library", [np, strict])
def test_mapped_passes_arguments(library) -> None:
    x = library.asarray([-1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(xp.mapped("maximum", x, 0.0)), [0.0, 2.0])


def test_namespaces() -> None:
    assert xp.namespace(strict.asarray([1.0])) is strict
    assert xp.module_of(np.zeros(1)) is np
    with pytest.raises(TypeError):
        xp.namespace(np.zeros(1), strict.asarray([1.0]))


def test_numpy_is_host_memory_already() -> None:
    x = np.zeros(3)
    assert xp.to_host(x) is x
    assert xp.like(x, np.ones(1)) is x
    assert not xp.is_on_device(x)
    assert not xp.is_on_device([1, 2])


def test_cupy_is_not_imported_without_need() -> None:
    xp.mapped("exp", np.zeros(2))
    assert "cupy" not in sys.modules
