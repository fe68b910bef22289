"""Layer 5: the door. Whatever a user calls a table becomes row blocks on the canonical grid; what leaves has
the kind that came in.

A lazy input that is not backed by a store is computed once: kept by the workers where it fits, else spooled
to scratch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import dask
import numpy as np
from dask.array.utils import meta_from_array

from .block.targets import plain_numbers
from .events import Reporter
from .frames import NUMERIC, Lazy, lazy_array, resolved, unwrapped
from .grid import Grid
from .plan import Machine, PlanError, Residence, residence
from .rowblocks import RowBlocks, absent, from_dask, from_memory
from .runtime import Runtime
from .scratch import Scratch
from .store import Dataset, Reader, reader_of, to_dask
from .units import show_bytes
from .xp import to_host

Kind = Literal["numpy", "dask"]


CLIENT_BYTES = 4 * 2**20  # of labels, a million rows: may ride in a graph and in a model


class InputError(ValueError):
    """The input has the wrong shape, type or length; the message says what was wanted."""


@dataclass(frozen=True)
class Input:
    """A table at the door: an array of this process or a lazy one, and what it was."""

    array: Any  # numpy, cupy or dask array (n, d)
    kind: Kind
    beside: int = 0  # float64 values that a fit works with beside each row: a block has room for them

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return (int(self.array.shape[0]), int(self.array.shape[1]))

    @property
    def grid(self) -> Grid:
        """The canonical grid of this table."""
        (n, d), itemsize = self.shape, self.array.dtype.itemsize
        return Grid.canonical(n, max(d, -(-8 * self.beside // itemsize)), itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of the table as it is stored."""
        return math.prod(self.shape) * int(self.array.dtype.itemsize)

    def aligned(self, result: Any) -> Any:
        """A dask result with the chunks of rows that the input had, so that it can be put beside it."""
        chunks = self.array.chunks[0]
        return result if result.chunks[0] == chunks else result.rechunk((chunks, *result.chunks[1:]))

    def residence(self, machine: Machine) -> Residence:
        """Where the table will be during a fit."""
        stored = self.kind == "dask" and reader_of(self.array) is not None
        return residence(self.nbytes, machine, stored=stored, in_caller=self.kind == "numpy")


def is_lazy(X: object) -> bool:
    """Whether X is a dask, zarr or dataset input, which scikit-learn's own checks would load into memory."""
    if dask.is_dask_collection(X) or isinstance(X, Dataset | Reader):
        return True
    return reader_of(unwrapped(X)) is not None


def open_input(X: Any) -> Input:
    """Check a table's type and shape; resolve unknown chunk lengths once. Nothing else is computed.

    Raises TypeError for sparse or non-numeric input, InputError for another shape than (n, d) with n, d >= 1.
    """
    return with_lengths(open_table(X))[0]


def open_table(X: Any) -> Any:
    """A table as an array of this process or `Lazy`, its type and shape checked. Nothing is computed."""
    table = _table(X)
    if isinstance(table, Lazy):
        _checked(table.array, meta_from_array(table.array))
        return table
    return _checked(table, table)


def with_lengths(table: Any, y: Any = None) -> tuple[Input, Any]:
    """An open table, and a y beside it: where both are lazy, one computation finds their unknown lengths."""
    lazy = [x for x in (table, y) if isinstance(x, Lazy)]
    found = iter(resolved(*lazy))
    rows, values = (next(found) if isinstance(x, Lazy) else x for x in (table, y))
    return Input(_not_empty(rows), "dask") if isinstance(table, Lazy) else Input(rows, "numpy"), values


def _table(X: Any) -> Any:
    """An array of this process as it is; everything else as a lazy dask array."""
    if isinstance(X, Dataset):
        X = X.X
    if dask.is_dask_collection(X):
        return lazy_array(X)
    X = unwrapped(X)
    reader = X if isinstance(X, Reader) else reader_of(X)
    if reader is None:
        return X
    return Lazy(to_dask(reader, Grid.canonical(*_two(reader.shape), reader.dtype.itemsize).row_chunks))


