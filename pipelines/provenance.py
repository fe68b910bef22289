"""What is needed to repeat a job: the command as typed; the library knows the versions.

Goes into the report and into the attributes of the labels.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def command_line(argv: Sequence[str]) -> str:
    """The command as one would type it."""
    return shlex.join(["python", "-m", "pipelines", *argv])
