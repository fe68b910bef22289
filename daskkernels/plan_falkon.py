"""Layer 1: what a FALKON fit will cost, and whether its kernel values stay in memory between iterations."""

from __future__ import annotations

from dataclasses import dataclass

from .grid import TILE_ROWS, Grid
from .plan import Machine, Plan, PlanError, Residence, Step, described_residence
from .units import show_bytes

MOST_MEMORY = 0.8  # of a worker: Dask pauses it above
KEPT_RATE = 0.4e9  # kept values that a core multiplies in a second, both ways, by 10 outputs
MERGED = 9  # shares that are in memory where eight are merged


@dataclass(frozen=True)
class FalkonTask:
    """The sizes that decide: n rows stored with d columns, M centers, l outputs, and what is asked for."""

    n: int
    d: int
    stored: int  # bytes of a stored value
    width: int  # bytes of a computed value
    centers: int  # M
    outputs: int  # l
    iterations: int  # at most
    residence: Residence
    streamed: float = 0.0  # share of X that is read from a store in every pass
    moments_pass: bool = True  # for a bandwidth out of the data
    validation: int = 0  # rows that every iteration is judged by
    keep: bool | None = None  # whether kernel values are kept; None decides

    @property
    def grid(self) -> Grid:
        """The canonical grid of X."""
        return Grid.canonical(self.n, self.d, self.stored)

    @property
    def kernel_bytes(self) -> int:
        """Of all kernel values, those of the validation rows included."""
        return (self.n + self.validation) * self.centers * self.width

    def held(self, kept: bool) -> float:
        """Bytes of X that the workers hold: of stored rows those that fit, unless kernel values are kept."""
        share = {"caller": 0.0, "memory": 1.0}.get(self.residence, 0.0 if kept else 1.0 - self.streamed)
        return share * self.n * self.d * self.stored

    def working(self, kept: bool) -> int:
        """Bytes that one thread needs for one block: raw rows, a tile's buffers, or the values it makes."""
        raw = 2 * self.grid.block_rows * self.d * self.stored
        tile = TILE_ROWS * (self.d + 2 + self.centers) * self.width
        made = min(self.n, self.grid.block_rows) * self.centers * self.width
        return raw + (2 * made if kept else tile)

    @property
    def operands(self) -> int:
        """Bytes that a worker needs besides blocks: centers, weights, shares on their way up."""
        small = self.centers * (self.d + 2 + self.outputs) * self.width
        return small + MERGED * self.centers * self.outputs * 8

    @property
    def client(self) -> int:
        """Bytes of the client: three M x M matrices, and the vectors of the iterations."""
        return 3 * self.centers**2 * 8 + 10 * self.centers * self.outputs * 8


def plan_falkon(task: FalkonTask, machine: Machine) -> Plan:
    """The passes of a fit, in `keep_columns` whether kernel values stay in memory between them.

    Raises PlanError naming the knob.
    """
    kept = _keeps(task, machine)
    rows = task.n + task.validation
    blocks, values = task.grid.n_blocks, float(task.n) * task.centers
    stored = task.n * task.d * task.stored if task.residence in ("store", "scratch") else 0
    read = stored if kept else task.streamed * stored
    sent = 0.0 if machine.in_process else blocks * task.centers * task.outputs * 8.0
    evaluated = 2.0 * values * task.d
    thin = 2.0 * values * task.outputs
    touched = min(blocks, task.centers)
    steps = [Step("nystrom-landmarks", 0, 0.0, min(read, task.centers * 2.0**20), 0, touched)]
    if task.moments_pass:
        steps.insert(0, Step("bandwidth", 1, 3.0 * task.n * task.d * 8, read, 0, blocks * 1.2))
    if stored and not kept and task.streamed < 1.0:
        steps.insert(0, Step("rows-persist", 1, 0.0, stored - read, 0, blocks))
    steps.append(_preconditioner(task, machine))
    steps.append(Step("falkon-start", 1, evaluated + thin, read, sent, blocks * 1.2, values=values))
    count = task.iterations
    if kept:
        fixed = count * (values / KEPT_RATE / machine.cores + blocks * 1.2 * machine.latency / machine.cores)
        steps.append(Step("falkon-pass", count, 2 * thin * count, 0, sent * count, fixed=fixed))
    else:
        tasks = blocks * 1.2 * count
        flops = (evaluated + 2 * thin) * count
        steps.append(
            Step("falkon-pass", count, flops, read * count, sent * count, tasks, values=values * count)
        )
    if task.validation:
        share = task.validation / task.n
        flops = share * ((evaluated * (1 if kept else count)) + thin * count)
        steps.append(Step("falkon-validate", count, flops, 0, 0, 2 * count))
    choices = {
        "X": described_residence(task.residence),
        "kernel values": f"kept, {show_bytes(rows * task.centers * task.width)}: computed once"
        if kept
        else "computed anew in every pass",
    }
    return Plan(tuple(steps), machine, _peak(task, machine, kept), task.client, choices, keep_columns=kept)


def _keeps(task: FalkonTask, machine: Machine) -> bool:
    """Whether kernel values are kept. Raises PlanError where they do not fit, or nothing does."""
    least = _base(task, machine, kept=False)
    if least > machine.memory * MOST_MEMORY:
        raise PlanError(
            f"n_centers={task.centers} at {task.d} columns and {task.outputs} outputs needs "
            f"{show_bytes(least)} a worker, {show_bytes(machine.base)} of it the bare process, over "
            f"{MOST_MEMORY:.0%} of its {show_bytes(machine.memory)}: raise memory_limit, or lower n_centers"
        )
    moving = machine.cores * task.working(True) + machine.workers * task.operands
    room = machine.managed - task.held(True) - moving - (task.client if machine.in_process else 0)
    if task.keep and task.kernel_bytes > room:
        raise PlanError(
            f"keep_kernel=True: {task.n} x {task.centers} kernel values are {show_bytes(task.kernel_bytes)}, "
            f"more than the {show_bytes(max(0, room))} that the workers have for them: raise memory_limit, "
            "use more workers, or keep_kernel='auto'"
        )
    return task.keep is not False and task.kernel_bytes <= room


def _base(task: FalkonTask, machine: Machine, kept: bool) -> int:
    """Bytes of a worker whatever the number of rows: threads in the client's process share its matrices."""
    client = task.client if machine.in_process else 0
    return machine.base + client + task.operands + machine.threads * task.working(kept)


def _peak(task: FalkonTask, machine: Machine, kept: bool) -> int:
    """Predicted bytes of one worker process, all of it."""
    held = task.held(kept) + (task.kernel_bytes if kept else 0)
    return _base(task, machine, kept) + task.grid.largest_share(held, machine.workers)


def _preconditioner(task: FalkonTask, machine: Machine) -> Step:
    """Two factors of M x M on one core: of the client, or of this process while the others pass over rows."""
    flops = 2.0 * task.centers**2 * task.d + task.centers**3
    seconds = flops / machine.dense_rate / (machine.cores if machine.in_process else 1)
    return Step("falkon-preconditioner", 0, flops, fixed=seconds)
