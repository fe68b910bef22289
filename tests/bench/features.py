"""Bench 2: `NystromFeatures.fit_transform` with s = 80 against `Nystroem` of scikit-learn, same bandwidth."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_approximation import Nystroem

import daskkernels as dk
from tests.bench.inputs import Digits, mean_bandwidth
from tests.bench.records import Row
from tests.bench.timing import Yardstick, alternate

COMPONENTS = 80


def one(data: Digits, bandwidth: float, c: int, yardstick: Yardstick, quick: bool) -> Row:
    """c landmarks on both sides; ours also finds the rank restriction to 80 directions."""
    ours = dk.NystromFeatures(dk.Gaussian(bandwidth), n_landmarks=c, n_components=COMPONENTS, random_state=0)
    peer = Nystroem(kernel="rbf", gamma=1 / (2 * bandwidth**2), n_components=c, random_state=0)
    with yardstick.watch(f"features c={c}") as quiet:
        mine, theirs = alternate(lambda: ours.fit_transform(data.X), lambda: peer.fit_transform(data.X))
    ratio = float(np.median(theirs) / np.median(mine))
    what = f"NystromFeatures.fit_transform c={c} s={COMPONENTS} against sklearn Nystroem, n={len(data.X)}"
    return Row(
        "features",
        what,
        1.8,
        ratio,
        "times",
        judged=quiet() and not quick,
        details={"ours": mine, "peer": theirs},
    )


def run(data: Digits, yardstick: Yardstick, quick: bool) -> list[Row]:
    """Both numbers of landmarks."""
    bandwidth = mean_bandwidth(data.X)
    return [one(data, bandwidth, c, yardstick, quick) for c in ((100,) if quick else (400, 810))]
