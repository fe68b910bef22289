"""Layer 4: whether training diverges, or stands still because its step is too long for what is left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..block.eigenpro import Step

WINDOWS, LEAST_WINDOW = 8, 1000  # an epoch is judged in so many parts, of so many rows at least
GROWTH = 3.0  # of the squared residual over that of no model at all: divergence
SETTLED = 0.98  # of the residual of the epoch before: nothing more is learned at this step
WORTHLESS = 1.15  # residual of the first epoch over that of no model: the step is too long for noisy targets
NEGLIGIBLE = 1e-8  # of the squared targets: learned to rounding
HALVINGS = 20


class DivergenceError(ArithmeticError):
    """Training diverged however small the step was made."""


@dataclass(frozen=True)
class Window:
    """Squared residuals and targets of the batches since the last judgement, and the targets of an epoch.

    `largest` are the targets of a whole window, the most so far: one row of a heavy tail moves all others.
    """

    residual: float = 0.0
    targets: float = 0.0
    batches: int = 0
    largest: float = 0.0


@dataclass(frozen=True)
class Judge:
    """Judges by a fixed number of rows, so that neither the size of a round nor of a group matters."""

    batches: int  # of a window
    limit: float  # of the residual, relative to the largest targets

    @classmethod
    def of(cls, n: int, m: int, critical: float) -> Judge:
        """For n rows in batches of m. A batch adds up to 4 W / m* times its targets to W rows that follow."""
        rows = max(LEAST_WINDOW, n // WINDOWS)
        batches = max(1, -(-rows // m))
        return cls(batches, GROWTH * (1.0 + batches * m / critical))

    def after(self, window: Window, batches: np.ndarray, last: bool) -> Window | None:
        """The window after some batches (|f - y|^2, |y|^2), the last of an epoch are judged in any case.

        None where the residual has grown beyond what a batch can do: divergence.
        """
        for number, (residual, targets) in enumerate(batches.tolist(), 1):
            window = replace(
                window,
                residual=window.residual + residual,
                targets=window.targets + targets,
                batches=window.batches + 1,
            )
            over = window.batches == self.batches or (last and number == len(batches))
            if not over and np.isfinite(window.residual):
                continue
            largest = max(window.largest, window.targets)
            if not window.residual <= self.limit * largest:
                return None
            window = Window(largest=largest)
        return window


def worthless(residual: float, targets: float) -> bool:
    """Whether a first epoch met larger residuals than no model has.

    At a share p of the stable edge, noise in the targets of rows that are told apart by nothing comes back in
    the predictions p / (1 - p) times: nine times at the step that suits targets without noise.
    """
    return residual > WORTHLESS * targets


def settled(history: list[dict[str, float]], mean_square: float) -> bool:
    """Whether the last epoch hardly lowered the residual though something is left, or is worse than none."""
    present = history[-1]["train_mse"]
    if len(history) < 2:
        return present > mean_square
    last = history[-2]["train_mse"]
    return present > SETTLED * last and present > NEGLIGIBLE * mean_square


def halved(step: Step) -> Step:
    """Half the step."""
    return replace(step, safety=step.safety / 2)
