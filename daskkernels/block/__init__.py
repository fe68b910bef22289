"""Layer 2: pure functions of one block of rows, (b, d) -> (b, m); no dask, no files, no estimators.

Every function walks its block in tiles of 1024 rows, so that a row's result does not depend on the block it
is in.
"""

from .tiles import kernel_block, kernel_matvec

__all__ = ["kernel_block", "kernel_matvec"]
