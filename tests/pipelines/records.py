"""Made-up records of finished jobs, for tables and reports without data or library."""

from __future__ import annotations

import dataclasses

import numpy as np

from pipelines.results import ClusterRun, DataFacts, EmbeddingSample, Scores, Spectrum


def made_up(clusters: int = 4, classes: int | None = 3, rows: int = 300) -> ClusterRun:
    """A job of that many clusters, with or without known classes."""
    rng = np.random.default_rng(0)
    labels, y = rng.integers(clusters, size=rows), rng.integers(classes or 1, size=rows)
    contingency = np.zeros((clusters, classes or 1), int)
    np.add.at(contingency, (labels, y), 1)
    return ClusterRun(
        title="Kernel k-means of made-up",
        data=DataFacts(
            name="made-up",
            path="somewhere/made-up.zarr",
            n_rows=rows,
            n_features=7,
            dtype="float32",
            classes=None if classes is None else tuple(f"class {i}" for i in range(classes)),
            source=None,
            digest="00ff" * 16,
        ),
        settings=(("clusters", str(clusters)), ("kernel", "Gaussian(bandwidth=1.5)")),
        scores=Scores(12.5, 0.03125, 17, *((None, None) if classes is None else (0.625, 0.5))),
        spectrum=Spectrum(np.geomspace(100, 1e-9, 40), 20, 9),
        cluster_sizes=np.bincount(labels, minlength=clusters),
        contingency=None if classes is None else contingency,
        sample=EmbeddingSample(rng.normal(size=(rows, 2)), labels, None if classes is None else y, 0),
        timings=(("open dataset", 0.25), ("fit", 1.5), ("score", 0.5)),
        command="python -m pipelines cluster somewhere/made-up.zarr --clusters 4",
        versions=(("daskkernels", "0.1"),),
    )


def renamed(run: ClusterRun, name: str) -> ClusterRun:
    """The same job under another title and data name."""
    return dataclasses.replace(run, title=name, data=dataclasses.replace(run.data, name=name))
