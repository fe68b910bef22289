"""The command lines' argument parser: argparse, except that an error is one line.

Shared by `python -m datasets` and `python -m pipelines`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong, and how to get help, on one line of stderr."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """As argparse does, which takes the value of `--rows=--` for an empty list."""
        given = sys.argv[1:] if args is None else list(args)
        for name, _, value in (text.partition("=") for text in given if text.startswith("--")):
            if value == "--":
                self.error(f"argument {name}: '--' is not a value")
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Leave with code 2; what was typed may have held line breaks."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())} (try: {self.prog} --help)\n")
