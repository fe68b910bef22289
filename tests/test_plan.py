"""Tests: plans are arithmetic: what is kept where, what is predicted, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.grid import Grid
from daskkernels.plan import Machine, PlanError, Step
from daskkernels.plan_clustering import (
    LLOYD_BLOCKS,
    Task,
    lloyd_factor,
    plan_features,
    plan_kmeans,
    working_bytes,
)
from daskkernels.units import show_bytes, show_seconds

MIB, GIB = 2**20, 2**30
TASK = Task(n=1_000_000, d=20, stored=4, width=4, c=400, rank=200, s=80, k=10)
LAPTOP = Machine(workers=2, threads=1, memory=2 * GIB)
ROOMY = replace(LAPTOP, memory=64 * GIB)
TIGHT = replace(LAPTOP, memory=600 * MIB)


def test_choices_follow_the_memory() -> None:
    roomy, laptop, tight = (plan_kmeans(TASK, m) for m in (ROOMY, LAPTOP, TIGHT))
    assert (roomy.keep_columns, roomy.features) == (True, "memory")
    assert (laptop.keep_columns, laptop.features) == (False, "memory")  # C is 1.5 GiB, B 305 MiB
    assert (tight.keep_columns, tight.features) == (False, "recomputed")
    assert plan_kmeans(TASK, TIGHT, scratch=True).features == "scratch"
    assert plan_kmeans(TASK, LAPTOP, scratch=True).features == "memory"
    assert "scratch=" in tight.choices["features"]


def test_passes() -> None:
    """Bandwidth, Gram, features; the third is free when columns are kept; Lloyd reads when recomputing."""
    assert plan_features(TASK, LAPTOP).passes == 3
    assert plan_features(TASK, ROOMY).passes == 2
    assert plan_features(replace(TASK, moments_pass=False), ROOMY).passes == 1
    assert plan_features(replace(TASK, residence="caller"), LAPTOP).passes == 0
    assert plan_kmeans(TASK, LAPTOP).passes == 3
    assert plan_kmeans(TASK, TIGHT).passes > 20


def test_flops() -> None:
    n, d, c, rank, s = TASK.n, TASK.d, TASK.c, TASK.rank, TASK.s
    steps = {step.stage: step for step in plan_features(TASK, LAPTOP).steps}
    assert steps["nystrom-gram"].flops == 2 * n * c * d + 2 * n * c * rank + n * rank**2
    assert steps["nystrom-project"].flops == 2 * n * c * (d + s)
    assert steps["nystrom-gram"].bytes_read == n * d * 4
    kept = {step.stage: step for step in plan_features(TASK, ROOMY).steps}
    assert kept["nystrom-project"].flops == 2 * n * c * s


def test_float64_takes_twice_as_long() -> None:
    """Products and maps; what a row of thin points costs besides does not."""
    for plan, low in ((plan_features, 1.6), (plan_kmeans, 1.2)):
        tall = replace(TASK, c=100, rank=50, s=40, residence="caller")  # little is read or scheduled
        single, double = (plan(replace(tall, width=w), ROOMY) for w in (4, 8))
        assert low < double.seconds / single.seconds <= 2.0


def test_one_core_alone_has_the_eigensystems() -> None:
    """c^3 on one core, however many there are."""
    many = replace(ROOMY, workers=64, gflops=6400.0)
    gram = [plan_features(replace(TASK, c=c, rank=c // 2), many).steps[2] for c in (1000, 2000)]
    assert [step.stage for step in gram] == ["nystrom-gram"] * 2
    assert gram[1].alone == 8 * gram[0].alone
    assert gram[1].seconds(many) > gram[1].alone / many.dense_rate > 1.0


def test_columns_of_one_fit_are_not_there_for_another() -> None:
    apart = plan_features(TASK, ROOMY, keep=False)
    assert not apart.keep_columns
    assert apart.worker_bytes < plan_features(TASK, ROOMY).worker_bytes
    assert apart.passes == 3


def test_iterations_are_assumed_then_known() -> None:
    """Seconds and the words beside them follow what was made; no more than the most there can be."""
    before, few = plan_kmeans(TASK, LAPTOP), plan_kmeans(TASK, LAPTOP, max_iter=20)
    after = plan_kmeans(TASK, LAPTOP, made=12.5)
    steps = [next(s for s in plan.steps if s.stage == "kmeans-assign") for plan in (before, few, after)]
    assert [step.passes for step in steps] == [75, 20, 12.5]
    said = ["75 assumed, of at most 100", "20 assumed, of at most 20", "12.5 made"]
    assert [plan.choices["iterations"] for plan in (before, few, after)] == said
    assert steps[2].seconds(LAPTOP) == pytest.approx(steps[0].seconds(LAPTOP) / 6)


def test_a_process_that_does_it_all_has_the_peak_of_its_larger_part() -> None:
    alone = replace(ROOMY, workers=1, in_process=True)
    large = replace(TASK, n=10_000, c=4000, rank=2000)
    plan = plan_features(large, alone, keep=False)
    assert plan.worker_bytes == alone.base + plan.client_bytes
    assert plan_features(large, replace(alone, in_process=False), keep=False).worker_bytes < plan.worker_bytes


def test_labels_that_do_not_fit_are_refused() -> None:
    """An array's labels are an array, of any length; those of lazy rows stay with the workers."""
    lazy = replace(TASK, n=10**9)
    assert plan_kmeans(lazy, LAPTOP).client_bytes < LAPTOP.memory
    with pytest.raises(PlanError, match=r"1000000000 rows and n_landmarks=.* raise memory_limit"):
        plan_kmeans(replace(lazy, fetched=True), LAPTOP)