def _two(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise InputError(f"X has shape {shape}: wanted two dimensions (rows, features). Reshape your data")
    return shape[0], shape[1]


def _checked(X: Any, sample: Any) -> Any:
    """The array itself after checks on its type, made on a sample of the same type."""
    if hasattr(sample, "tocsr") or type(sample).__module__.startswith(("scipy.sparse", "sparse")):
        raise TypeError("X is sparse: kernels here need dense rows, use X.toarray() or a dense Zarr store")
    if isinstance(sample, np.ma.MaskedArray):
        raise TypeError("X is a masked array: fill the masked values, X.filled(...), or drop their rows")
    if not hasattr(X, "dtype") or X.dtype.kind not in NUMERIC:
        raise TypeError(
            f"X has dtype {getattr(X, 'dtype', type(X).__name__)}: wanted real numbers (float, int or bool)"
        )
    _two(X.shape)
    return X


def _not_empty(X: Any) -> Any:
    n, d = X.shape
    if n == 0:
        raise InputError("Found array with 0 sample(s) (rows): wanted at least 1")
    if d == 0:
        raise InputError("Found array with 0 feature(s) (columns): wanted at least 1")
    return X


def lazy_rows(source: Input, runtime: Runtime) -> RowBlocks:
    """The table on its grid without computing anything: for results that stay lazy, or for a single pass."""
    if source.kind == "numpy":
        return runtime.place_rows(source.array, source.grid)
    reader = reader_of(source.array)
    return from_dask(source.array if reader is None else to_dask(reader, source.grid.row_chunks), source.grid)


def resident_rows(source: Input, runtime: Runtime, reporter: Reporter, scratch: Scratch) -> RowBlocks:
    """The table on its grid, ready for many passes: in place, streamed, kept by the workers, or spooled.

    Raises PlanError when it has to be spooled and there is no scratch.
    """
    where = source.residence(runtime.machine)
    if where == "scratch" and scratch.url is None:
        raise PlanError(
            f"X is {show_bytes(source.nbytes)}, lazy or held by the client, and does not fit the workers' "
            f"{show_bytes(runtime.machine.managed)} for data: use dk.write_dataset, or give scratch="
        )
    if where == "scratch" and source.kind == "numpy":
        return scratch.spool_array(source.array, source.grid)
    rows = lazy_rows(source, runtime)
    if where == "scratch":
        return scratch.spool(rows, runtime, reporter)
    if where == "memory" and source.kind == "dask":
        return runtime.run([], [rows], reporter=reporter, stage="rows-persist")[1][0]
    return rows


def weight_rows(sample_weight: Any, grid: Grid, runtime: Runtime) -> RowBlocks:
    """Sample weights (n,) on the table's grid in float64, or absent. Raises InputError."""
    if sample_weight is None:
        return absent(grid)
    values = in_client(sample_weight, "sample_weight")
    if values.dtype.kind not in NUMERIC:
        raise InputError(f"sample_weight has dtype {values.dtype}: wanted one number for each row")
    if values.ndim == 0:
        values = np.full(grid.n_rows, float(values))
    if values.ndim != 1:
        raise InputError(f"sample_weight has shape {values.shape}: Sample weights must be 1D array or scalar")
    if len(values) != grid.n_rows:
        raise InputError(
            f"sample_weight.shape == {values.shape}, expected ({grid.n_rows},): one weight for each row"
        )
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            f"sample_weight contains NaN or infinity at row {int((~np.isfinite(values)).argmax())}"
        )
    if (values < 0).any():
        raise InputError(
            f"sample_weight is negative at row {int((values < 0).argmax())}: wanted weights >= 0"
        )
    if (values > 0).any() and not (values[values > 0].min() >= 1e-30 and values.max() <= 1e30):
        raise InputError("sample_weight has weights below 1e-30 or above 1e30: divide them by their maximum")
    if not values.any():
        raise InputError("sample_weight is zero for every row: at least one row needs a positive weight")
    return runtime.place_rows(values, grid)


def in_client(x: Any, what: str) -> np.ndarray:
    """Small values, one for each row, as numpy. Raises TypeError for a masked array, NonFiniteError."""
    x = lazy_array(x, what).array.compute() if dask.is_dask_collection(x) else x
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: fill the masked values, {what}.filled(...)")
    values = to_host(x)
    return plain_numbers(values, what=what) if values.dtype.kind == "O" else values


def give_back(rows: RowBlocks, source: Input, runtime: Runtime, reporter: Reporter, stage: str) -> Any:
    """Rows in the kind that came in: a lazy dask array with the input's chunks of rows, or numpy."""
    if source.kind == "dask":
        return source.aligned(rows.to_dask())
    return runtime.collect(rows, reporter=reporter, stage=stage)


def keep_labels(rows: RowBlocks, source: Input, runtime: Runtime, reporter: Reporter, stage: str) -> Any:
    """Labels in the kind that came in; small ones are fetched, so that they outlive the workers."""
    if source.kind == "dask" and rows.nbytes > CLIENT_BYTES:
        return source.aligned(rows.to_dask())
    labels = runtime.collect(rows, reporter=reporter, stage=stage)
    return source.aligned(from_memory(labels, rows.grid).to_dask()) if source.kind == "dask" else labels
