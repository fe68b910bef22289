"""Layer 1: what Nyström features and k-means on them will cost, and what of them stays in memory."""

from __future__ import annotations

from dataclasses import dataclass

from .grid import TILE_ROWS, Grid
from .plan import (
    EIGENSYSTEM,
    FETCHED_BYTES,
    Machine,
    Plan,
    PlanError,
    Residence,
    Step,
    Storage,
    bandwidth_step,
    described_residence,
    peak_of,
)
from .plan_products import ProductTask, plan_products, product_step
from .units import show_bytes

LANDMARKS = "nystrom-landmarks"
LLOYD_BLOCK_BYTES = 32 * 2**20  # twice that while it is put together, in each thread
LLOYD_SPLIT_BYTES = 2 * 2**20  # less than this is not worth a task of its own
LLOYD_BLOCKS = 8
SEED_PASSES = 7  # of k-means||
CANDIDATES = 5  # times k, at hand in a pass of k-means||, on average
ASSUMED_ITERATIONS = 75  # of Lloyd's algorithm: 40 to 131, median 71, in 15 fits of 16 000 rows or more
# What a row of thin points costs in small steps, a dozen for 1024 rows, each of which waits for threads;
# what a value costs that is read or compared. Both times as long as a kernel value's map: 0.5 us and 2 ns.
ROW_VALUES, THIN_VALUE = 125.0, 0.5


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
    sampling: str = "uniform"  # how landmarks are chosen
    projected: bool = False  # a random projection of all rows stands in their place
    fetched: bool = False  # labels become an array of the client however many they are: X is one

    @property
    def products(self) -> ProductTask:
        """The same sizes where features are products with all rows."""
        return ProductTask(
            self.n,
            self.d,
            self.stored,
            self.width,
            self.c,
            self.s,
            "sketch-product",
            moments_pass=self.moments_pass,
            residence=self.residence,
        )

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


