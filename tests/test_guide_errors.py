"""The errors and warnings that docs/guide.md explains are what the library says: each is provoked here."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import zarr
from scipy import sparse
from sklearn.cluster import KMeans

import daskkernels as dk
from daskkernels.session import agreement
from tests.pages import ROOT, page

ROWS = re.findall(r"^\| `(\w+(?:Error|Warning): [^`]+)` \|", page("docs/guide.md"), flags=re.MULTILINE)
X = np.random.default_rng(0).normal(size=(200, 3)).astype("float32")
Y = (X[:, 0] > 0).astype(int)
SMALL = dk.plan.Machine(memory=2**30)
UNGUARDED = "import daskkernels as dk\ndk.connect('local', n_workers=1, threads_per_worker=1)\n"


def clustering(k: int = 2, **parameters: object) -> dk.KernelKMeans:
    return dk.KernelKMeans(k, random_state=0, **parameters)


def classifier(max_epochs: int = 1, **parameters: object) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(max_epochs=max_epochs, random_state=0, **parameters)


def lacking(values: np.ndarray, row: int) -> np.ndarray:
    changed = values.astype(float)
    changed[row] = np.nan
    return changed


def store(folder: Path, name: str = "digits.zarr") -> Path:
    dk.write_dataset(folder / name, X, Y)
    return folder / name


def chunk_of(path: Path) -> Path:
    return next(file for file in (path / "X" / "c").rglob("*") if file.is_file())


def damaged(folder: Path) -> None:
    path = store(folder)
    chunk = chunk_of(path)
    raw = bytearray(chunk.read_bytes())
    raw[len(raw) // 2] ^= 255
    chunk.write_bytes(raw)
    dk.open_dataset(path).X.compute()


def lost(folder: Path) -> None:
    path = store(folder)
    chunk_of(path).unlink()
    dk.open_dataset(path)


def edited(folder: Path, old: str, new: str) -> None:
    path = store(folder)
    document = path / "zarr.json"
    text = document.read_text(encoding="utf-8")
    assert old in text
    document.write_text(text.replace(old, new), encoding="utf-8")
    dk.open_dataset(path)


def foreign(folder: Path) -> None:
    zarr.create_array(folder / "other.zarr", shape=(3, 3), dtype="f4")
    dk.open_dataset(folder / "other.zarr")


def fitted_twice(folder: Path, **other: object) -> None:
    classifier().fit(X, Y, checkpoint=folder / "run")
    classifier(**other).fit(X, Y, checkpoint=folder / "run", resume=bool(other))


def without_its_data(folder: Path) -> None:
    data = dk.open_dataset(store(folder))
    dk.save(classifier().fit(data.X, data.y), folder / "model.zarr")
    dk.load(folder / "model.zarr")


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.T


def too_large_for_the_workers(folder: Path) -> None:
    """On a cluster of somebody else, where no folder is known that its workers reach."""
    huge = da.zeros((10**9, 100), chunks=(10**7, 100))  # 800 GB, never made
    with dk.connect("threads") as owner, dk.connect(owner.scheduler.address):
        clustering().fit(huge)


def other_versions(folder: Path) -> None:
    true = agreement._version
    with pytest.MonkeyPatch.context() as patch, dk.connect("threads") as client:
        patch.setattr(agreement, "_version", lambda name: "9.9" if name == "numpy" else true(name))
        dk.connect(client.scheduler.address)


def without_main_guard(folder: Path) -> None:
    (folder / "script.py").write_text(UNGUARDED, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    raise RuntimeError(done.stderr.splitlines()[-1].removeprefix("RuntimeError: "))


def oversubscribed(folder: Path) -> None:
    with dk.connect("threads", n_workers=1, threads_per_worker=10_000):
        pass


LAZY = da.zeros((10**7, 100), chunks=(10**6, 100))
PROVOKED: dict[str, Callable[[Path], object]] = {
    "wanted two dimensions": lambda _: clustering().fit(da.from_array(X[:, 0])),
    "is sparse": lambda _: clustering().fit(sparse.csr_matrix(X)),
    "X contains NaN": lambda _: clustering().fit(lacking(X, 7)),
    "y has no value": lambda _: classifier().fit(X, lacking(Y, 3)),
    "inconsistent numbers": lambda _: classifier().fit(X, Y[:-1]),
    "2 classes at least": lambda _: classifier().fit(X, 0 * Y),
    "continuous": lambda _: classifier().fit(X, X[:, 0]),
    "n_samples=5": lambda _: clustering(8).fit(X[:5]),
    "n_landmarks=500": lambda _: clustering(n_landmarks=500).fit(X),
    "'rbf'": lambda _: clustering(kernel="rbf").fit(X),
    "n_landmarks=20000": lambda _: clustering(n_landmarks=20_000).plan(LAZY, machine=SMALL),
    "and 10 outputs": lambda _: classifier().plan(LAZY, machine=SMALL),
    "held by the client": too_large_for_the_workers,
    "ExistsError": lambda folder: dk.write_dataset(store(folder), X),
    "no dataset at": lambda folder: dk.open_dataset(folder / "nowhere.zarr"),
    "is a Zarr array": foreign,
    "IncompleteWriteError": lambda folder: edited(folder, '"complete": true', '"complete": false'),
    "MissingChunkError": lost,
    "BlockReadError": damaged,
    "DigestError": lambda folder: edited(folder, "200", "201"),
    "holds a fit": fitted_twice,
    "is of another fit": lambda folder: fitted_twice(folder, kernel="gaussian"),
    "is a function": lambda folder: dk.save(clustering(kernel=product).fit(X), folder / "model.zarr"),
    "pass data=": without_its_data,
    "KMeans is not an estimator": lambda folder: dk.save(KMeans(2), folder / "model.zarr"),
    "DivergenceError": lambda _: classifier(10, step_size=1e9).fit(X, Y),
    "localhost": lambda _: dk.connect("localhost:8786"),
    "workers did not start": without_main_guard,
    "VersionMismatchError": other_versions,
    "ConvergenceWarning": lambda _: clustering(3, max_iter=1).fit(X),
    "n_components=50": lambda _: clustering(3, n_components=50, kernel=dk.Gaussian(100.0)).fit(X),
    "clusters have members": lambda _: clustering(3, kernel=dk.Gaussian(1.0)).fit(np.ones((100, 2))),
    "OversubscribedWarning": oversubscribed,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[:60])
def test_the_library_says_what_the_guide_explains(row: str, tmp_path: Path) -> None:
    (provoke,) = [provoke for key, provoke in PROVOKED.items() if key in row]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises((Exception, UserWarning)) as caught:
            provoke(tmp_path)
    message = f"{caught.type.__name__}: {caught.value}"
    assert doctest.OutputChecker().check_output(row, message, doctest.ELLIPSIS), message


def test_every_error_that_is_provoked_is_explained() -> None:
    assert len(ROWS) == len(PROVOKED)
    assert [key for key in PROVOKED if sum(key in row for row in ROWS) != 1] == []
