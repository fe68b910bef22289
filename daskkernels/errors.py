"""Every error and warning of the library, in one place to import from."""

from .finite import NonFiniteError
from .inputs import InputError
from .linalg import DegenerateMatrixError, NumericalWarning
from .plan import PlanError
from .runtime import WorkersLostError, WorkersPausedError
from .session.agreement import VersionMismatchError
from .session.clusters import OversubscribedWarning
from .solvers.judgement import DivergenceError
from .solvers.kmeans import ConvergenceWarning
from .store import (
    AlignmentError,
    BlockReadError,
    DigestError,
    DiskFullError,
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
from .threads import BlasThreadsWarning

__all__ = [
    "AlignmentError",
    "BlasThreadsWarning",
    "BlockReadError",
    "ConvergenceWarning",
    "DegenerateMatrixError",
    "DigestError",
    "DiskFullError",
    "DivergenceError",
    "ExistsError",
    "FormatError",
    "IncompleteWriteError",
    "InputError",
    "LabelError",
    "LengthMismatchError",
    "MetadataError",
    "MissingChunkError",
    "MissingChunkWarning",
    "ModelError",
    "NonFiniteError",
    "NotADatasetError",
    "NumericalWarning",
    "OversubscribedWarning",
    "PlanError",
    "ShapeError",
    "StaleReaderError",
    "StoreError",
    "VersionMismatchError",
    "WorkersLostError",
    "WorkersPausedError",
]
