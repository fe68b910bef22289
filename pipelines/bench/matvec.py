"""Bench `matvec`: `kernel_matvec` in float32 as a share of sgemm, and per element against `rbf_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import ThreadpoolController

import daskkernels as dk
from pipelines.bench.limits import Rate
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup
from pipelines.bench.timing import sgemm

OUTPUTS = 10


def run(setup: Setup) -> Iterator[Row]:
    """Both shapes."""
    yield wide(setup)
    yield narrow(setup)


def in_threads(
    kernel: object, X: np.ndarray, Z: np.ndarray, W: np.ndarray, threads: int
) -> Callable[[], list[np.ndarray]]:
    """The product as workers run it: one BLAS thread a task, one block of rows a thread."""
    blocks, pool, blas = np.array_split(X, threads), ThreadPoolExecutor(threads), ThreadpoolController()

    def run() -> list[np.ndarray]:
        with blas.limit(limits=1, user_api="blas"):
            return list(pool.map(lambda block: dk.kernel_matvec(kernel, block, Z, W), blocks))

    return run


def wide(setup: Setup) -> Row:
    """The data's own columns, l = 10: arithmetic is all there is, so the share of sgemm counts."""
    n, m = (1024, 1024) if setup.quick else (16_384, 8192)
    yardstick, data = setup.yardstick, setup.data
    X, Z = data.X[:n], data.X[-m:]
    d, threads, rates = X.shape[1], yardstick.threads, list[float]()
    W = np.random.default_rng(0).normal(size=(len(Z), OUTPUTS)).astype("f4")
    found = yardstick.race(
        "matvec wide",
        in_threads(dk.Gaussian(2000.0), X, Z, W, threads),
        lambda: rates.extend(sgemm(threads, 1, yardstick.size)),
    )
    flops = 2.0 * len(X) * len(Z) * (d + OUTPUTS)
    # sgemm took turns: as the peer of a comparison it counts as the seconds that the same arithmetic takes
    peer = tuple(flops / rate / 1e9 for rate in rates[1:])
    samples = Samples("s", found.samples.ours, peer)
    peak = float(np.median(rates[1:]))
    limit = Rate("sgemm", "GFLOP/s", (peak,)).against(flops, samples.median)
    return Row(
        "matvec",
        f"matvec d={d}",
        f"l={OUTPUTS}, {threads} threads, 2nm(d + l) operations; peer: sgemm in turns, as many operations",
        100 * limit.share,
        "%",
        samples,
        asked=78.0,
        judged=found.judged,
        limits=(limit,),
    )


def narrow(setup: Setup) -> Row:
    """d = 16: the exponential is most of it; the product with 10 weights is included on our side only."""
    n = 1024 if setup.quick else 8192
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 16)).astype("f4"), rng.normal(size=(n, 16)).astype("f4")
    W = rng.normal(size=(n, OUTPUTS)).astype("f4")
    threads, gamma = setup.yardstick.threads, 1 / (2 * 4.0**2)
    found = setup.yardstick.race(
        "matvec d=16", in_threads(dk.Gaussian(4.0), X, Z, W, threads), lambda: rbf_kernel(X, Z, gamma=gamma)
    )
    samples = found.samples
    return Row(
        "matvec",
        "matvec d=16",
        f"l={OUTPUTS}, {threads} threads, peer scikit-learn's rbf_kernel (without weights)",
        samples.times,
        "times",
        samples,
        asked=6.0,
        judged=found.judged,
        details={"ns per element": 1e9 * samples.median / n**2},
    )
