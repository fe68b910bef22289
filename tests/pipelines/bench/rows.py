"""Rows made of numbers that were not measured."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.bench.records import Limit, Row, Samples


def row(
    name: str = "features",
    ours: Iterable[float] = (1.0, 1.02, 0.99),
    peer: Iterable[float] = (),
    *,
    bench: str = "features",
    unit: str = "s",
    judged: bool = True,
    limits: tuple[Limit, ...] = (),
    asked: float | None = None,
) -> Row:
    """A row with these samples; it measured 2 times."""
    samples = Samples(unit, tuple(ours), tuple(peer))
    return Row(bench, name, "what", 2.0, "times", samples, asked, judged=judged, limits=limits)