def _landmark_step(task: Task) -> Step:
    """Choosing the landmarks."""
    n, c, d, blocks = task.n, task.c, task.d, task.grid.n_blocks
    read = float(n * d * task.stored) if task.streamed else 0.0
    if task.sampling == "leverage":
        flops, values = 4.0 * n * c * (d + c), 2.0 * n * c
        return Step(LANDMARKS, 2, flops, 2 * read, 0.0, blocks * 2.4, values=values)
    if task.sampling == "rls":  # in float64: twice the time of an operation
        passes = max(1, (n // max(8, c)).bit_length())
        flops, values = 8.0 * n * c * (d + c), 2.0 * n * c
        return Step(LANDMARKS, passes, flops, passes * read, 0.0, passes * blocks * 1.2, values=values)
    if task.sampling == "kmeans":
        sample = min(n, max(10_000, 10 * c))
        return Step(LANDMARKS, 0, 40.0 * sample * c * d, read, 0.0, blocks + 300)
    return Step(LANDMARKS, 0, 0.0, min(read, c * 2.0**20), 0, min(blocks, c))


def plan_features(task: Task, machine: Machine, scratch: bool = False, keep: bool = True) -> Plan:
    """Plan the two passes of the Nyström features and whether their columns stay in memory between them.

    `keep` False: both passes are not of one fit, so that nothing can stay.
    """
    if task.projected:
        return plan_products(task.products, machine, scratch)
    columns = task.n * task.c * task.width
    keep_columns = keep and columns + task.n * task.s * task.width <= _room(task, machine)
    read = task.n * task.d * task.stored if task.streamed else 0
    column_flops, values = 2.0 * task.n * task.c * task.d, float(task.n * task.c)
    blocks = task.grid.n_blocks
    sent = blocks * task.rank**2 * 8 * (0 if machine.in_process else 1)
    gram = task.n * task.rank * (2.0 * task.c + task.rank)
    steps = [
        Step(
            "nystrom-gram",
            1,
            column_flops + gram,
            read,
            sent,
            blocks * 1.2,
            values=values,
            alone=EIGENSYSTEM * (task.c**3 + task.rank**3),
            width=task.width,
        ),
        Step(
            "nystrom-project",
            1,
            (0 if keep_columns else column_flops) + 2.0 * task.n * task.c * task.s,
            0 if keep_columns else read,
            0,
            blocks,
            values=values if not keep_columns else values / 2,
            width=task.width,
        ),
    ]
    first = [bandwidth_step(task.n, task.d, read, blocks)] if task.moments_pass else []
    choices = {
        "columns": "kept in memory between the passes" if keep_columns else "computed twice, nothing kept",
        "X": described_residence(task.residence),
    }
    held = task.held + (columns if keep_columns else 0)
    return _checked(task, machine, (*first, _landmark_step(task), *steps), held, choices, keep_columns)


def plan_kmeans(
    task: Task, machine: Machine, scratch: bool = False, max_iter: int = 100, made: float | None = None
) -> Plan:
    """Plan the features and k-means on them, and where the features stay during the iterations.

    `made` is the number of iterations once it is known, a mean where there are restarts.
    """
    base = plan_features(task, machine, scratch)
    features = task.n * task.s * task.width
    room = _room(task, machine)
    room -= task.products.held_bytes if task.projected else 0
    storage: Storage = "memory" if features <= room else ("scratch" if scratch else "recomputed")
    assumed = min(max_iter, ASSUMED_ITERATIONS)
    seeds = CANDIDATES * task.k
    steps = [  # passes, products with so many vectors a row and restart, values read or compared
        _lloyd_step(task, storage, "kmeans-seed", SEED_PASSES, seeds, 2 * task.s + seeds),
        _lloyd_step(task, storage, "kmeans-variance", 1, 1, task.s),
        _lloyd_step(task, storage, "kmeans-assign", made or assumed, 2 * task.k, task.s + task.k),
        _lloyd_step(task, storage, "kmeans-labels", 1, task.k, 2 * task.s + task.k),
    ]
    described = {
        "memory": "kept in memory",
        "scratch": "kept in the scratch store",
        "recomputed": "recomputed in every iteration (give scratch= to avoid it)",
    }
    held = task.held + (features if storage == "memory" else 0)
    held += task.n * task.c * task.width if base.keep_columns else 0
    iterations = f"{made:.3g} made" if made else f"{assumed} assumed, of at most {max_iter}"
    choices = base.choices | {"features": described[storage], "iterations": iterations}
    return _checked(task, machine, (*base.steps, *steps), held, choices, base.keep_columns, storage)


def _lloyd_step(task: Task, storage: Storage, stage: str, passes: float, vectors: int, values: int) -> Step:
    """Passes over the points, or over X where they are made anew each time, for all restarts at once."""
    flops = 2.0 * task.n * task.s * vectors * task.n_init
    thin = task.n * (ROW_VALUES * 4 / task.width + THIN_VALUE * values) * task.n_init  # small steps are alike
    read = 0.0
    if storage == "scratch":
        read = float(task.n * task.s * task.width)
    elif storage == "recomputed":
        read = float(task.n * task.d * task.stored)
        made = product_step("", task.products, task.s).flops if task.projected else 0.0
        flops += made or 2.0 * task.n * task.c * (task.d + task.s)
        thin += float(task.n * task.c)
    blocks = -(-task.grid.n_blocks // lloyd_factor(task.grid, task.s, task.width))
    return Step(
        stage,
        passes,
        passes * flops,
        passes * read,
        0,
        passes * (blocks * 1.2 + 1),
        values=passes * thin,
        width=task.width,
    )


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
    peak = per_worker + task.grid.largest_share(held, machine.workers)
    labels = task.n * 4 if task.fetched else min(task.n * 4, FETCHED_BYTES)
    client = task.c**2 * 8 * 5 + task.rank**2 * 8 * 4 + labels
    if per_worker > machine.memory * 0.8:
        raise PlanError(
            f"n_landmarks={task.c} at {task.d} columns needs {show_bytes(per_worker)} a worker, "
            f"{show_bytes(machine.base)} of it the bare process, over 80 % of "
            f"its {show_bytes(machine.memory)}: raise memory_limit, or lower n_landmarks or the threads"
        )
    peak = peak_of(machine, peak, client)
    if peak > machine.memory:
        raise PlanError(
            f"{task.n} rows and n_landmarks={task.c} need {show_bytes(peak)} in a process, more than its "
            f"{show_bytes(machine.memory)}: raise memory_limit, use more workers, lower n_landmarks, or keep "
            "the rows in a store (write_dataset)"
        )
    return Plan(steps, machine, peak, client, choices, keep_columns, features)
