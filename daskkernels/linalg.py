"""Layer 1: small dense algebra in float64, with every tolerance and every rounding case in one place.

The functions take any array API namespace; matrices here are c x c, never n x anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .xp import Array, namespace

VECTORS = 8  # of Lanczos between restarts: fewer products than scipy's 20, errors below 1e-5
DENSE = 64  # rows up to which a matrix is written out to find its largest eigenvalue


class NumericalWarning(UserWarning):
    """The answer is right but the input made part of the request meaningless."""


class DegenerateMatrixError(ArithmeticError):
    """A small matrix has no usable positive eigenvalue, or holds NaN or infinity."""


def top_eigenpairs(A: Array, k: int | None = None) -> tuple[Array, Array]:
    """The k largest eigenvalues (k,), descending, and eigenvectors (c, k) of a symmetric matrix (c, c).

    Signs are fixed: the entry of largest magnitude of each vector is positive. Cost O(c^3).
    Raises DegenerateMatrixError when A holds NaN or infinity.
    """
    xp = namespace(A)
    if not bool(xp.all(xp.isfinite(A))):
        raise DegenerateMatrixError(
            f"a {A.shape[0]} x {A.shape[1]} matrix holds NaN or infinity: rescale the data or the kernel"
        )
    values, vectors = xp.linalg.eigh((A + xp.matrix_transpose(A)) * 0.5)
    values, vectors = xp.flip(values), xp.flip(vectors, axis=1)
    if k is not None:
        values, vectors = values[:k], vectors[:, :k]
    return values, vectors * _signs(vectors)


def _signs(vectors: Array) -> Array:
    """+1 or -1 for each column so that its entry of largest magnitude becomes positive. Shape (k,)."""
    xp = namespace(vectors)
    low, high = xp.min(vectors, axis=0), xp.max(vectors, axis=0)
    return xp.where(high >= -low, xp.ones_like(high), -xp.ones_like(high))


def largest_eigenvalue(product: Callable[[np.ndarray], np.ndarray], n: int, accuracy: float = 1e-3) -> float:
    """The largest eigenvalue of a symmetric positive matrix (n, n), given by its products with vectors.

    Lanczos from a fixed start, so the same matrix gives the same value; small matrices are written out.
    """
    if n > DENSE:
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # not needed to import the library

        operator = LinearOperator((n, n), product, dtype=np.float64)
        start = np.linspace(
            0.5, 1.5, n
        )  # not orthogonal to a vector of one sign, or to one that changes slowly
        try:
            found = eigsh(
                operator, k=1, which="LA", v0=start, ncv=VECTORS, tol=accuracy, return_eigenvectors=False
            )
            return float(found[0])
        except ArpackError:  # no gap, or zero
            pass
    return float(np.linalg.eigvalsh(np.stack([product(unit) for unit in np.eye(n)]))[-1])


def symmetric_product(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A v for a symmetric A (n, n) of float64 in C order, of which half is read: memory is the limit here."""
    from scipy.linalg.blas import dsymv  # not needed to import the library

    return dsymv(1.0, A.T, v)  # type: ignore[no-any-return]


def solve_positive(A: np.ndarray, B: np.ndarray, ridge: float) -> np.ndarray:
    """(A + ridge I)^-1 B for a positive semi-definite A (n, n).

    Where Cholesky's algorithm needs a larger ridge, it grows tenfold. Raises DegenerateMatrixError.
    """
    from scipy.linalg import cho_factor, cho_solve  # not needed to import the library

    for _ in range(10):
        try:
            factor = cho_factor(A + ridge * np.eye(len(A)), lower=True, overwrite_a=True, check_finite=False)
            return cho_solve(factor, B, check_finite=False)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError:
            ridge *= 10.0
    raise DegenerateMatrixError(f"a {len(A)} x {len(A)} matrix is not positive")


def upper_cholesky(A: np.ndarray, ridge: float) -> np.ndarray:
    """The upper R (m, m), columns one after another, with R^T R = A + ridge I; only A's upper half is read.

    Where rounding makes that fail, the ridge grows tenfold. Raises DegenerateMatrixError. Cost m^3 / 3.
    """
    from scipy.linalg import cholesky  # not needed to import the library

    if not np.isfinite(A).all():
        raise DegenerateMatrixError(
            f"a {len(A)} x {len(A)} matrix holds NaN or infinity: rescale the data or the kernel"
        )
    for _ in range(10):
        shifted = np.array(A, order="F")
        shifted.ravel(order="K")[:: len(A) + 1] += ridge
        try:
            return cholesky(shifted, lower=False, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError:
            ridge *= 10.0
    raise DegenerateMatrixError(f"a {len(A)} x {len(A)} matrix is not positive")


@dataclass(frozen=True)
class InverseRoot:
    """W^{-1/2} restricted to the largest eigenvalues: `root` = U_l diag(lam_l)^{-1/2}, root.T W root = I."""

    root: Array  # (c, rank)
    eigenvalues: Array  # (c,) all of them, descending

    @property
    def rank(self) -> int:
        """How many eigenvalues were kept."""
        return int(self.root.shape[1])


def truncated_inverse_root(W: Array, rank: int | None, eps: float) -> InverseRoot:
    """U_l diag(lam_l)^{-1/2} for the `rank` largest eigenvalues of W (c, c) above rounding.

    Kept are lam_i > max(eps64 * c, eps) * lam_1, with `eps` the machine epsilon of the type that C = K[:,
    landmarks] has
    (eps32 * c is far too strict, eps64 alone lets noise of a float32 C through).
    Raises DegenerateMatrixError when nothing is left.
    """
    xp = namespace(W)
    values, vectors = top_eigenpairs(W)
    floor = max(float(xp.finfo(W.dtype).eps) * W.shape[0], eps) * float(values[0])
    kept = int(xp.sum(xp.astype(values > max(floor, 0.0), xp.int64)))
    if kept == 0:
        raise DegenerateMatrixError(
            "the kernel matrix of the landmarks is zero: the kernel is 0 on all of them"
        )
    kept = kept if rank is None else min(kept, rank)
    return InverseRoot(vectors[:, :kept] / xp.sqrt(values[:kept]), values)
