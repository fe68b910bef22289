"""What is needed to repeat a job: the command as typed; the library knows the versions.

Goes into the report and into the attributes of the labels.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_OUTPUTS = ("--out", "--report")
_WHOLE = ("demo", "train", "predict")  # replaces its own output; cannot do without one


def command_line(argv: Sequence[str]) -> str:
    """The command as one would type it."""
    return shlex.join(["python", "-m", "pipelines", *argv])


def repeatable(command: str) -> str:
    """The command without the outputs that are there now and would be refused, where it can do without."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        name, equals, _ = word.partition("=")
        if len(name) > 2 and any(
            option.startswith(name) for option in _OUTPUTS
        ):  # argparse takes a beginning
            if not equals:
                next(words, None)
            continue
        kept.append(word)
    return command if set(_WHOLE) & set(kept[3:4]) else shlex.join(kept)
