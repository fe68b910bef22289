"""The command lines' argument parser: argparse, except that an error is one line.

Shared by `python -m datasets` and `python -m pipelines`.
"""

from __future__ import annotations

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong, and how to get help, on one line of stderr."""

    def error(self, message: str) -> NoReturn:
        """Leave with code 2."""
        self.exit(2, f"{self.prog}: error: {message} (try: {self.prog} --help)\n")
