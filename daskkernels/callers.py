"""Lowest layer: warnings that point at the line of the user's own code that called."""

from __future__ import annotations

import sys
import warnings

_BETWEEN = {"daskkernels", "sklearn", "contextlib"}  # scikit-learn wraps `fit`, contexts wrap the work


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost caller outside this library and what it is wrapped in."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
