"""Layer 1: how EigenPro's epochs are cut into rounds: plain arithmetic on the sizes and a `Machine` record.

The size of a round changes the answer by rounding only, so it may depend on the machine; what changes the
mathematics (q, m and the step) never does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .grid import TILE_ROWS, Grid
from .plan import KERNEL_EFFICIENCY, Machine, PlanError
from .units import show_bytes

OVERHEAD = 0.05  # of a round's arithmetic, that reading the rows may take
ROUND_SHARE = 0.5  # of a worker's memory for rounds and the bare process, whatever it holds besides
WORKING_SHARE = 0.7  # for all of them: Dask would move data to disk from here on
MOST_ROUND = 8192  # rows: the square of more takes memory and gains nothing
KEPT_ROUND = 4096  # rows at least where kernel values are kept: gathering more at a time is cheaper
KEPT_SHARE = 0.8  # of the managed memory, for kernel values that are kept
WORTH_KEEPING = 1.0  # seconds of an epoch that kernel values take: rounds cost the same with kept ones
GATHERED = 5e-9  # seconds of a core to gather and convert a kept value: 4e-9 on an EPYC, 5.5e-9 on a Xeon
KEPT_EFFICIENCY = 0.3  # of the matrix product rate, for kept values times weights
ROUND_SECONDS = 0.1  # of a round in which its batches are solved one after another, and others wait
SOLVE_EFFICIENCY = 0.15  # of one core's rate meanwhile: 144 outputs make it 0.27 s
_WIDTHS = {"uint16": 2, "float32": 4, "float64": 8}
GROUP_TASKS = 4000  # of one graph
GROUP_ROUNDS = 32


@dataclass(frozen=True)
class RoundTask:
    """The sizes that decide: n rows of d columns, l outputs, s subsampled rows, p directions, m a batch."""

    n: int
    d: int
    outputs: int
    s: int
    p: int
    m: int
    stored: int  # bytes of a stored value
    width: int  # bytes of a computed value
    streamed: float  # share of X that is read from a store in every round
    unit: bool = False  # whether float32 kernel values lie in [0, 1], where 16 bits hold them
    keep: bool | None = None  # whether kernel values are kept between epochs; None decides

    @property
    def grid(self) -> Grid:
        """The canonical grid of X."""
        return Grid.canonical(self.n, self.d, self.stored)

    def held(self, share: float, workers: int) -> int:
        """Bytes of one worker for a share of the rows, and for the weights before and after a round."""
        rows = self.n * (share * self.d * self.stored + 2 * self.outputs * 8)
        return self.grid.largest_share(rows, workers)


@dataclass(frozen=True)
class RoundPlan:
    """M rows a round, computed in strips, in groups of rounds that make one graph."""

    round_size: int
    strip_rows: int
    rounds_a_group: int
    worker_bytes: int  # predicted peak of one worker process
    epoch_seconds: float  # predicted
    waiting_seconds: float  # of them, what its rounds take besides arithmetic and reading
    epoch_flops: float
    tasks_a_round: int
    tiles: str | None = None  # the type that kernel values are kept in, so that they are computed once
    tile_bytes: int = 0  # of all workers together
    tile_flops: float = 0.0  # once
    why: dict[str, str] = field(default_factory=dict)


def plan_rounds(task: RoundTask, machine: Machine, given: int | None = None) -> RoundPlan:
    """Choose M: the extra arithmetic M^2 d against what every round costs anew, within memory.

    Where half of the n x n kernel values fit in memory they are computed once. Raises PlanError when not even
    one batch fits, or when values are to be kept that do not fit.
    """
    tasks, fixed = _fixed(task, machine)
    size = _round_size(task, machine, fixed, given, None)
    tiles = _tiles(task, machine, _pair_seconds(task, machine, size))
    size = _round_size(task, machine, fixed, given, tiles)
    strip = max(TILE_ROWS // 4, -(-size // (2 * machine.cores)), -(-size // max(1, task.grid.n_blocks // 8)))
    rounds = -(-task.n // size)
    waiting = _waiting_seconds(task, machine, fixed, size)
    kept = _tile_bytes(task, tiles) if tiles else 0
    share = task.grid.largest_share(kept, machine.workers)
    return RoundPlan(
        round_size=size,
        strip_rows=strip,
        rounds_a_group=max(1, min(rounds, GROUP_ROUNDS, GROUP_TASKS // tasks)),
        worker_bytes=machine.base + _bytes(task, size, machine) + share,
        epoch_seconds=_working_seconds(task, machine, size, tiles) + waiting,
        waiting_seconds=waiting,
        epoch_flops=_epoch_flops(task, size, tiles),
        tasks_a_round=tasks + -(-size // strip),
        tiles=tiles,
        tile_bytes=kept,
        tile_flops=_tile_flops(task) if tiles else 0.0,
        why=_why(task, fixed, given == size, tiles, kept),
    )


def _fixed(task: RoundTask, machine: Machine) -> tuple[int, float]:
    """The tasks of a round besides its strips, and the seconds that they cost whatever their size is."""
    tasks = math.ceil(task.grid.n_blocks * 8 / 7) + 2
    return tasks, tasks * machine.latency / machine.cores + 2 * machine.latency


def resource_batch(task: RoundTask, machine: Machine) -> int:
    """m_G of the published rule: the rows whose arithmetic fills the machine, or its memory [E step 1].

    (d + l) m n = C_G, what is computed in the time that a pass costs anew; (d + l + m) n = S_G.
    """
    _, fixed = _fixed(task, machine)
    width = task.d + task.outputs
    filling = fixed * _rate(machine) / 2 / (width * task.n)
    fitting = max(machine.managed, 0) / task.width / task.n - width
    return max(1, int(min(filling, fitting, task.n)))


def _round_size(task: RoundTask, machine: Machine, fixed: float, given: int | None, tiles: str | None) -> int:
    """M. Raises PlanError."""
    rate, width = _rate(machine, task.width), task.d + task.outputs
    best = math.sqrt(fixed * rate / width)
    if task.streamed:  # 2 n M (d + l) / rate must be long against n d stored / read_rate
        seconds = task.streamed * task.d * task.stored / machine.read_rate
        best = max(best, seconds * rate / (2 * OVERHEAD * width))
    room = _fits(task, machine, tiles)
    if room < task.m:
        raise PlanError(
            f"batch_size={task.m} at {task.d} columns needs {show_bytes(_bytes(task, task.m, machine))} a "
            f"worker beside the {show_bytes(machine.base)} of the bare process and the rows it holds, over "
            f"{WORKING_SHARE:.0%} of its {show_bytes(machine.memory)}: raise memory_limit or lower batch_size"
        )
    least = KEPT_ROUND if tiles else TILE_ROWS
    wanted = given or int(min(max(best, least), MOST_ROUND))
    size = min(max(wanted, task.m), room, task.n)
    return task.n if size >= task.n else max(size // task.m * task.m, min(task.m, task.n))


def _tiles(task: RoundTask, machine: Machine, seconds: float) -> str | None:
    """The type in which kernel values are kept between epochs. Raises PlanError where they must be.

    As computed where that takes half of the room, else in 16 bits where values lie in [0, 1].
    """
    if task.keep is False or (task.keep is None and seconds < WORTH_KEEPING):
        return None
    held = (1.0 - task.streamed) * task.n * task.d * task.stored
    room = max(0.0, KEPT_SHARE * machine.managed - held)
    whole = f"float{8 * task.width}"
    choices = [(whole, 0.5 if task.unit else 1.0), *([("uint16", 1.0)] if task.unit else [])]
    for tiles, share in choices:
        if _tile_bytes(task, tiles) <= share * room:
            return tiles
    if task.keep:
        raise PlanError(
            f"keep_kernel=True: {show_bytes(_tile_bytes(task, choices[-1][0]))} of kernel values do not fit "
            f"in {show_bytes(room)}: raise memory_limit, or leave keep_kernel at 'auto'"
        )
    return None


def _tile_bytes(task: RoundTask, tiles: str) -> int:
    """Bytes of one half of the kernel values of n rows, blocks on the diagonal whole, and of U."""
    return task.n * (task.n + task.grid.block_rows) // 2 * _WIDTHS[tiles] + task.n * task.p * task.width


def _tile_flops(task: RoundTask) -> float:
    """Operations of all kernel values that are kept, and of U."""
    n = task.n
    return float(n) * (n + task.grid.block_rows) * (task.d + 2) + 2.0 * n * task.s * (task.d + task.p)


def _epoch_flops(task: RoundTask, size: int, tiles: str | None) -> float:
    """Operations of an epoch; of the products with kept values no arithmetic with d is left."""
    n, width = task.n, task.d + task.outputs
    if tiles:
        return 2.0 * n * n * task.outputs
    return 2.0 * n * n * width + n * size * task.d + 2.0 * n * task.s * (task.d + task.p)


def _waiting_seconds(task: RoundTask, machine: Machine, fixed: float, size: int) -> float:
    """Predicted seconds of an epoch in which its batches are solved, or the scheduler works."""
    rate = _rate(machine, task.width, SOLVE_EFFICIENCY) / machine.cores
    return -(-task.n // size) * (fixed + ROUND_SECONDS + _solve_flops(task, size) / rate)


def _working_seconds(task: RoundTask, machine: Machine, size: int, tiles: str | None) -> float:
    """The others: products with all rows, or values that are gathered."""
    read = -(-task.n // size) * task.streamed * task.n * task.d * task.stored / machine.read_rate
    if tiles:
        rate = _rate(machine, task.width, KEPT_EFFICIENCY)
        return task.n**2 * GATHERED / machine.cores + _epoch_flops(task, size, tiles) / rate + read
    return max(_pair_seconds(task, machine, size), read)


def _pair_seconds(task: RoundTask, machine: Machine, size: int) -> float:
    """Predicted seconds of the kernel values of an epoch."""
    values = task.n**2 * machine.map_seconds * task.width / 4 / machine.cores
    return _epoch_flops(task, size, None) / _rate(machine, task.width) + values


def _solve_flops(task: RoundTask, size: int) -> float:
    """Operations of one core at the end of a round, when its batches are solved."""
    return float(task.outputs) * size * (size + 4 * task.p)


def round_bytes(task: RoundTask, machine: Machine, size: int) -> float:
    """Bytes of a round that one process after another has to wait for.

    Its share of the predictions from blocks that are elsewhere, what the round's rows need besides, and the
    rows and their changes, which are passed on from worker to worker.
    """
    workers, outputs = machine.workers, size * task.outputs * 8
    if machine.in_process or workers == 1:
        return 0.0
    rows = size * task.d * (2 * task.width + task.stored) + 3 * outputs
    local = size * size / 2 * task.width + size * task.p * 8
    shares = 2 * task.grid.n_blocks / workers * outputs
    return (workers - 1) / workers * (shares + local) + math.ceil(math.log2(workers)) * rows


def _rate(machine: Machine, width: int = 4, efficiency: float = KERNEL_EFFICIENCY) -> float:
    """Operations a second of products in float32, or in float64, over a whole pass."""
    return machine.gflops * 1e9 * efficiency * 4 / width


def _why(task: RoundTask, fixed: float, given: bool, tiles: str | None, kept: int) -> dict[str, str]:
    """The reasons, by choice."""
    held = f"{task.streamed:.0%} read from its store in every round" if task.streamed else "held in memory"
    computed = f"kept as {tiles}, {show_bytes(kept)}" if tiles else "computed anew in every epoch"
    size = f"{fixed * 1e3:.3g} ms of fixed cost a round against {'M^2' if tiles else 'M^2 d'}"
    return {"round_size": "given" if given else size, "X": held, "kernel values": computed}


def _bytes(task: RoundTask, size: int, machine: Machine) -> int:
    """Bytes a worker needs for rounds of this size: the matrices of two of them, and blocks."""
    local = size * size // 2 * task.width + size * task.p * 8
    rows = size * ((task.d + 2) * task.width + task.d * task.stored + 3 * task.outputs * 8)
    share = (machine.threads + 8) * size * task.outputs * 8
    block = machine.threads * 2 * task.grid.block_rows * (task.d + 2) * task.width
    setup = task.s * ((task.d + 2) * task.width + task.p * 8)
    return 2 * (local + rows) + share + block + setup


def _fits(task: RoundTask, machine: Machine, tiles: str | None) -> int:
    """The largest round that fits the memory set aside for it, or what the rows leave of it."""
    room = int(machine.memory * ROUND_SHARE) - machine.base
    if not tiles:
        held = task.held(1.0 - task.streamed, machine.workers)
        room = max(room, int(machine.memory * WORKING_SHARE) - machine.base - held)
    low, high = 0, max(MOST_ROUND, task.m)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _bytes(task, middle, machine) <= room else (low, middle - 1)
    return low
