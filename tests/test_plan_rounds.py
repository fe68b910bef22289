"""Tests: how epochs are cut into rounds: whole batches, within memory, one round where all rows fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.plan import Machine, PlanError
from daskkernels.plan_rounds import GROUP_TASKS, RoundTask, plan_rounds, resource_batch, round_bytes

GIB = 2**30
LAPTOP = Machine(workers=1, threads=2, memory=8 * GIB, base=GIB // 5)
TASK = RoundTask(n=100_000, d=100, outputs=10, s=2000, p=300, m=250, stored=4, width=4, streamed=False)


@given(
    n=st.integers(2, 10**8),
    d=st.sampled_from([1, 30, 784, 3000]),
    m=st.integers(1, 2000),
    outputs=st.sampled_from([1, 10, 1000]),
    streamed=st.booleans(),
    given_size=st.one_of(st.none(), st.integers(1, 10**5)),
    threads=st.sampled_from([1, 2, 64]),
)
def test_rounds(
    n: int, d: int, m: int, outputs: int, streamed: bool, given_size: int | None, threads: int
) -> None:
    """Whole batches, or all rows; never more than there are; a worker's memory is kept to."""
    m = min(m, n)
    task = replace(TASK, n=n, d=d, m=m, outputs=outputs, streamed=streamed)
    machine = replace(LAPTOP, threads=threads, memory=64 * GIB)
    plan = plan_rounds(task, machine, given_size)
    assert m <= plan.round_size <= n
    assert plan.round_size % m == 0 or plan.round_size == n
    assert plan.strip_rows >= 1
    assert plan.rounds_a_group >= 1
    assert plan.rounds_a_group == 1 or plan.rounds_a_group * plan.tasks_a_round <= 1.5 * GROUP_TASKS
    assert plan.worker_bytes < machine.memory
    assert plan.epoch_seconds > 0


@pytest.mark.parametrize(("n", "m"), [(600, 7), (3000, 392), (1003, 100)])
def test_one_round_where_all_rows_fit(n: int, m: int) -> None:
    """A second pass over all rows for the few that were left by whole batches costs as much as the first."""
    for size in (None, 10**6):
        plan = plan_rounds(replace(TASK, n=n, m=m, d=5), replace(LAPTOP, gflops=2000.0), size)
        assert plan.round_size == n, size


def test_reading_makes_rounds_longer() -> None:
    """Arithmetic long against reading: 2 n M (d + l) / rate against n d stored / read_rate."""
    slow = replace(LAPTOP, read_rate=5e7)
    assert plan_rounds(replace(TASK, streamed=True), slow).round_size > plan_rounds(TASK, slow).round_size


def test_little_memory() -> None:
    """Shorter rounds first, then a refusal that names what to change."""
    sizes = [plan_rounds(TASK, replace(LAPTOP, memory=int(g * GIB)), 8000).round_size for g in (16, 2, 0.6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 8000
    with pytest.raises(PlanError, match=r"batch_size=250.*memory_limit"):
        plan_rounds(TASK, replace(LAPTOP, memory=GIB // 5 + 2**20))


def test_a_given_size_that_is_not_taken_is_not_called_given() -> None:
    """Cut by memory or by the largest round: the plan says so."""
    plan: Any = plan_rounds(TASK, replace(LAPTOP, memory=64 * GIB), 50_000)
    assert plan.round_size == 50_000 or plan.why["round_size"] != "given"


def test_room_for_kept_values() -> None:
    """As computed where there is much memory, in 16 bits where there is less, else not at all."""
    task = RoundTask(60_000, 784, 10, 2000, 499, 200, 4, 4, 0.0, unit=True)
    sizes = {gib: plan_rounds(task, Machine(threads=2, memory=gib * 2**30)) for gib in (4, 12, 48)}
    assert [plan.tiles for plan in sizes.values()] == [None, "uint16", "float32"]
    assert sizes[12].worker_bytes < 12 * 2**30
    assert sizes[12].epoch_seconds < sizes[4].epoch_seconds / 4
    with pytest.raises(PlanError, match=r"keep_kernel=True: .* do not fit in .*: raise memory_limit"):
        plan_rounds(replace(task, keep=True), Machine(threads=2, memory=4 * 2**30))
    assert plan_rounds(replace(task, keep=False), Machine(threads=2, memory=48 * 2**30)).tiles is None
    assert plan_rounds(replace(task, unit=False), Machine(memory=12 * 2**30)).tiles is None


def test_many_outputs_cost_one_core_and_the_way_between_processes() -> None:
    """Batches are solved on one core; what they need and leave goes from worker to worker."""
    machine = replace(LAPTOP, memory=64 * GIB)
    one, many = (plan_rounds(replace(TASK, outputs=count, keep=False), machine, 4096) for count in (1, 1000))
    assert many.epoch_seconds > one.epoch_seconds
    assert round_bytes(TASK, machine, 4096) == 0
    apart = replace(machine, in_process=False)
    assert round_bytes(TASK, apart, 4096) == 0
    two, eight = (round_bytes(TASK, replace(apart, workers=w), 4096) for w in (2, 8))
    rows = 4096 * (TASK.d * 12 + 3 * TASK.outputs * 8)
    assert two > rows
    assert two < eight < 3 * two  # rows are passed on three times, shares merged by more workers


def test_the_published_rule_for_the_batch() -> None:
    """(d + l) m n operations take as long as what a pass costs anew; more memory or speed, more rows."""
    fast, slow = (resource_batch(TASK, replace(LAPTOP, gflops=rate)) for rate in (10_000.0, 100.0))
    assert 1 <= slow < fast
    assert resource_batch(replace(TASK, n=10**9), LAPTOP) == 1
    few = replace(LAPTOP, gflops=1e9, memory=GIB)
    assert resource_batch(TASK, few) == int(few.managed / 4 / TASK.n - 110) or resource_batch(TASK, few) == 1
