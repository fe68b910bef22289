"""Layer 4: `kernel="auto"`: Gaussian or Laplacian and how narrow, by trials on a sample solved exactly."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..block.kernel_choice import Trial, tried
from ..block.order import Order
from ..block.targets import Encode
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel, Gaussian, Laplacian
from ..rowblocks import RowBlocks
from ..rows import each, take_rows
from ..runtime import Runtime

STAGE = "eigenpro-kernel"
FACTORS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)  # of the root mean squared distance
SAMPLE = 3000  # rows
LEAST = 20  # rows: fewer say nothing


def choose_kernel(
    rows: RowBlocks,
    y: RowBlocks,
    encode: Encode,
    scale: float,
    order: Order,
    epochs: int,
    runtime: Runtime,
    reporter: Reporter,
) -> tuple[AnyKernel, list[Trial]]:
    """The kernel with the fewest errors on a seeded sample, and all trials; `scale` is the "mean" bandwidth.

    Cost: 2 factors of a 1500 x 1500 matrix for each of 16 kernels, some seconds on one core.
    """
    if order.used < LEAST:
        return Laplacian(scale), []
    numbers = order.rows(0, min(order.used, SAMPLE))
    totals = [take_rows(source, numbers, stage=STAGE) for source in (rows, y)]
    sample, _ = runtime.run(totals, reporter=reporter, stage=STAGE)
    check_sample(sample[0], numbers)
    families = [
        [kernel(factor * scale) for factor in part] for kernel in (Gaussian, Laplacian) for part in _HALVES
    ]
    work = partial(tried, encode=encode, n=order.used, epochs=epochs)
    operand = runtime.place((np.asarray(sample[0]), np.asarray(sample[1])))
    found, _ = runtime.run(each(work, families, [operand], stage=STAGE), reporter=reporter, stage=STAGE)
    trials = [trial for part in found for trial in part]
    return min(trials, key=lambda trial: trial.rank).kernel, trials


_HALVES = (FACTORS[::2], FACTORS[1::2])  # two tasks for each family
