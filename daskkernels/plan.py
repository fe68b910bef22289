"""Layer 1: what a fit will cost, as plain arithmetic on a `Machine` record; nothing is measured or run here.

The plan decides what is kept in memory, and refuses before running what cannot fit, naming the knob.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from numbers import Integral, Real
from typing import Literal

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
PASS_SECONDS = 0.05  # that the client takes for a pass over worker processes
KERNEL_EFFICIENCY = 0.75  # of the machine's matrix product rate, over a whole pass
CORE_GFLOPS = 100.0  # of a core of the client, at most
DENSE_EFFICIENCY = 0.33  # of one core's float32 rate: float64 algebra
EIGENSYSTEM = 7.0  # c^3 operations at that rate: 1.73 s for c = 2000 at 130 GFLOP/s a core
FETCHED_BYTES = 64 * 2**20  # of labels or weights, into the client; more of lazy input stays with the workers
MOMENT_VALUE = 1.5  # times as long as a kernel value's map: a number cast and added to float64 sums


class PlanError(MemoryError):
    """Refused before running: it cannot fit. The message names what to change."""


@dataclass(frozen=True)
class Machine:
    """What the work runs on: measured at hand, or described to plan for other workers.

    Attributes
    ----------
    workers : how many.
    threads : of one worker.
    memory : bytes that one worker may use.
    base : bytes of a worker before it holds any data.
    gflops : 10^9 operations a second of float32 matrix products, all workers together.
    read_rate : bytes a second out of a store, decompressed, all workers together.
    link_rate : bytes a second between processes.
    latency : seconds for the scheduler to run one more task.
    in_process : whether the workers are threads of the caller's process, which holds numpy input already.
    """

    workers: int = 1
    threads: int = 1  # of one worker
    memory: int = 2 * 2**30  # bytes one worker may use
    base: int = 200 * 2**20  # bytes of a worker before it holds any data
    gflops: float = 100.0  # float32 matrix products, all workers
    read_rate: float = 1e9  # bytes per second out of a store, decompressed
    link_rate: float = 1e9  # bytes per second between processes
    latency: float = 0.002  # seconds for the scheduler to run one more task, all else idle
    in_process: bool = True
    map_seconds: float = 4e-9  # of a core, for what a kernel value costs besides the product

    def __post_init__(self) -> None:
        """Raise ValueError for what no machine is."""
        positive = ("workers", "threads", "memory", "gflops", "read_rate", "link_rate")
        for name in (*positive, "base", "latency", "map_seconds"):
            value = getattr(self, name)
            least = "above 0" if name in positive else "of at least 0"
            kind = Integral if name in ("workers", "threads") else Real
            if (
                not isinstance(value, kind)
                or isinstance(value, bool)
                or not isfinite(value)
                or value < 0
                or (name in positive and not value)
            ):
                raise ValueError(f"{name}={value!r}: wanted a number {least}")

    @property
    def cores(self) -> int:
        """Threads of all workers."""
        return self.workers * self.threads

    @property
    def dense_rate(self) -> float:
        """Operations a second of float64 algebra on one core."""
        return min(self.gflops / self.cores, CORE_GFLOPS) * 1e9 * DENSE_EFFICIENCY

    @property
    def managed(self) -> int:
        """Bytes that all workers together may keep between passes."""
        return self.workers * max(0, int(self.memory * MANAGED_SHARE) - self.base)


@dataclass(frozen=True)
class Step:
    """One stage of a plan: how often it passes over the rows and what that costs.

    Attributes
    ----------
    stage : its name, as in the dashboard and in events.
    passes : over the rows.
    flops, bytes_read, bytes_sent, tasks : of all its passes together.
    fixed : seconds, where they do not follow from the figures before.
    values : kernel values, or others that cost as much, that are computed.
    alone : float64 operations of one core, for which the others wait.
    width : bytes of a computed value: products and maps of 8 take twice as long.
    """

    stage: str
    passes: float
    flops: float = 0.0
    bytes_read: float = 0.0
    bytes_sent: float = 0.0
    tasks: float = 0.0
    fixed: float | None = None  # seconds, where they do not follow from the figures before
    values: float = 0.0
    alone: float = 0.0
    width: int = 4

    def seconds(self, machine: Machine) -> float:
        """Predicted duration: reading and computing overlap, the scheduler's time does not."""
        if self.fixed is not None:
            return self.fixed
        compute = self.flops / (machine.gflops * 1e9 * KERNEL_EFFICIENCY)
        compute += self.values * machine.map_seconds / machine.cores
        compute *= self.width / 4
        traffic = self.bytes_sent / machine.link_rate
        return (
            max(compute, self.bytes_read / machine.read_rate)
            + traffic
            + self.alone / machine.dense_rate
            + self.tasks * machine.latency / machine.cores
            + (0.0 if machine.in_process else self.passes * PASS_SECONDS)
        )


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit will do, and after the fit also what it did; prints as a table.

    Attributes
    ----------
    steps : a `Step` for each stage.
    machine : the `Machine` it is for.
    worker_bytes : predicted peak of one worker process, all of it.
    client_bytes : predicted peak of the client beyond what it holds already.
    choices : what is kept where, in words.
    keep_columns : whether kernel columns stay in memory between the passes.
    features : where k-means keeps its points: "memory", "scratch" or "recomputed".
    measured : seconds by stage, after the fit.
    """

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
        took = f", measured {show_seconds(sum(self.measured.values()))}" if self.measured else ""
        lines.append(
            f"predicted {show_seconds(self.seconds)} at {m.gflops:.0f} GFLOP/s "
            f"on {m.workers} x {m.threads} threads{took}"
        )
        lines.append(
            f"peak of a worker {show_bytes(self.worker_bytes)} of {show_bytes(m.memory)}, "
            f"of the client {show_bytes(self.client_bytes)}"
        )
        lines += [f"{name}: {choice}" for name, choice in self.choices.items()]
        return "\n".join(lines)


def bandwidth_step(n: int, d: int, n_bytes: float, blocks: int) -> Step:
    """The pass that a bandwidth out of the data takes: sums of n d numbers and of their squares."""
    return Step("bandwidth", 1, 4.0 * n * d, n_bytes, 0, blocks * 1.2, values=MOMENT_VALUE * n * d)


def peak_of(machine: Machine, worker_bytes: int, client_bytes: int) -> int:
    """The peak of a worker's process, which where they are one does the client's part too, at other times."""
    return max(worker_bytes, machine.base + client_bytes) if machine.in_process else worker_bytes


def residence(n_bytes: int, machine: Machine, *, stored: bool, in_caller: bool) -> Residence:
    """Where X of this size stays during a fit; "scratch" when it is neither stored nor fits the workers."""
    if stored:
        return "store"
    if in_caller and machine.in_process:
        return "caller"
    return "memory" if n_bytes <= machine.managed * X_SHARE else "scratch"


def described_residence(where: Residence) -> str:
    """Where X is during a fit, in words."""
    return _RESIDENCES[where]
