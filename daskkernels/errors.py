"""Every error and warning of the library, in one place to import from."""

from .finite import NonFiniteError
from .inputs import InputError
from .linalg import DegenerateMatrixError, NumericalWarning
from .plan import PlanError
from .session.waiting import WorkersPausedError
from .solvers.kmeans import ConvergenceWarning
from .store import (
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
from .threads import BlasThreadsWarning

__all__ = [
    "AlignmentError",
    "BlasThreadsWarning",
    "BlockReadError",
    "ConvergenceWarning",
    "DegenerateMatrixError",
    "DigestError",
    "ExistsError",
    "FormatError",
    "IncompleteWriteError",
    "InputError",
    "LabelError",
    "LengthMismatchError",
    "MetadataError",
    "MissingChunkError",
    "MissingChunkWarning",
    "NonFiniteError",
    "NotADatasetError",
    "NumericalWarning",
    "PlanError",
    "ShapeError",
    "StaleReaderError",
    "StoreError",
    "WorkersPausedError",
]
