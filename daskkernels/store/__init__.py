"""Store layer: the on-disk format, its integrity checks and aligned writes; the only user of zarr.

A dataset is a Zarr v3 group with `X`, optionally `y`, and attributes under a digest; single arrays (features,
labels, predictions, scratch) go through `ArrayWriter` and `open_array`; a `Reader` reads any of them.
"""

from daskkernels.store.abandoned import disown, own, sweep, sweep_forsaken, sweep_unfinished
from daskkernels.store.arrays import write_array
from daskkernels.store.checked import whole_array
from daskkernels.store.dataset import Dataset, open_dataset
from daskkernels.store.errors import (
    AlignmentError,
    BlockReadError,
    DigestError,
    ExistsError,
    FormatError,
    IncompleteWriteError,
    LabelError,
    LengthMismatchError,
    MetadataError,
    MissingChunkError,
    MissingChunkWarning,
    ModelError,
    NotADatasetError,
    ShapeError,
    StaleReaderError,
    StoreError,
)
from daskkernels.store.folder import folder_url, is_taken, try_folder
from daskkernels.store.group import clear_damaged, complete_group, open_group, writing_group
from daskkernels.store.reader import Reader, read_rows, reader_of, to_dask
from daskkernels.store.room import DiskFullError, full_disk_told
from daskkernels.store.write import write_dataset
from daskkernels.store.writer import ArrayWriter, open_array

__all__ = [
    "AlignmentError",
    "ArrayWriter",
    "BlockReadError",
    "Dataset",
    "DigestError",
    "DiskFullError",
    "ExistsError",
    "FormatError",
    "IncompleteWriteError",
    "LabelError",
    "LengthMismatchError",
    "MetadataError",
    "MissingChunkError",
    "MissingChunkWarning",
    "ModelError",
    "NotADatasetError",
    "Reader",
    "ShapeError",
    "StaleReaderError",
    "StoreError",
    "clear_damaged",
    "complete_group",
    "disown",
    "folder_url",
    "full_disk_told",
    "is_taken",
    "open_array",
    "open_dataset",
    "open_group",
    "own",
    "read_rows",
    "reader_of",
    "sweep",
    "sweep_forsaken",
    "sweep_unfinished",
    "to_dask",
    "try_folder",
    "whole_array",
    "write_array",
    "write_dataset",
    "writing_group",
]
