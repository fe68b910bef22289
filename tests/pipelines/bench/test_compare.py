"""Tests of the comparison of two runs: what is noise, what is a change, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bench.compare import change_of_medians, compare
from pipelines.bench.records import ALLOWANCE, Limit
from pipelines.bench.result_file import Run, write_run
from pipelines.cli import main
from pipelines.failures import InputError
from tests.pipelines.bench.rows import row

Make = Callable[..., Run]
TRIALS = 2000


def timings(rng: np.random.Generator, spread: float, disturbed: float = 0.0, repeats: int = 5) -> np.ndarray:
    """Timings (TRIALS, repeats) around one second; some are disturbed, and take up to twice as long."""
    times = np.exp(spread * rng.normal(size=(TRIALS, repeats)))
    return times * np.where(rng.random(times.shape) < disturbed, rng.uniform(1.1, 2.0, times.shape), 1.0)


def flagged(old: np.ndarray, new: np.ndarray) -> float:
    """The share of trials in which the new timings are called slower."""
    ratio, noise = change_of_medians(old, new, ALLOWANCE)
    return float(np.mean(ratio > noise))


@given(st.integers(0, 2**32), st.floats(0.001, 0.3), st.sampled_from([0.0, 0.1]))
def test_equal_timings_are_rarely_flagged(seed: int, spread: float, disturbed: float) -> None:
    rng = np.random.default_rng(seed)
    assert flagged(timings(rng, spread, disturbed), timings(rng, spread, disturbed)) < 0.04


@given(st.integers(0, 2**32), st.floats(0.001, 0.03))
def test_a_slow_down_is_always_flagged(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    assert flagged(timings(rng, spread), 1.3 * timings(rng, spread)) == 1.0


@given(st.integers(0, 2**32), st.integers(0, 4), st.booleans())
def test_one_disturbed_sample_hides_nothing_and_makes_nothing(seed: int, which: int, in_new: bool) -> None:
    rng = np.random.default_rng(seed)
    old, new = (np.exp(0.01 * rng.normal(size=5)) for _ in range(2))
    (new if in_new else old)[which] *= 3
    ratio, noise = change_of_medians(old, new, ALLOWANCE)
    assert 1 / noise < ratio < noise
    ratio, noise = change_of_medians(old, 1.3 * new, ALLOWANCE)
    assert ratio > noise


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_only_ratios_count(scale: float, factor: float) -> None:
    base = np.array([1.0, 1.1, 0.9, 1.05, 0.97])
    ratio, noise = change_of_medians(scale * base, scale * factor * base, ALLOWANCE)
    same, other = change_of_medians(base, factor * base, ALLOWANCE)
    back, _ = change_of_medians(factor * base, base, ALLOWANCE)
    np.testing.assert_allclose([ratio, noise, back], [same, other, 1 / same], rtol=1e-9)
    np.testing.assert_allclose(ratio, factor)


def test_single_samples_have_the_allowance_alone() -> None:
    assert change_of_medians(np.ones(1), np.ones(1), 0.1) == pytest.approx((1.0, 1.1))


@pytest.mark.parametrize(
    ("unit", "ours", "flag", "worse"),
    [
        ("s", 1.5, "slower", True),
        ("s", 0.5, "faster", False),
        ("s", 1.05, "same", False),
        ("MiB", 1.5, "larger", True),
        ("NMI", 0.97, "worse", True),
        ("NMI", 1.03, "better", False),
        ("NMI", 0.999, "same", False),
    ],
)
def test_flags(unit: str, ours: float, flag: str, worse: bool, made_run: Make) -> None:
    found = compare(made_run(row(ours=(1.0,), unit=unit)), made_run(row(ours=(ours,), unit=unit)))
    (change,) = found.changes
    assert (change.flag, change.worse, found.regressed) == (flag, worse, worse)
    assert change.ratio == pytest.approx(ours)
    assert flag in found.table()


def test_a_slower_machine_is_no_regression(made_run: Make) -> None:
    disk = {"bench": "machine", "unit": "GB/s"}
    found = compare(made_run(row(ours=(1.0,), **disk)), made_run(row(ours=(0.5,), **disk)))
    assert found.changes[0].flag == "slower"
    assert not found.regressed


def test_what_was_not_judged_is_not_flagged(made_run: Make) -> None:
    for judged in ((True, False), (False, True)):
        old, new = (row(ours=(seconds,), judged=may) for seconds, may in zip((1.0, 5.0), judged, strict=True))
        found = compare(made_run(old), made_run(new))
        assert found.changes[0].flag == "not judged"
        assert not found.regressed


@pytest.mark.parametrize("other", [{"cpu": "another"}, {"threads": 4}, {"sgemm": 150.0}])
def test_on_another_machine_ratios_are_compared(other: dict, made_run: Make) -> None:
    def rows(speed: float, slow_down: float) -> tuple:
        limit = (Limit("zstd", 4.0 * speed, 1.0, "GB/s"), Limit("memory", 400.0 * speed, 1.0, "GB/s"))
        ours = (slow_down / speed,)
        return (
            row("raced", ours, (2 / speed,)),
            row("limited", ours, limits=limit),
            row("alone", ours),
            row("peak", (100.0 * slow_down,), unit="MiB"),
        )

    old = made_run(*rows(1.0, 1.0))
    for slow_down, flags in ((1.0, ["same", "same", "not compared", "same"]),
                             (1.3, ["slower", "slower", "not compared", "larger"])):  # fmt: skip
        found = compare(old, made_run(*rows(1.5, slow_down), **other))
        assert [change.flag for change in found.changes] == flags
        assert found.regressed is (slow_down > 1)
        assert "another machine" in found.table()
    assert [c.flag for c in compare(old, made_run(*rows(1.5, 1.0))).changes[:3]] == ["faster"] * 3


def test_rows_of_one_run_are_named(made_run: Make) -> None:
    text = compare(made_run(row("a"), row("b")), made_run(row("b"), row("c"), complete=False)).table()
    assert "only in the old run: a" in text
    assert "only in the new run: c" in text
    assert "the new run was interrupted" in text


def test_quick_and_full_are_not_compared(made_run: Make) -> None:
    with pytest.raises(InputError, match="the new run was --quick, the old one was not"):
        compare(made_run(row()), made_run(row(), quick=True))


@pytest.mark.parametrize(("seconds", "code"), [(1.0, 0), (2.0, 1)])
def test_command(
    seconds: float, code: int, made_run: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, ours in zip(paths, (1.0, seconds), strict=True):
        write_run(path, made_run(row(ours=(ours, 1.01 * ours))))
    assert main(["bench", "--compare", *map(str, paths)]) == code
    assert ("slower" if code else "same") in capsys.readouterr().out


def test_options_that_would_do_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--compare", "a", "b", "--quick", "--json", "c"]) == 2
    assert "leave out --quick, --json" in capsys.readouterr().err
