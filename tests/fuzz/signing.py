"""Tests: an altered store made consistent again, as a stranger would who knows the format."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any


def sign(root: Path) -> None:
    """Put right the fingerprint of every array and the digest of the group, where they can be."""
    arrays = [path.parent for path in sorted(root.glob("*/zarr.json")) if path.is_file() and not _led(path)]
    for array in arrays:
        with contextlib.suppress(Exception):
            _sign_array(array)
    with contextlib.suppress(Exception):
        _sign_group(root, arrays)


def _led(path: Path) -> bool:
    """Whether a link leads there."""
    return path.is_symlink() or path.parent.is_symlink()


def _sign_array(array: Path) -> None:
    document, marks = _opened(array)
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    total = hashlib.sha256()
    for index in range(min(100, -(-shape[0] // chunk[0]))):
        file = array.joinpath("c", str(index), *["0"] * (len(shape) - 1))
        if not file.is_file() or file.stat().st_size > 2**20:
            return
        total.update(file.read_bytes()[-4:])
    marks["content"] = total.hexdigest()
    (array / "zarr.json").write_text(json.dumps(document))


def _sign_group(root: Path, arrays: list[Path]) -> None:
    document, marks = _opened(root)
    names = marks.get("arrays", [array.name for array in arrays if array.name in ("X", "y")])
    rest = {key: value for key, value in marks.items() if key != "digest"}
    total = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(names):
        total.update(f"\n{name}\n".encode() + _bytes(root / name / "zarr.json"))
    marks["digest"] = total.hexdigest()
    (root / "zarr.json").write_text(json.dumps(document))


def _opened(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    document = json.loads(_bytes(folder / "zarr.json"))
    return document, document["attributes"]["daskkernels"]


def _bytes(file: Path) -> bytes:
    if _led(file) or not file.is_file() or file.stat().st_size > 2**21:
        raise FileNotFoundError(file)
    return file.read_bytes()
