"""Made-up records of finished trainings, for tables and reports without data or library."""

from __future__ import annotations

import numpy as np

from pipelines.learning.records import Choice, Epoch, Foreseen, Scores, TrainRun, Trial
from tests.pipelines.records import facts


def learned(classes: int | None = 3, epochs: int = 4, judged: bool = True, tested: bool = True) -> TrainRun:
    """A training on classes or, with None, on numbers; with or without validation and test."""
    data = facts(300, 7, classes)
    kept = max(1, epochs - 1) if judged else epochs
    return TrainRun(
        title="A kernel machine for made-up",
        data=data,
        n_used=270 if judged else 300,
        classes=data.classes,
        kernel="Gaussian(bandwidth=1.5)",
        trials=trials(classes),
        choices=(
            Choice("s", "rows of the eigensystem", 200, ""),
            Choice("m", "rows a batch", 40, "0.25 of the critical batch 160"),
            Choice("", "step", 12.5, "0.9 of the edge"),
        ),
        eigenvalues=np.geomspace(0.5, 1e-6, 50),
        n_directions=20,
        epochs=tuple(epoch(number, classes, judged) for number in range(1, epochs + 1)),
        kept=kept,
        halvings=1,
        test=scores(classes) if tested else None,
        plan=Foreseen(0.5, "2 x 1 threads", 123.0, 300 * 2**20, 2 * 2**30, None, "held in memory"),
        settings=(("estimator", "EigenProClassifier"),),
        timings=(("open dataset", 0.25), ("fit", 1.5), ("test", 0.5)),
        command="python -m pipelines train made-up.zarr --out model.zarr",
        versions=(("daskkernels", "0.1"),),
    )


def trials(classes: int | None) -> tuple[Trial, ...]:
    """Two families at three bandwidths."""
    return tuple(
        Trial(
            kernel, 3.0 * factor, factor, 0.25 / factor, classes and 0.125 / factor, (kernel, factor) == best
        )
        for best in [("Gaussian", 0.5)]
        for kernel in ("Gaussian", "Laplacian")
        for factor in (0.25, 0.5, 1.0)
    )


def epoch(number: int, classes: int | None, judged: bool) -> Epoch:
    """Residuals that fall."""
    error = 0.25 / number if judged and classes else None
    return Epoch(number, 0.5, 0.5**number, 12.5, 0.75**number if judged else None, error)


def scores(classes: int | None) -> Scores:
    """Of 100 test rows; one class is taken for the next now and then."""
    data = facts(100, 7, classes)
    if classes is None:
        return Scores(data, mse=0.0625, r2=0.75)
    table = np.diag(np.full(classes, 30))
    table[0, -1] += 10
    wrong = 10 / table.sum() if classes > 1 else 0.0
    return Scores(data, error=wrong, confusion=table)
