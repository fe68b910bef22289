"""Types that a user asks for: a value is kept or refused with its row, in features and in labels."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.readers import ReaderError, ReadOptions, exact, open_table

X = np.arange(6, dtype="<i2").reshape(2, 3)


types = st.sampled_from(["?", "i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8"])
whole = [
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    2**24 + 1,
    2**31,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
]
broken = [0.5, -0.25, 65504.0, 1e5, 1e300, 2.0**24 + 2, 2.0**63, 2.0**64]


def fits(value: float, target: np.dtype) -> bool:
    """Whether a type holds a value, by the exact arithmetic of Python."""
    if target.kind == "b":
        return value in (0, 1)
    if target.kind in "iu":
        return value == int(value) and np.iinfo(target).min <= value <= np.iinfo(target).max
    with np.errstate(over="ignore"):
        nearest = float(target.type(value))
    return np.isfinite(nearest) and Fraction(nearest) == Fraction(value)


@given(source=types, target=types, value=st.sampled_from([*whole, *broken]))
@settings(max_examples=300)
def test_a_cast_keeps_the_value_or_says_where_it_does_not(source: str, target: str, value: float) -> None:
    if not fits(value, np.dtype(source)):
        return
    values = np.array([[0, value]], source)
    if fits(value, np.dtype(target)):
        cast = exact.as_type(values, np.dtype(target), 5)
        assert (cast[0, 1].item(), cast.dtype) == (value, target)
        return
    with pytest.raises(ReaderError, match=f"row 5, column 1: .* is not exactly a {np.dtype(target)}"):
        exact.as_type(values, np.dtype(target), 5)


def test_not_a_number_stays_one_between_floats() -> None:
    values = np.array([np.nan, np.inf, -0.0])
    assert exact.as_type(values, np.dtype("f4"), 0).tobytes() == values.astype("f4").tobytes()
    with pytest.raises(ReaderError, match="row 0: nan is not exactly a int32"):
        exact.as_type(values, np.dtype("i4"), 0)


@pytest.mark.parametrize(
    ("labels", "label_type", "expected"),
    [
        (np.array([1, 2], "u1"), "float", [1.0, 2.0]),
        (np.array([1, 2], "u1"), "string", ["1", "2"]),
        (np.array([1.0, -2.0]), "int", [1, -2]),
        (np.array(["1", "2.5"]), "float", [1.0, 2.5]),
        (np.array([b"a", b"\xc3\xa9"]), "string", ["a", "é"]),
    ],
)
def test_types_of_labels(tmp_path: Path, labels: np.ndarray, label_type: str, expected: list) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    _, found = next(open_table(tmp_path / "a.npz", ReadOptions(label="y", label_type=label_type)).blocks(2))
    assert found is not None
    assert found.tolist() == expected
    assert type(found.tolist()[0]) is type(expected[0])


def test_a_label_that_is_no_number(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["1", "x"]))
    table = open_table(tmp_path / "a.npz", ReadOptions(label="y", label_type="int"))
    with pytest.raises(ReaderError, match=r"a\.npz: row 1: label 'x' is not a number: label_type 'string'"):
        list(table.blocks(2))
