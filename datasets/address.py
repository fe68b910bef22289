"""Checks of a path or URL that need no data: that it is not empty, and that fsspec can reach its kind.

Shared by `python -m datasets` and `python -m pipelines`.
"""

from __future__ import annotations

import argparse


def not_empty(text: str) -> str:
    """An argument that names a place; an empty one would be the current folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    if "\0" in text:
        raise argparse.ArgumentTypeError("the path holds a NUL character")
    return text


def check_protocol(address: str, name: str = "") -> None:
    """Raise ValueError, with the option's name, for a protocol unknown or without its package."""
    if "://" not in address:
        return
    import fsspec  # only here: most addresses are folders
    from fsspec.utils import get_protocol

    for link in address.split("::"):  # a chain such as simplecache::s3://bucket/key
        protocol = get_protocol(link) if "://" in link else link
        try:
            fsspec.get_filesystem_class(protocol)
        except (ImportError, ValueError) as error:
            raise ValueError(f"{name} {address}: {error}".lstrip()) from error
