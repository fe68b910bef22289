"""The labels of a job on disk: one aligned array, with the record of the job in its attributes.

Written a block at a time and marked complete last, so that what is half-written refuses to open.
"""

from __future__ import annotations

from typing import Any

import dask.array as da

from daskkernels.store import ArrayWriter
from daskkernels.versions import versions
from pipelines.requests import ClusterRequest

ARRAY = "labels"


def write_labels(labels: da.Array, request: ClusterRequest, facts: dict[str, Any]) -> None:
    """Write the labels (n,) where the request says, with command, versions and `facts` as attributes."""
    chunk_rows = labels.chunks[0][0]
    labels = da.rechunk(labels, (chunk_rows,))  # equal blocks: each is one chunk of the store
    record = {"command": request.command, "versions": versions(), "data": request.data, **facts}
    writer = ArrayWriter.create(
        request.out, ARRAY, labels.shape, labels.dtype, chunk_rows, attributes={"record": record}
    )
    for i in range(labels.numblocks[0]):
        writer.write(i * chunk_rows, labels.blocks[i].compute())
    writer.finish()
