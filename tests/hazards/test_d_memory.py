"""Tests: hazards, section D, memory: predicting far more rows than were fitted stays inside the limit."""

from __future__ import annotations

from typing import Any

import dask.array as da
import psutil
import pytest
from distributed import Client, LocalCluster

from tests.hazards.forms import blobs, cluster

LIMIT = 500_000_000


def rows(n: int, d: int) -> da.Array:
    """Rows that exist only while a task holds them; float32, 8 MB a block."""
    step = 2**21 // d
    return da.random.default_rng(0).normal(size=(n, d), chunks=(step, -1)).astype("f4")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_predict_of_more_than_the_memory(tmp_path: Any) -> None:
    """thundersvm#265: no memory cap in predict. Four times the limit through one 500 MB worker."""
    d = 64
    model = cluster(blobs(4000, d).astype("f4"), n_landmarks=200)
    n = 4 * LIMIT // (4 * d)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, memory_limit=LIMIT, dashboard_address=":0"
        ) as cluster_,
        Client(cluster_) as client,
    ):
        counts = da.bincount(model.predict(rows(n, d)), minlength=4)
        assert int(counts.compute().sum()) == n
        peaks = client.run(peak_memory)
    assert max(peaks.values()) < LIMIT, f"peak {max(peaks.values()) / 1e6:.0f} MB of {LIMIT / 1e6:.0f}"


def peak_memory() -> int:
    """The largest resident size this process has had, where the system keeps it, else the present one."""
    try:
        import resource
    except ImportError:
        return int(psutil.Process().memory_info().rss)
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


def test_a_lazy_predict_is_a_chain_of_blocks(no_compute: Any) -> None:
    """The same in small: rows without end are given back lazily, in small blocks, nothing computed."""
    model = cluster(blobs(1000), n_landmarks=30)
    with no_compute:
        lazy = rows(10**7, 8)
        outs = (model.predict(lazy), model.transform(lazy), model.features_.transform(lazy))
    for out in outs:
        assert len(out) == 10**7
        assert max(out.chunks[0]) * 8 * 4 <= 2**24
        assert len(out.__dask_graph__()) < 12 * out.numblocks[0] + 4 * lazy.numblocks[0] + 50
