"""Top layer: the records of events that reach the scheduler, from anywhere: known fields, finite, short."""

from __future__ import annotations

from typing import Any

MOST_LETTERS = 300
MOST_FIGURES = 50  # of one record
LARGEST = 1e30  # what is computed from such numbers is finite


def _text(value: Any) -> str | None:
    return value[:MOST_LETTERS] if isinstance(value, str) else None


def _text_if_any(value: Any) -> str:
    return _text(value) or ""


def _number(value: Any) -> float | None:
    ours = isinstance(value, int | float) and abs(value) <= LARGEST  # False for NaN
    return value if ours else None


def _numbers(value: Any) -> dict[str, float]:
    """The figures that are numbers."""
    return _known(value, _number)


def _passes(value: Any) -> dict[str, dict[str, float]]:
    """Figures by the name of a stage."""
    return _known(value, _numbers)


def _known(value: Any, kind: Any) -> dict[str, Any]:
    items = list(value.items())[:MOST_FIGURES] if isinstance(value, dict) else []
    found = {name: kind(one) for name, one in items if isinstance(name, str) and len(name) <= MOST_LETTERS}
    return {name: one for name, one in found.items() if one is not None}


_COMMON = {"fit": _text, "time": _number}
_FIELDS: dict[str, dict[str, Any]] = {
    "fit-started": {"estimator": _text_if_any, "client": _text_if_any, "figures": _numbers},
    "planned": {"figures": _numbers, "stages": _passes},
    "stage-started": {"stage": _text, "total": _number},
    "stage-progress": {"stage": _text, "done": _number, "total": _number},
    "stage-ended": {"stage": _text, "seconds": _number},
    "iteration": {"stage": _text, "iteration": _number, "figures": _numbers},
    "fit-ended": {"outcome": _text, "message": _text_if_any},
}


def understood(record: Any) -> dict[str, Any] | None:
    """The fields that an event has, without odd figures; None for what is not one of ours."""
    event = _text(record.get("event")) if isinstance(record, dict) else None
    if event not in _FIELDS:
        return None
    found = {name: kind(record.get(name)) for name, kind in (_COMMON | _FIELDS[event]).items()}
    return None if None in found.values() else {"event": event, **found}
