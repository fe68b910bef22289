"""Layer 1: finding values that are not finite while a block is read anyway, and naming their row."""

from __future__ import annotations

from .xp import Array, module_of


class NonFiniteError(ValueError):
    """The data, or what a kernel makes of them, hold NaN or infinity, or y lacks a value; `row` is from 0."""

    def __init__(self, row: int, what: str = "X") -> None:
        super().__init__(row, what)
        self.row, self.what = row, what

    def __str__(self) -> str:
        if self.what != "X":
            return (
                f"{self.what} has no value (it is NaN, NA, None or infinity) in row {self.row}: "
                "fill it in, or drop the row"
            )
        return (
            f"{self.what} contains NaN or infinity, or a value too large for its type, in row {self.row}: "
            "remove or impute the row, or, if its values are merely huge, rescale or use dtype='float64'"
        )

    def shifted(self, start: int) -> NonFiniteError:
        """The same error for a block that begins at row `start`."""
        return NonFiniteError(self.row + start, self.what)


def check_rows(per_row: Array, start: int = 0, what: str = "X") -> None:
    """Raise NonFiniteError for the first row whose figure, e.g. its squared norm (b,), is not finite."""
    xp = module_of(per_row)
    if not bool(xp.isfinite(per_row.sum())):
        bad = ~xp.isfinite(per_row)
        if bool(bad.any()):
            raise NonFiniteError(start + int(bad.argmax()), what)


def check_sample(X: Array, numbers: Array) -> None:
    """Raise NonFiniteError for the first row of X (c, d) that is not finite, by its number in `numbers`."""
    bad = ~module_of(X).isfinite(X).all(axis=1)
    if bool(bad.any()):
        raise NonFiniteError(int(numbers[int(bad.argmax())]))
