"""Layer 1: what features that are products with all rows will cost, and what of them is held: those of random
projections and of kernel PCA.
"""

from __future__ import annotations

from dataclasses import dataclass

from .grid import TILE_ROWS, Grid
from .plan import Machine, Plan, PlanError, Residence, Step, Storage, described_residence
from .units import show_bytes

LEFT_ROWS = 4096  # that a product takes together
SUMS = 4  # blocks of sums (rows, c) in float64 that a thread has at a time, on their way up the tree


@dataclass(frozen=True)
class ProductTask:
    """n rows stored with d columns, c columns of the matrix K is multiplied with, s components."""

    n: int
    d: int
    stored: int  # bytes of a stored value
    width: int  # bytes of a computed value
    c: int
    s: int
    stage: str  # of the products
    products: int = 1  # n x n times n x c, in the fit
    held: int = 0  # matrices (n, c) in float64 that a fit has to hold
    moments_pass: bool = True
    residence: Residence = "store"

    @property
    def grid(self) -> Grid:
        """The canonical grid of X with c float64 values beside each row."""
        return Grid.canonical(self.n, max(self.d, -(-8 * self.c // self.stored)), self.stored)

    @property
    def streamed(self) -> bool:
        """Whether every pass reads X from a store."""
        return self.residence in ("store", "scratch")

    @property
    def left_rows(self) -> int:
        """Rows of the left side that are taken together."""
        block = self.grid.block_rows
        return min(self.n, block * max(1, -(-LEFT_ROWS // block)))

    @property
    def held_bytes(self) -> int:
        """Bytes that stay between the passes: those matrices and the weights of the features."""
        return self.n * 8 * (self.held * self.c + self.s)


def product_step(stage: str, task: ProductTask, columns: int, passes: int = 1) -> Step:
    """All rows against all rows, times a matrix of so many columns; X is read once for each left block."""
    n, lefts = task.n, -(-task.n // task.left_rows)
    read = float(passes * lefts * n * task.d * task.stored) if task.streamed else 0.0
    tasks = passes * lefts * (task.grid.n_blocks * 1.2 + 2)
    flops = 2.0 * passes * n * n * (task.d + columns)
    return Step(stage, passes, flops, read, 0.0, tasks, values=float(passes) * n * n)


def product_bytes(task: ProductTask) -> int:
    """Bytes one thread needs for its part of a product."""
    raw = task.grid.block_rows * task.d * task.stored
    left = task.left_rows * ((task.d + 2) * task.width + SUMS * task.c * 8)
    return 2 * raw + left + TILE_ROWS * (task.d + 2 + 512) * task.width + task.grid.block_rows * task.c * 8


def plan_products(task: ProductTask, machine: Machine, scratch: bool) -> Plan:
    """Plan the fit and one transform, and where the matrices of n rows stay. Raises PlanError."""
    working = product_bytes(task)
    x_held = task.n * task.d * task.stored if task.residence == "memory" else 0
    small = 5 * 8 * task.c**2
    room = machine.managed - x_held - machine.cores * working - machine.workers * small
    in_memory = task.held_bytes <= room
    per_worker = machine.base + small + machine.threads * working
    if per_worker > machine.memory * 0.8:
        raise PlanError(
            f"{task.c} columns at {task.d} features need {show_bytes(per_worker)} a worker, over 80 % of its "
            f"{show_bytes(machine.memory)}: raise memory_limit, or lower the number of columns or the threads"
        )
    if not in_memory and not scratch:
        raise PlanError(
            f"weights of {task.n} rows take {show_bytes(task.held_bytes)}, more than the workers' "
            f"{show_bytes(max(0, room))} for data: give scratch=, raise memory_limit, or lower n_components"
        )
    steps = [
        product_step(task.stage, task, task.c, task.products),
        product_step("nystrom-project", task, task.s),
    ]
    if task.moments_pass:
        read = task.n * task.d * task.stored if task.streamed else 0
        steps.insert(0, Step("bandwidth", 1, 24.0 * task.n * task.d, read, 0, task.grid.n_blocks * 1.2))
    choices = {
        "K": "computed again in every product, never held",
        "weights": "kept in memory" if in_memory else "kept in the scratch store",
        "X": described_residence(task.residence),
    }
    held = x_held + (task.held_bytes if in_memory else 0)
    peak = per_worker + task.grid.largest_share(held, machine.workers)
    client = 8 * task.c**2 * 6 + min(task.n * task.s * 8, 64 * 2**20)
    storage: Storage = "memory" if in_memory else "scratch"
    keep = in_memory and task.held_bytes + 8 * task.n * task.c <= room  # a projection, made once
    return Plan(tuple(steps), machine, peak, client, choices, keep, storage)