def test_restarts_cost_arithmetic_not_passes() -> None:
    one, five = (plan_kmeans(replace(TASK, n_init=i), LAPTOP) for i in (1, 5))
    assert five.passes == one.passes
    assert five.steps[-1].flops == 5 * one.steps[-1].flops


def test_seconds() -> None:
    machine = Machine(workers=1, threads=1, gflops=100.0, read_rate=1e9, link_rate=1e9, latency=0.01)
    assert Step("s", 1, flops=75e9).seconds(machine) == pytest.approx(1.0)
    assert Step("s", 1, flops=75e9, bytes_read=0.5e9).seconds(machine) == pytest.approx(1.0)  # they overlap
    assert Step("s", 1, bytes_read=2e9, bytes_sent=1e9).seconds(machine) == pytest.approx(3.0)
    assert Step("s", 1, tasks=100).seconds(machine) == pytest.approx(1.0)
    plan = plan_kmeans(TASK, LAPTOP)
    assert plan.seconds == pytest.approx(sum(step.seconds(LAPTOP) for step in plan.steps))
    assert plan_kmeans(TASK, replace(LAPTOP, gflops=10.0)).seconds > plan.seconds


def test_predicted_memory_holds_what_is_kept() -> None:
    laptop, roomy = plan_kmeans(TASK, LAPTOP), plan_kmeans(TASK, ROOMY)
    assert laptop.worker_bytes > LAPTOP.base + TASK.n * TASK.s * 4 // 2
    assert TASK.grid.n_blocks == 41  # one of two workers has 21 of them
    assert roomy.worker_bytes - laptop.worker_bytes == pytest.approx(TASK.n * TASK.c * 4 * 21 / 41, rel=1e-6)
    assert laptop.client_bytes >= TASK.c**2 * 8


@given(
    st.integers(1, 10**8), st.integers(1, 1000), st.integers(1, 2000), st.integers(1, 64), st.integers(1, 8)
)
def test_what_is_planned_fits(n: int, d: int, c: int, gib: int, threads: int) -> None:
    task = Task(n=n, d=d, stored=8, width=8, c=c, rank=-(-c // 2), s=min(-(-c // 2), 80), k=10)
    machine = Machine(workers=2, threads=threads, memory=gib * GIB)
    try:
        plan = plan_kmeans(task, machine)
    except PlanError:
        assert machine.base + threads * working_bytes(task) > 0.5 * machine.memory
    else:
        assert plan.worker_bytes <= machine.memory


def test_refusals_name_the_knobs() -> None:
    greedy = replace(TASK, c=20_000, rank=10_000, d=1000)
    with pytest.raises(PlanError, match=r"n_landmarks=20000 .*1000 columns.*memory_limit") as caught:
        plan_kmeans(greedy, LAPTOP)
    assert isinstance(caught.value, MemoryError)
    assert "GiB" in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.integers(1, 10**9), st.integers(1, 500), st.sampled_from([4, 8]))
def test_lloyd_blocks(n: int, s: int, width: int) -> None:
    """Few and large, and a function of the data alone."""
    grid = Grid.canonical(n, 20, 4)
    merged = grid.merged(lloyd_factor(grid, s, width))
    total = n * s * width
    assert merged.n_blocks <= max(LLOYD_BLOCKS, -(-total // (64 * MIB))) or merged.n_blocks <= grid.n_blocks
    if total <= 2 * MIB:
        assert merged.n_blocks == 1


def test_lloyd_uses_every_core_of_a_small_machine() -> None:
    grid = Grid.canonical(70_000, 784, 1)
    assert 4 <= grid.merged(lloyd_factor(grid, 80, 4)).n_blocks <= LLOYD_BLOCKS


def test_machine() -> None:
    machine = Machine(workers=3, threads=2, memory=2 * GIB, base=GIB // 2)
    assert machine.cores == 6
    assert machine.managed == 3 * GIB // 2
    assert replace(machine, base=10 * GIB).managed == 0


def test_table() -> None:
    plan = plan_kmeans(TASK, LAPTOP)
    text = str(replace(plan, measured={"nystrom-gram": 1.25, "nystrom-rest": 1.0}))
    for word in ("nystrom-gram", "kmeans-assign", "predicted", "peak of a worker", "1.25", "features: kept"):
        assert word in text
    for word in ("threads, measured 2.2 s", "iterations: 75 assumed"):
        assert word in text
    assert str(plan).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1.02e+03 B"), (1536, "1.5 KiB"), (3 * GIB, "3 GiB"), (2.0**60, "1.05e+06 TiB")],
)
def test_bytes(value: float, text: str) -> None:
    assert show_bytes(value) == text


@pytest.mark.parametrize(("value", "text"), [(99.0, "99.0 s"), (5400, "90 min"), (16324, "4 h 32 min")])
def test_seconds_as_text(value: float, text: str) -> None:
    assert show_seconds(value) == text
