"""Store layer: the on-disk format, its integrity checks and aligned writes; the only user of zarr.

A dataset is a Zarr v3 group with `X`, optionally `y`, and attributes under a digest; single arrays (features,
labels, predictions, scratch) go through `ArrayWriter` and `open_array`; a `Reader` reads any of them.
"""

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
    NotADatasetError,
    ShapeError,
    StaleReaderError,
    StoreError,
)
from daskkernels.store.reader import Reader, read_rows, reader_of, to_dask
from daskkernels.store.write import write_dataset
from daskkernels.store.writer import ArrayWriter, open_array

__all__ = [
    "AlignmentError",
    "ArrayWriter",
    "BlockReadError",
    "Dataset",
    "DigestError",
    "ExistsError",
    "FormatError",
    "IncompleteWriteError",
    "LabelError",
    "LengthMismatchError",
    "MetadataError",
    "MissingChunkError",
    "MissingChunkWarning",
    "NotADatasetError",
    "Reader",
    "ShapeError",
    "StaleReaderError",
    "StoreError",
    "open_array",
    "open_dataset",
    "read_rows",
    "reader_of",
    "to_dask",
    "write_dataset",
]
