"""Layer 1: what a fit will cost, as plain arithmetic on a `Machine` record; nothing is measured or run here.

The plan decides what is kept in memory, and refuses before running what cannot fit, naming the knob.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .grid import TILE_ROWS, Grid
from .units import show_bytes, show_seconds

Storage = Literal["memory", "scratch", "recomputed"]
Residence = Literal["store", "scratch", "memory", "caller"]  # where X is during a fit
_RESIDENCES = {
    "store": "streamed from its store in every pass",
    "scratch": "spooled to scratch once, streamed from there in every pass",
    "memory": "held by the workers",
    "caller": "used where it is, in this process",
}

MANAGED_SHARE = 0.5  # of a worker's limit: Dask moves data to disk at 60 % and pauses the worker at 80 %
X_SHARE = 0.7  # of the managed memory, for X that is not stored
LLOYD_BLOCK_BYTES = 32 * 2**20  # twice that while it is put together, in each thread
LLOYD_SPLIT_BYTES = 2 * 2**20  # less than this is not worth a task of its own
LLOYD_BLOCKS = 8
ASSUMED_ITERATIONS = 50  # of Lloyd's algorithm, for the prediction only
KERNEL_EFFICIENCY = 0.75  # of the machine's matrix product rate, over a whole pass


class PlanError(MemoryError):
    """Refused before running: it cannot fit. The message names what to change."""


@dataclass(frozen=True)
class Machine:
    """What the work runs on. Rates are of all workers together; None where they were not measured."""

    workers: int = 1
    threads: int = 1  # of one worker
    memory: int = 2 * 2**30  # bytes one worker may use
    base: int = 200 * 2**20  # bytes of a worker before it holds any data
    gflops: float = 100.0  # float32 matrix products, all workers
    read_rate: float = 1e9  # bytes per second out of a store, decompressed
    link_rate: float = 1e9  # bytes per second between processes
    latency: float = 0.002  # seconds for the scheduler to run one more task, all else idle
    in_process: bool = True

    @property
    def cores(self) -> int:
        """Threads of all workers."""
        return self.workers * self.threads

    @property
    def managed(self) -> int:
        """Bytes that all workers together may keep between passes."""
        return self.workers * max(0, int(self.memory * MANAGED_SHARE) - self.base)


@dataclass(frozen=True)
class Step:
    """One stage of a plan: how often it passes over the rows and what that costs."""

    stage: str
    passes: float
    flops: float = 0.0
    bytes_read: float = 0.0
    bytes_sent: float = 0.0
    tasks: float = 0.0

    def seconds(self, machine: Machine) -> float:
        """Predicted duration: reading and computing overlap, the scheduler's time does not."""
        compute = self.flops / (machine.gflops * 1e9 * KERNEL_EFFICIENCY)
        traffic = self.bytes_sent / machine.link_rate
        return (
            max(compute, self.bytes_read / machine.read_rate)
            + traffic
            + self.tasks * machine.latency / machine.cores
        )


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit will do, and after the fit also what it did (`measured`, seconds by stage)."""

    steps: tuple[Step, ...]
    machine: Machine
    worker_bytes: int  # predicted peak of one worker process, all of it
    client_bytes: int  # predicted peak of the client beyond what it holds already
    choices: dict[str, str]
    keep_columns: bool = False  # C stays in memory between the passes
    features: Storage = "memory"  # where k-means keeps its points
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Predicted seconds in all."""
        return sum(step.seconds(self.machine) for step in self.steps)

    @property
    def flops(self) -> float:
        """Arithmetic operations in all."""
        return sum(step.flops for step in self.steps)

    @property
    def passes(self) -> float:
        """Passes over the rows of X that read it."""
        return sum(step.passes for step in self.steps if step.bytes_read)

    def __repr__(self) -> str:
        head = (
            f"{'stage':<18}{'passes':>7}{'GFLOP':>10}{'read':>10}{'sent':>10}{'seconds':>9}{'measured':>10}"
        )
        lines = [head]
        for step in self.steps:
            measured = self.measured.get(step.stage)
            shown = "-" if measured is None else f"{measured:.2f}"
            read, sent = show_bytes(step.bytes_read), show_bytes(step.bytes_sent)
            lines.append(
                f"{step.stage:<18}{step.passes:>7.3g}{step.flops / 1e9:>10.3g}{read:>10}{sent:>10}"
                f"{step.seconds(self.machine):>9.2f}{shown:>10}"
            )
        m = self.machine
        lines.append(
            f"predicted {show_seconds(self.seconds)} at {m.gflops:.0f} GFLOP/s "
            f"on {m.workers} x {m.threads} threads"
        )
        lines.append(
            f"peak of a worker {show_bytes(self.worker_bytes)} of {show_bytes(m.memory)}, "
            f"of the client {show_bytes(self.client_bytes)}"
        )
        lines += [f"{name}: {choice}" for name, choice in self.choices.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Task:
    """The sizes that decide everything: n rows stored with d columns, c landmarks, rank l, s components, k
    clusters.
    """

    n: int
    d: int
    stored: int  # bytes of a stored value
    width: int  # bytes of a computed value
    c: int
    rank: int
    s: int
    k: int = 0
    n_init: int = 1
    moments_pass: bool = True
    residence: Residence = "store"

    @property
    def streamed(self) -> bool:
        """Whether every pass reads X from a store."""
        return self.residence in ("store", "scratch")

    @property
    def held(self) -> int:
        """Bytes of X that the workers hold all the time."""
        return self.n * self.d * self.stored if self.residence == "memory" else 0

    @property
    def grid(self) -> Grid:
        """The canonical grid of X."""
        return Grid.canonical(self.n, self.d, self.stored)


def residence(n_bytes: int, machine: Machine, *, stored: bool, in_caller: bool) -> Residence:
    """Where X of this size stays during a fit; "scratch" when it is neither stored nor fits the workers."""
    if stored:
        return "store"
    if in_caller and machine.in_process:
        return "caller"
    return "memory" if n_bytes <= machine.managed * X_SHARE else "scratch"


def lloyd_factor(grid: Grid, s: int, width: int) -> int:
    """How many neighbouring blocks Lloyd's algorithm takes as one: few, large ones on any machine."""
    total = grid.n_rows * s * width
    blocks = max(-(-total // LLOYD_BLOCK_BYTES), min(LLOYD_BLOCKS, -(-total // LLOYD_SPLIT_BYTES)), 1)
    return max(1, -(-grid.n_blocks // blocks))


def working_bytes(task: Task) -> int:
    """Bytes one thread needs for one block: the raw block and the buffers of a tile, or the points that it
    puts together for Lloyd's algorithm (parts, whole and their encoded copy).
    """
    raw = task.grid.block_rows * task.d * task.stored
    tile = TILE_ROWS * (task.d + 2 + task.c + task.rank) * task.width
    merged = lloyd_factor(task.grid, task.s, task.width) * task.grid.block_rows
    points = min(task.n, merged) * task.s * task.width if task.k else 0
    return max(2 * raw + tile, raw + 3 * points)


def operand_bytes(task: Task) -> int:
    """Bytes a worker needs besides blocks: landmarks, small matrices, shares of G on their way up."""
    operands = task.c * (task.d + 2) * task.width + task.c * (task.rank + task.s) * 8
    return operands + 10 * task.rank**2 * 8


def _room(task: Task, machine: Machine) -> int:
    """Bytes that all workers together have for results that stay between passes."""
    moving = machine.cores * working_bytes(task) + machine.workers * operand_bytes(task)
    return machine.managed - task.held - moving


def plan_features(task: Task, machine: Machine) -> Plan:
    """Plan the two passes of the Nyström features and whether their columns stay in memory between them."""
    columns = task.n * task.c * task.width
    room = _room(task, machine)
    features = task.n * task.s * task.width
    keep_columns = columns + features <= room
    read = task.n * task.d * task.stored if task.streamed else 0
    column_flops = 2.0 * task.n * task.c * task.d
    blocks = task.grid.n_blocks
    sent = blocks * task.rank**2 * 8 * (0 if machine.in_process else 1)
    gram = task.n * task.rank * (2.0 * task.c + task.rank)
    steps = [
        Step("nystrom-gram", 1, column_flops + gram, read, sent, blocks * 1.2),
        Step(
            "nystrom-project",
            1,
            (0 if keep_columns else column_flops) + 2.0 * task.n * task.c * task.s,
            0 if keep_columns else read,
            0,
            blocks,
        ),
    ]
    if task.moments_pass:
        steps.insert(0, Step("bandwidth", 1, 3.0 * task.n * task.d * 8, read, 0, blocks * 1.2))
    choices = {
        "columns": "kept in memory between the passes" if keep_columns else "computed twice, nothing kept",
        "X": _RESIDENCES[task.residence],
    }
    held = task.held + (columns if keep_columns else 0)
    return _checked(task, machine, tuple(steps), held, choices, keep_columns)


def plan_kmeans(task: Task, machine: Machine, scratch: bool = False, max_iter: int = 100) -> Plan:
    """Plan the features and k-means on them, and where the features stay during the iterations."""
    base = plan_features(task, machine)
    features = task.n * task.s * task.width
    room = _room(task, machine)
    storage: Storage = "memory" if features <= room else ("scratch" if scratch else "recomputed")
    iterations = min(max_iter, ASSUMED_ITERATIONS) + 2 * 6
    flops = 4.0 * task.n * task.s * task.k * task.n_init
    read = 0.0
    if storage == "scratch":
        read = float(features)
    elif storage == "recomputed":
        read = float(task.n * task.d * task.stored)
        flops += 2.0 * task.n * task.c * (task.d + task.s)
    blocks = -(-task.grid.n_blocks // lloyd_factor(task.grid, task.s, task.width))
    step = Step(
        "kmeans-assign", iterations, flops * iterations, read * iterations, 0, iterations * (blocks * 1.2 + 1)
    )
    described = {
        "memory": "kept in memory",
        "scratch": "kept in the scratch store",
        "recomputed": "recomputed in every iteration (give scratch= to avoid it)",
    }
    held = task.held + (features if storage == "memory" else 0)
    held += task.n * task.c * task.width if base.keep_columns else 0
    choices = base.choices | {"features": described[storage]}
    return _checked(task, machine, (*base.steps, step), held, choices, base.keep_columns, storage)


def _checked(
    task: Task,
    machine: Machine,
    steps: tuple[Step, ...],
    held: int,
    choices: dict[str, str],
    keep_columns: bool,
    features: Storage = "memory",
) -> Plan:
    """The plan, or PlanError when one worker cannot hold what its threads need at the same time."""
    per_worker = machine.base + operand_bytes(task) + machine.threads * working_bytes(task)
    peak = per_worker + held // machine.workers
    client = task.c**2 * 8 * 5 + task.rank**2 * 8 * 4 + task.n * 4
    if per_worker > machine.memory * 0.8:
        raise PlanError(
            f"n_landmarks={task.c} at {task.d} columns needs {show_bytes(per_worker)} a worker, "
            f"{show_bytes(machine.base)} of it the bare process, over 80 % of "
            f"its {show_bytes(machine.memory)}: raise memory_limit, or lower n_landmarks or the threads"
        )
    return Plan(steps, machine, peak, client, choices, keep_columns, features)
