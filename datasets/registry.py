"""The list of named data sets: the only place that knows all of them.

A new data set is one file in `named/` and its name here.
"""

from __future__ import annotations

from difflib import get_close_matches

from datasets.named import (
    cifar10,
    cifar10_grey,
    covtype,
    higgs,
    letter,
    mnist,
    mnist8m,
    mushrooms,
    pendigits,
    satimage,
    segment,
    susy,
    svhn,
    timit_like,
)
from datasets.spec import DatasetSpec

_SMALL = (pendigits, segment, mushrooms, satimage, letter, mnist)
_LARGE = (cifar10, cifar10_grey, svhn, covtype, susy, higgs)
_MADE = (mnist8m, timit_like)
_SPECS: dict[str, DatasetSpec] = {file.SPEC.name: file.SPEC for file in (*_SMALL, *_LARGE, *_MADE)}


def names() -> tuple[str, ...]:
    """Names of all data sets, in alphabetical order."""
    return tuple(sorted(_SPECS))


def spec(name: str) -> DatasetSpec:
    """The specification of that name; raises ValueError naming the nearest one, or all."""
    if name in _SPECS:
        return _SPECS[name]
    near = get_close_matches(name, _SPECS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names())}"
    raise ValueError(f"no data set named {name!r}; {hint}")
