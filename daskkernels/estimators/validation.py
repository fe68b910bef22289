"""Layer 6: the rows that a supervised fit is judged by: given by the user, or kept back of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finite import check_sample
from ..grid import Grid
from ..inputs import Input, InputError, resident_rows
from ..rowblocks import RowBlocks
from ..rows import take_rows
from .base import Work
from .training import Given

STAGE = "eigenpro-validate"


@dataclass(frozen=True)
class Validation:
    """Rows that are not trained on and their y, in the same codes as the training rows'."""

    rows: RowBlocks
    y: np.ndarray


def validation_rows(
    model: Any, validation: Any, given: Given, work: Work, stage: str = STAGE
) -> Validation | None:
    """The rows that a fit of this model is judged by, or None. Raises InputError."""
    if validation is None:
        return kept_back(given, work, stage) if given.used < work.source.shape[0] else None
    if model.validation_fraction is not None:
        raise InputError("validation= and validation_fraction are given: wanted one of them")
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise InputError("validation= must be a pair (X, y)")
    rows, labels = validation
    y = model._validation_targets(labels, given.encode.n_outputs)
    return judged_by(model._open(rows, reset=False), y, work)


def kept_back(given: Given, work: Work, stage: str) -> Validation:
    """The rows that the order leaves out."""
    runtime = work.runtime
    numbers = given.seeds.sampling(work.source.shape[0], given.used).kept_back()
    totals = [take_rows(source, numbers, stage=stage) for source in (given.rows, given.y)]
    (rows, codes), _ = runtime.run(totals, reporter=work.reporter, stage=stage)
    check_sample(rows, numbers)
    grid = Grid.canonical(len(rows), rows.shape[1], rows.dtype.itemsize)
    return Validation(runtime.place_rows(rows, grid), np.asarray(codes))


def judged_by(source: Input, y: np.ndarray, work: Work) -> Validation:
    """The rows that the user gave, computed once. Raises InputError, PlanError."""
    if len(y) != source.shape[0]:
        raise InputError(f"validation: X has {source.shape[0]} rows, but y has {len(y)}")
    return Validation(resident_rows(source, work.runtime, work.reporter, work.scratch), y)
