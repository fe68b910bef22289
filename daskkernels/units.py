"""Layer 0: numbers as people read them."""

from __future__ import annotations


def show_bytes(value: float) -> str:
    """1536 -> '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{value:.3g} {unit}"
        value /= 1024
    raise AssertionError


def show_seconds(value: float) -> str:
    """5400 -> '90 min'."""
    if value < 100:
        return f"{value:.1f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
