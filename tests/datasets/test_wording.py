"""The library's advice on a command line: options, not parameters."""

from __future__ import annotations

import pytest

from datasets.wording import in_options

PIPELINES = {"n_landmarks": "--landmarks", "memory_limit": "--memory-limit", "resume": "--resume"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "the dataset x exists: pass overwrite=True to replace it",
            "the dataset x exists: add --overwrite to replace it",
        ),
        ("header=True if this line is one", "--header if this line is one"),
        ("header=False, or another header", "--no-header, or another header"),
        ("n_features (3) means nothing here", "--n-features (3) means nothing here"),
        ("label_type says 'int'", "--label-type says 'int'"),
        ("a column 'n_features' of x/n_features.csv", "a column 'n_features' of x/n_features.csv"),
    ],
)
def test_options(said: str, meant: str) -> None:
    assert in_options(said) == meant


def test_another_command() -> None:
    text = "n_landmarks=16 at 3 columns: raise memory_limit or lower n_landmarks; pass resume=True"
    wanted = "--landmarks 16 at 3 columns: raise --memory-limit or lower --landmarks; pass --resume"
    assert in_options(text, PIPELINES) == wanted
