"""Layer 2: the tile engine. One matrix product into a reused buffer, the kernel's map in place while the tile
is in cache.

Distances are taken after the rows are centered on the right operand's mean: at an offset of 1000 times the
spread
float32 values are otherwise wrong by 0.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..finite import check_rows
from ..grid import TILE_ROWS
from ..kernels import AnyKernel, CallableKernel, Kernel, Stationary, as_kernel, has_unit_diagonal
from ..linalg import DegenerateMatrixError
from ..xp import Array, like, module_of, namespace, without_subnormal
from .sized import Sized
from .workspace import borrowed

CANCELLED = 1e-4  # error of a scaled squared distance from which products are made in float64
TILE_COLUMNS = 512  # 1024 x 512 float32 values, 2 MB: stays in the cache between the product and the map


@dataclass(frozen=True)
class RightOperand(Sized):
    """The rows Z (m, d) of a kernel block made ready once: cast, centered, scaled, norms appended."""

    kernel: AnyKernel
    matrix: Array  # (m, d) or (m, d + 2), the right factor; float64 where float32 products would cancel
    shift: Array | None  # (d,) what is subtracted from the rows of X
    dtype: np.dtype[np.floating]  # of the kernel values

    @property
    def n_rows(self) -> int:
        """m."""
        return int(self.matrix.shape[0])

    def first(self, m: int) -> RightOperand:
        """The first m rows of Z, with the same shift."""
        return replace(self, matrix=self.matrix[:m])


def prepare(
    kernel: AnyKernel, Z: Array, dtype: np.dtype[np.floating], center: Array | None = None
) -> RightOperand:
    """Make the rows Z (m, d) of K(X, Z) ready: for "distance" [-2 z, 1, |z|^2] times the kernel's
    coefficient.

    `center` (d,) is subtracted from the rows of both sides first; None takes the mean of Z.
    """
    if isinstance(kernel, CallableKernel):
        return RightOperand(kernel, Z.astype(dtype, order="C"), None, dtype)
    if kernel.product != "distance":
        center = None
    elif center is None:
        center = _mean(Z)
    shift = None if center is None else like(center, Z).astype(dtype)
    right = _prepared(kernel, Z, dtype, dtype, shift)
    if dtype == np.float32 and _cancels(right):
        return _prepared(kernel, Z, dtype, np.dtype(np.float64), shift)
    return right


def _prepared(
    kernel: Kernel,
    Z: Array,
    dtype: np.dtype[np.floating],
    work: np.dtype[np.floating],
    shift: Array | None,
) -> RightOperand:
    """A right operand whose products are made in `work`."""
    d = Z.shape[1]
    distance = kernel.product == "distance"
    matrix = module_of(Z).empty((Z.shape[0], d + 2 if distance else d), work)
    right = RightOperand(kernel, matrix, shift, dtype)
    _left(Z, right, matrix)
    if distance:
        matrix[:, :d] *= -2.0
        matrix[:, d:] = matrix[:, : d - 1 : -1].copy()  # [|z|^2, 1] -> [1, |z|^2], to meet [1, |x|^2] swapped
    with np.errstate(over="ignore"):
        coefficient = work.type(kernel.coefficient(d))
    if kernel.has_scale and not 0 < abs(coefficient) < np.inf:
        raise DegenerateMatrixError(f"{kernel!r} is beyond the range of {work}: rescale the data")
    matrix *= coefficient
    return right


def _cancels(right: RightOperand) -> bool:
    """Whether squared distances of near rows are lost in float32, in units of the kernel's own scale.

    Rows that lie far from the center compared with the bandwidth have |z|^2 as large as 1 / eps there.
    """
    assert isinstance(right.kernel, Kernel)
    if right.kernel.product != "distance" or not right.kernel.has_scale:
        return False
    largest = float(module_of(right.matrix).abs(right.matrix[:, -1]).max(initial=0.0))
    return largest * float(np.finfo(right.dtype).eps) > CANCELLED


def _mean(Z: Array) -> Array:
    """The mean of the rows (d,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        center = module_of(Z).ascontiguousarray(Z).mean(axis=0, dtype=np.float64)  # sums depend on the order
        if not bool(module_of(Z).isfinite(center).all()):  # one bad row would be reported as every row
            check_rows(Z.sum(axis=1, dtype=np.float64))
    return center


def kernel_block(kernel: AnyKernel | str, X: Array, Z: Array | None = None, *, dtype: object = None) -> Array:
    """K(X, Z) (b, m) for X (b, d) and Z (m, d); without Z, the symmetric K(X, X) with its exact diagonal.

    Parameters
    ----------
    kernel : an object with its bandwidth as a number, or a short name that needs none, such as "linear".
    X, Z : arrays in memory, numpy or cupy.
    dtype : "float32" or "float64" to compute in; None keeps the type of float input, float32 for integers and
        float16.

    Cost 2 b m d operations in the compute type.

    Raises NonFiniteError naming the first bad row.
    """
    kernel = as_kernel(kernel)
    compute = compute_dtype(X.dtype, dtype)
    K = evaluate(X, prepare(kernel, X if Z is None else Z, compute))
    if Z is None:
        K += K.T.copy()
        K *= 0.5
        diagonal = kernel_diagonal(kernel, X, compute)
        index = module_of(K).arange(K.shape[0])
        K[index, index] = diagonal
    return K


def kernel_matvec(kernel: AnyKernel | str, X: Array, Z: Array, W: Array, *, dtype: object = None) -> Array:
    """K(X, Z) W (b, l) for X (b, d), Z (m, d), W (m, l), streamed in tiles: K is never held.

    Parameters
    ----------
    kernel, X, Z, dtype : as in `kernel_block`.
    W : weights (m, l).

    Products per tile in the compute type, summed over tiles in float64. Cost 2 b m (d + l).

    Raises NonFiniteError naming the first bad row.
    """
    compute = compute_dtype(X.dtype, dtype)
    return matvec(X, prepare(as_kernel(kernel), Z, compute), W).astype(compute)


def evaluate(X: Array, right: RightOperand, out: Array | None = None, start: int = 0) -> Array:
    """K(X, Z) (b, m) for a prepared Z; `start` is added to the row number of an error."""
    if out is None:
        out = module_of(X).empty((X.shape[0], right.n_rows), right.dtype)
    in_place = not isinstance(right.kernel, CallableKernel) and right.matrix.dtype == right.dtype
    for rows, columns, tile in kernel_tiles(X, right, out if in_place else None, start):
        if not in_place:
            out[rows, columns] = tile
    return out


def matvec(X: Array, right: RightOperand, W: Array) -> Array:
    """K(X, Z) W (b, l) in float64 for a prepared Z and W (m, l)."""
    xp = module_of(X)
    W = W.astype(right.dtype, copy=False)
    result = xp.zeros((X.shape[0], W.shape[1]), np.float64)
    for rows, columns, tile in kernel_tiles(X, right, None):
        result[rows] += tile @ W[columns]
    return result


def transposed_matvec(X: Array, right: RightOperand, W: Array) -> Array:
    """K(X, Z)^T W (m, l) in float64 for a prepared Z (m, d) and W (b, l)."""
    xp = module_of(X)
    W = W.astype(right.dtype, copy=False)
    result = xp.zeros((right.n_rows, W.shape[1]), np.float64)
    for rows, columns, tile in kernel_tiles(X, right, None):
        result[columns] += tile.T @ W[rows]
    return result


def kernel_diagonal(kernel: AnyKernel, X: Array, dtype: np.dtype[np.floating]) -> Array:
    """k(x, x) (b,) in float64, exact: not the diagonal of rounded tiles."""
    xp = module_of(X)
    if has_unit_diagonal(kernel):
        return xp.ones(X.shape[0], np.float64)
    diagonal = xp.empty(X.shape[0], np.float64)
    step = 64 if isinstance(kernel, CallableKernel) else TILE_ROWS
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        if isinstance(kernel, CallableKernel):
            rows = rows.astype(dtype, order="C")
            diagonal[start : start + step] = xp.diagonal(_called(kernel, rows, rows))
        else:
            diagonal[start : start + step] = kernel.diagonal(
                _squared_norms(rows.astype(np.float64, order="C")), X.shape[1]
            )
    return diagonal


def compute_dtype(stored: object, override: object = None) -> np.dtype[np.floating]:
    """The type of the arithmetic: float32 and float64 stay, integers, bool and float16 become float32."""
    chosen = np.dtype(stored if override is None else override).newbyteorder("=")  # type: ignore[call-overload]
    if chosen == np.float64 or (override is None and chosen == np.longdouble):
        return np.dtype(np.float64)
    if override is not None and chosen != np.float32:
        raise ValueError(f"dtype={override!r}: wanted 'float32' or 'float64'")
    return np.dtype(np.float32)


def kernel_tiles(
    X: Array, right: RightOperand, out: Array | None, first_row: int = 0
) -> Iterator[tuple[slice, slice, Array]]:
    """Kernel values tile by tile: written into `out` (b, m) where given, else into one reused buffer.

    `first_row` is the number of the first row, for errors.
    """
    if isinstance(right.kernel, CallableKernel):
        yield from _callable_tiles(X, right, first_row)
        return
    xp, kernel, m, work = module_of(X), right.kernel, right.n_rows, right.matrix.dtype
    b = min(TILE_ROWS, X.shape[0])
    shape = (b, min(TILE_COLUMNS, m))
    with (
        borrowed("left", (b, right.matrix.shape[1]), work, X) as left_buffer,
        borrowed("tile", shape if out is None else (0, 0), work, X) as buffer,
        borrowed("scratch", shape if kernel.needs_scratch() else (0, 0), work, X) as scratch,
    ):
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            b = rows.stop - rows.start
            left = _left(X[rows], right, left_buffer[:b], first_row + start)
            for first in range(0, m, TILE_COLUMNS):
                columns = slice(first, min(first + TILE_COLUMNS, m))
                w = columns.stop - first
                tile = buffer[:b, :w] if out is None else out[rows, columns]
                xp.matmul(left, right.matrix[columns].T, out=tile)
                tile = kernel.tile_map(tile, scratch[:b, :w])
                if isinstance(kernel, Stationary):
                    tile = without_subnormal(tile, right.dtype)
                yield rows, columns, tile


def _left(X: Array, right: RightOperand, buffer: Array, start: int = 0) -> Array:
    """The left factor of a tile's product: cast, and for "distance" centered with [|x|^2, 1] appended."""
    assert isinstance(right.kernel, Kernel)
    xp, d = module_of(X), X.shape[1]
    body = buffer[:, :d]
    with np.errstate(over="ignore", invalid="ignore"):
        if right.shift is None:
            body[...] = X
        elif np.can_cast(X.dtype, buffer.dtype):
            xp.subtract(X, right.shift, out=body)
        else:  # wide integers, or float64 computed in float32: the difference first, then the rounding
            body[...] = X - right.shift.astype(np.float64)
    norms = _squared_norms(body)
    check_rows(norms, start)
    if right.kernel.product == "distance":
        buffer[:, d], buffer[:, d + 1] = norms, 1.0
    elif right.kernel.product == "cosine":
        body /= xp.sqrt(xp.where(norms > 0, norms, 1.0))[:, None]
    return buffer


def _callable_tiles(X: Array, right: RightOperand, first_row: int) -> Iterator[tuple[slice, slice, Array]]:
    """Tiles of a user's function."""
    assert isinstance(right.kernel, CallableKernel)
    Z = right.matrix
    for start in range(0, X.shape[0], TILE_ROWS):
        rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
        tile_rows = X[rows].astype(right.dtype, order="C")
        check_rows(_squared_norms(tile_rows), first_row + start)
        for first in range(0, Z.shape[0], TILE_COLUMNS):
            columns = slice(first, min(first + TILE_COLUMNS, Z.shape[0]))
            landmarks = Z[columns]
            landmarks.flags.writeable = False  # shared by all tasks: a function that writes into it must fail
            tile = _called(right.kernel, tile_rows, landmarks)
            yield rows, columns, like(tile, X).astype(right.dtype, copy=False)


def _called(kernel: CallableKernel, rows: Array, columns: Array) -> Array:
    """What a user's function makes of two sets of rows. Raises ValueError unless these are kernel values."""
    values, wanted = kernel.function(rows, columns), (rows.shape[0], columns.shape[0])
    if getattr(values, "shape", None) != wanted:
        raise ValueError(f"kernel function returned shape {getattr(values, 'shape', None)}, wanted {wanted}")
    if not hasattr(values, "dtype") or isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"kernel function returned a {type(values).__name__}, wanted a plain array")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"kernel function returned values of type {values.dtype}, wanted real numbers")
    return values


def _squared_norms(X: Array) -> Array:
    """|x|^2 of each row (b,)."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported by its row
        return namespace(X).vecdot(X, X)
