"""Tests: made speech: the same rows in any blocks, the task it stands for, and numbers written down."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from daskkernels.block.speech import BANDS, CLASSES, FEATURES, UTTERANCE, WINDOW, speech_rows

FAR = 1_100_000


@given(st.integers(0, 2 * FAR), st.integers(1, 700), st.integers(1, 700), st.integers(0, 5))
def test_blocks_do_not_matter(start: int, a: int, b: int, seed: int) -> None:
    X, y = speech_rows(start, start + a + b, seed=seed)
    parts = [speech_rows(start, start + a, seed=seed), speech_rows(start + a, start + a + b, seed=seed)]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), y)
    np.testing.assert_array_equal(speech_rows(0, a + b, seed=seed, first=start)[0], X)
    assert (X.shape, X.dtype, X.flags.c_contiguous) == ((a + b, FEATURES), np.float32, True)
    assert (y.shape, y.dtype) == ((a + b,), np.int32)


def test_neighbours_share_ten_frames() -> None:
    frames = speech_rows(7, 207, seed=0)[0].reshape(200, WINDOW, BANDS)
    np.testing.assert_array_equal(frames[1:, :-1], frames[:-1, 1:])


def test_known_numbers() -> None:
    """Made data is named by its recipe: another bit would be another data set."""
    X, y = speech_rows(FAR - 500, FAR + 500, seed=0)
    assert (
        hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        == "f62f021f9100d8bd04eee95d14240c95699aed9dd7e4f21cf06f2198e5c33a09"
    )


def test_seeds_differ() -> None:
    assert not np.isin(speech_rows(0, 50, seed=0)[0], speech_rows(0, 50, seed=1)[0]).any()


def test_states_follow_each_other() -> None:
    """A phone is heard from its beginning to its end, for 4 to 14 frames."""
    y = speech_rows(0, 5000, seed=3)[1]
    phone, part = np.divmod(y, 3)
    steps = np.diff(part)
    assert set(np.unique(steps)) <= {-2, 0, 1}
    assert (np.diff(phone)[steps == 1] == 0).all()
    lengths = np.diff(np.flatnonzero(steps == -2))
    assert (lengths.min(), lengths.max()) == (4, 14)


def test_classes_are_unequal_and_all_there() -> None:
    counts = np.bincount(speech_rows(0, 60_000, seed=0)[1], minlength=CLASSES)
    assert len(counts) == CLASSES
    assert counts.min() > 0
    assert 5 < counts.max() / counts.min() < 100


def test_noise_and_speakers_are_seen() -> None:
    """Frames are alike in time, less so farther apart; a speaker's mean stands out from those of others."""
    frames = speech_rows(0, 30_000, seed=0)[0][:, :BANDS].astype(float)
    centered = frames - frames.mean(axis=0)
    by_lag = [(centered[lag:] * centered[:-lag]).mean() / (centered**2).mean() for lag in (1, 4, 40)]
    assert 0.75 < by_lag[0] < 0.95
    assert by_lag[0] > by_lag[1] + 0.1 > by_lag[2] + 0.2
    speakers = centered.reshape(-1, UTTERANCE, BANDS).mean(axis=1).var()
    others = centered[np.random.default_rng(0).permutation(len(centered))].reshape(-1, UTTERANCE, BANDS)
    assert speakers > 5 * others.mean(axis=1).var()


@pytest.mark.slow
def test_classes_overlap() -> None:
    """A linear rule is far from chance and far from right."""
    X, y = speech_rows(0, 60_000, seed=0)
    rule = LinearDiscriminantAnalysis().fit(X[::3], y[::3])
    error = 1 - rule.score(*(rows[:3000] for rows in speech_rows(FAR, FAR + 3000, seed=0)))
    assert 0.3 < error < 0.6
