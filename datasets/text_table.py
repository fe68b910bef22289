"""Plain text tables for the terminal: columns aligned, long last columns wrapped to the window.

Shared by `python -m datasets` and `python -m pipelines`.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

_GAP = "  "
_NARROWEST = 30


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """The rows as lines of text; every column but the last is as wide as its longest cell."""
    width = width or shutil.get_terminal_size().columns
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    indent = sum(widths) + len(_GAP) * len(widths)
    lines = []
    for row in rows:
        left = "".join(cell.ljust(size) + _GAP for cell, size in zip(row, widths, strict=False))
        wrapped = textwrap.wrap(
            row[-1], max(width - indent, _NARROWEST), break_on_hyphens=False, break_long_words=False
        ) or [""]
        lines.append((left + wrapped[0]).rstrip())
        lines += [" " * indent + line for line in wrapped[1:]]
    return "\n".join(lines)


def size_text(n_bytes: float) -> str:
    """1500000 -> '1.5 MB'."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"
