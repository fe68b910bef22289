"""Bench 1: `kernel_matvec` in float32 as a share of sgemm, and per element against `rbf_kernel`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import ThreadpoolController

import daskkernels as dk
from tests.bench.inputs import Digits
from tests.bench.records import Row
from tests.bench.timing import Yardstick, alternate, sgemm

OUTPUTS = 10


def in_threads(
    kernel: object, X: np.ndarray, Z: np.ndarray, W: np.ndarray, threads: int
) -> Callable[[], list[np.ndarray]]:
    """The product as workers run it: one BLAS thread a task, one block of rows a thread."""
    blocks, pool, blas = np.array_split(X, threads), ThreadPoolExecutor(threads), ThreadpoolController()

    def run() -> list[np.ndarray]:
        with blas.limit(limits=1, user_api="blas"):
            return list(pool.map(lambda block: dk.kernel_matvec(kernel, block, Z, W), blocks))

    return run


def wide(data: Digits, yardstick: Yardstick, quick: bool) -> Row:
    """d = 784, l = 10: arithmetic is all there is, so the share of sgemm counts."""
    n, m = (1024, 1024) if quick else (16_384, 8192)
    threads = yardstick.threads
    X, Z = data.X[:n], data.X[-m:]
    W = np.random.default_rng(0).normal(size=(m, OUTPUTS)).astype("f4")
    kernel = dk.Gaussian(2000.0)
    with yardstick.watch("matvec d=784") as quiet:
        rates: list[float] = []
        ours, _ = alternate(
            in_threads(kernel, X, Z, W, threads), lambda: rates.extend(sgemm(threads, 1, yardstick.size))
        )
    flops = 2.0 * len(X) * m * (X.shape[1] + OUTPUTS)
    rate, peak = flops / np.median(ours) / 1e9, float(np.median(rates))
    details = {"GFLOP/s": rate, "sgemm GFLOP/s": peak, "seconds": ours, "kernel": repr(kernel)}
    what = f"kernel_matvec d=784 l=10, {threads} threads, of sgemm"
    return Row("matvec", what, 78.0, 100 * rate / peak, "%", judged=quiet() and not quick, details=details)


def narrow(yardstick: Yardstick, quick: bool) -> Row:
    """d = 16: the exponential is most of it; the product with 10 weights is included on our side only."""
    n, m = (1024, 1024) if quick else (8192, 8192)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 16)).astype("f4"), rng.normal(size=(m, 16)).astype("f4")
    W = rng.normal(size=(m, OUTPUTS)).astype("f4")
    gamma = 1 / (2 * 4.0**2)
    with yardstick.watch("matvec d=16") as quiet:
        ours, theirs = alternate(
            in_threads(dk.Gaussian(4.0), X, Z, W, yardstick.threads), lambda: rbf_kernel(X, Z, gamma=gamma)
        )
    per_element = [1e9 * float(np.median(t)) / (n * m) for t in (ours, theirs)]
    details = {"ours ns": per_element[0], "rbf_kernel ns": per_element[1], "ours": ours, "peer": theirs}
    what = f"kernel_matvec d=16 l=10, {yardstick.threads} threads, against sklearn rbf_kernel, per element"
    return Row(
        "matvec",
        what,
        6.0,
        per_element[1] / per_element[0],
        "times",
        judged=quiet() and not quick,
        details=details,
    )


def run(data: Digits, yardstick: Yardstick, quick: bool) -> list[Row]:
    """Both shapes."""
    return [wide(data, yardstick, quick), narrow(yardstick, quick)]
