"""The library's advice in the words of a command line: `overwrite=True` becomes `--overwrite`.

The library names its parameters; whoever typed a command looks for an option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ADVICE = {
    "write it again with overwrite=True, or go on with the resume= it was begun with": (
        "repeat the command that was writing it, to go on, or add --overwrite to that"
    ),
    "pass overwrite=True": "add --overwrite",
}
OPTIONS = {
    "header": "--header",
    "label_type": "--label-type",
    "n_features": "--n-features",
    "overwrite": "--overwrite",
    "zero_based": "--zero-based",
}  # of `python -m datasets`


def in_options(text: str, options: Mapping[str, str] = OPTIONS) -> str:
    """The text with parameters as options: `name=value` is `--option value`, `name=True` is `--option`."""
    for said, meant in _ADVICE.items():
        text = text.replace(said, meant)
    names = "|".join(sorted(options, key=len, reverse=True))
    text = re.sub(rf"\b({names})=True\b", lambda m: options[m[1]], text)
    text = re.sub(rf"\b({names})=False\b", lambda m: options[m[1]].replace("--", "--no-", 1), text)
    text = re.sub(rf"\b({names})=", lambda m: f"{options[m[1]]} ", text)
    return re.sub(rf"(?<![-\w'./])({names})(?=\b(?!-))", lambda m: _bare(m[1], options), text)


def _bare(name: str, options: Mapping[str, str]) -> str:
    """A parameter without a value; words that are also English stay."""
    return options[name] if "_" in name else name
