"""Top layer: the curves of one fit, a bounded number of points each, sorted into charts."""

from __future__ import annotations

from typing import Any

MOST_POINTS = 300  # of a curve; then every second one goes

# Title, scale of y, and the curves by the name of their figure; x counts epochs or iterations.
CHARTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("Residual (mean squared)", "log", {"train_mse": "training", "validation_mse": "validation"}),
    ("Validation error", "share", {"validation_error": "wrong"}),
    ("Movement of the centers", "log", {"shift": "squared shift", "threshold": "stops below"}),
)
KNOWN = {name for _, _, curves in CHARTS for name in curves}


class Charts:
    """Points by the name of their figure."""

    def __init__(self) -> None:
        self._curves: dict[str, list[tuple[float, float]]] = {}

    def add(self, figures: dict[str, Any], x: float) -> None:
        """One more point of each curve; of several at one x (restarts) the highest, of an x gone back to the
        last.
        """
        for name in KNOWN & set(figures):
            y = figures[name]
            if y is None:  # not finite
                continue
            points = self._curves.setdefault(name, [])
            while points and points[-1][0] > x:
                points.pop()
            if points and points[-1][0] == x:
                y = max(y, points.pop()[1])
            points.append((float(x), float(y)))
            if len(points) > MOST_POINTS:
                del points[-2:0:-2]

    def shown(self, x: str) -> list[dict[str, Any]]:
        """The charts that have curves; `x` says what they are drawn against."""
        found = []
        for title, scale, curves in CHARTS:
            series = [
                {"name": shown, "points": self._curves[name]}
                for name, shown in curves.items()
                if name in self._curves
            ]
            if series:
                found.append({"title": title, "scale": scale, "x": x, "series": series})
        return found
