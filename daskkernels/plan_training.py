"""Layer 1: what an EigenPro fit will cost, stage by stage: set-up, kernel values that are kept, epochs.

Before a fit the number of directions and the batch are not known: the most directions and a batch of 256
stand for them, which is what most data come to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .plan import (
    DENSE_EFFICIENCY,
    EIGENSYSTEM,
    FETCHED_BYTES,
    Machine,
    Plan,
    PlanError,
    Residence,
    Step,
    bandwidth_step,
    described_residence,
    peak_of,
)
from .plan_rounds import RoundPlan, RoundTask, plan_rounds, round_bytes
from .units import show_bytes

ASSUMED_BATCH = 256
TRIALS, TRIAL_ROWS = 16, 1500  # kernels that are tried, and rows that each is fitted to, twice
MOST_MEMORY = 0.9  # of a worker: Dask pauses it, and gives it up, above
LANCZOS = 170  # products with t x t in search of the directions
LANCZOS_VALUE = 9.0  # operations as long as such a product takes for a value: memory is what it waits for
DIRECTION_VALUE = 5.0  # times as long as the map: float64 values between single rows, made symmetric
FIRST_EPOCH = 0.45  # of its work is free: rows that have not been met yet have no weight


@dataclass(frozen=True)
class TrainingTask:
    """A fit: its rounds, and what comes before them."""

    rounds: RoundTask
    epochs: int
    residence: Residence
    moments_pass: bool = True  # for a bandwidth out of the data
    trials: bool = False  # kernel="auto"
    validation: int = 0  # rows that every epoch is judged by

    @property
    def streamed_bytes(self) -> float:
        """What a pass reads out of the store."""
        return self.rounds.streamed * self.rounds.n * self.rounds.d * self.rounds.stored


def assumed(task: RoundTask) -> RoundTask:
    """The sizes before the spectrum is known."""
    return replace(task, p=max(0, task.s // 4 - 1), m=min(task.n, ASSUMED_BATCH))


def plan_training(
    task: TrainingTask, machine: Machine, round_size: int | None = None
) -> tuple[RoundPlan, Plan]:
    """The rounds and the cost of all stages. Raises PlanError when it cannot fit, naming the knob."""
    sizes = task.rounds
    n, s = sizes.n, sizes.s
    rounds = _with_data(task, machine, plan_rounds(sizes, machine, round_size))
    steps = _set_up(task, machine)
    if rounds.tiles:
        size, blocks = float(n * sizes.d * sizes.stored), sizes.grid.n_blocks
        sent, read = size * (machine.workers - 1), task.streamed_bytes * blocks / 2
        made = Step("eigenpro-tiles", 1, rounds.tile_flops, read, sent, blocks, values=n * n / 2.0)
        steps.append(replace(made, width=sizes.width))
    steps.append(_epochs(task, rounds, machine))
    if task.validation:
        flops = 2.0 * task.validation * n * (sizes.d + sizes.outputs) * task.epochs
        read, tasks = task.streamed_bytes * task.epochs, sizes.grid.n_blocks * task.epochs
        judged = Step("eigenpro-validate", task.epochs, flops, read, 0, tasks, width=sizes.width)
        steps.append(replace(judged, values=float(task.validation) * n * task.epochs))
    client = s * s * 8 * 4 + 2 * min(2 * s, n) ** 2 * 8 + min(n * sizes.outputs * 8, FETCHED_BYTES)
    held = sizes.streamed < 1.0 and task.residence in ("store", "scratch")
    choices = {
        "X": rounds.why["X"] if held else described_residence(task.residence),
        "kernel values": rounds.why["kernel values"],
        "rounds": f"{rounds.round_size} rows, {rounds.tasks_a_round} tasks, {rounds.rounds_a_group} a graph",
    }
    peak = peak_of(machine, rounds.worker_bytes, client)
    return rounds, Plan(tuple(steps), machine, peak, client, choices)


def _set_up(task: TrainingTask, machine: Machine) -> list[Step]:
    """All that comes before the rounds."""
    sizes, steps = task.rounds, list[Step]()
    n, d, s, blocks = sizes.n, sizes.d, sizes.s, sizes.grid.n_blocks
    streamed = task.streamed_bytes
    if task.residence in ("store", "scratch") and sizes.streamed < 1.0:
        held = n * d * sizes.stored - streamed
        steps.append(Step("rows-persist", 1, 0.0, held, 0, blocks))
    if task.moments_pass or task.trials:
        steps.append(bandwidth_step(n, d, streamed, blocks))
    if task.trials:
        steps.append(_trials(d, sizes.outputs, min(n // 2, TRIAL_ROWS), machine))
    steps.append(_directions(sizes, machine))
    flops = 2.0 * n * s * (d + sizes.p)
    spectrum = Step("eigenpro-spectrum", 1, flops, streamed, 0, blocks * 1.2, values=float(n * s))
    steps.append(replace(spectrum, width=sizes.width))
    return steps


def _with_data(task: TrainingTask, machine: Machine, rounds: RoundPlan) -> RoundPlan:
    """The rounds with the rows and weights that a worker holds. Raises PlanError."""
    sizes = task.rounds
    share = {"caller": 0.0, "memory": 1.0}.get(task.residence, 1.0 - sizes.streamed)
    held = sizes.held(share, machine.workers)
    peak = rounds.worker_bytes + held
    if peak > machine.memory * MOST_MEMORY:
        raise PlanError(
            f"{sizes.n} rows of {sizes.d} columns and {sizes.outputs} outputs need {show_bytes(peak)} a "
            f"worker, {show_bytes(held)} of it rows and weights, over {MOST_MEMORY:.0%} of its "
            f"{show_bytes(machine.memory)}: raise memory_limit or use more workers"
        )
    return replace(rounds, worker_bytes=peak)


def _epochs(task: TrainingTask, rounds: RoundPlan, machine: Machine) -> Step:
    """All epochs: what is read, sent and scheduled; the arithmetic is what `plan_rounds` counts."""
    sizes, count = task.rounds, -(-task.rounds.n // rounds.round_size) * task.epochs
    read = sizes.streamed * sizes.n * sizes.d * sizes.stored * count
    sent = float(count) * round_bytes(sizes, machine, rounds.round_size)
    free = 0.0 if rounds.tiles else min(task.epochs, FIRST_EPOCH)
    seconds = task.epochs * rounds.epoch_seconds - free * (rounds.epoch_seconds - rounds.waiting_seconds)
    seconds += sent / machine.link_rate
    return Step(
        "eigenpro-predict",
        count,
        rounds.epoch_flops * task.epochs,
        read,
        sent,
        count * rounds.tasks_a_round,
        fixed=seconds,
    )


def _directions(sizes: RoundTask, machine: Machine) -> Step:
    """The eigensystem of s rows beside the values of t fresh ones, then the search, all by the client."""
    s, t = sizes.s, min(sizes.n, 2 * sizes.s)

    def seconds(flops: float, values: float) -> float:
        flops += 2.0 * sizes.d * values
        return flops / machine.dense_rate + values * DIRECTION_VALUE * machine.map_seconds

    solving, fresh = seconds(EIGENSYSTEM * s**3, float(s * s)), seconds(0.0, float(t * t))
    first = max(solving, fresh) if machine.cores > 1 else solving + fresh
    search = 2.0 * t * s * sizes.p + LANCZOS * LANCZOS_VALUE * t * t
    flops = EIGENSYSTEM * s**3 + 2.0 * sizes.d * (s * s + s * t + t * t) + search
    return Step("eigenpro-directions", 0, flops, fixed=first + seconds(search, float(s * t)))


def _trials(d: int, outputs: int, rows: int, machine: Machine) -> Step:
    """Kernels tried on a sample: four tasks."""
    flops = TRIALS * (4.0 * rows**3 / 3 + 8.0 * rows**2 * outputs) + 4 * 8.0 * rows**2 * d
    rate = machine.gflops * 1e9 / machine.cores * min(machine.cores, 4) * DENSE_EFFICIENCY
    return Step("eigenpro-kernel", 0, flops, tasks=4, fixed=flops / rate)
