"""Tests: the table of docs/scale.md is what the planner says."""

from __future__ import annotations

from pathlib import Path

import pytest

from daskkernels.plan import X_SHARE, Machine, PlanError
from daskkernels.plan_clustering import Task, plan_kmeans
from daskkernels.plan_rounds import RoundTask
from daskkernels.plan_training import TrainingTask, assumed, plan_training
from daskkernels.units import show_seconds

GIB = 2**30
TABLE = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| 10^")
]


def gpus(count: int) -> Machine:
    return Machine(
        workers=count,
        memory=140 * GIB,
        base=2 * GIB,
        gflops=40_000.0 * count,
        read_rate=4e9 * count,
        link_rate=20e9,
        latency=0.001,
        in_process=False,
        map_seconds=3e-12,
    )


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:2]))
def test_the_table_is_what_the_planner_says(row: list[str]) -> None:
    n, machine, d = 10 ** int(row[0].removeprefix("10^")), gpus(int(row[1])), 100
    clustering = plan_kmeans(Task(n=n, d=d, stored=4, width=4, c=1000, rank=500, s=100, k=10), machine)
    assert show_seconds(clustering.seconds) == row[2]
    streamed = 1.0 - min(1.0, machine.managed * X_SHARE / (n * d * 4))
    task = TrainingTask(assumed(RoundTask(n, d, 10, 4000, 0, 1, 4, 4, streamed, unit=True)), 1, "store")
    if row[3] == "refused":
        with pytest.raises(PlanError, match="raise memory_limit or use more workers"):
            plan_training(task, machine)
        return
    rounds, training = plan_training(task, machine)
    assert [show_seconds(training.seconds), "held", str(rounds.tasks_a_round)] == row[3:]
    assert streamed == 0.0


def test_all_sizes_are_there() -> None:
    assert [row[:2] for row in TABLE] == [[f"10^{p}", str(w)] for p in (7, 8, 9) for w in (1, 8, 64)]
