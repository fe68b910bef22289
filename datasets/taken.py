"""Whether a place is taken by a complete dataset, asked before a file is downloaded or read."""

from __future__ import annotations

from pathlib import Path

import daskkernels as dk


def refuse_complete(path: str | Path) -> None:
    """Raise ExistsError for a complete dataset at once, not after the first pass over a file."""
    try:
        dk.open_dataset(path)
    except dk.errors.StoreError:  # nothing there, or nothing complete: the writer will see
        return
    raise dk.errors.ExistsError(f"the dataset {path} exists: pass overwrite=True to replace it")
