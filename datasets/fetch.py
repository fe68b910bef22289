"""Original files of a part: shipped, given by the user, or downloaded into a cache.

The cache is pooch's folder for daskkernels; the environment variable DASKKERNELS_DATA names another one.
"""

from __future__ import annotations

import hashlib
import sys
import textwrap
from pathlib import Path

from datasets.readers import ReaderError
from datasets.spec import RAW_FOLDER, DatasetSpec, Part, RawFile

CACHE_VARIABLE = "DASKKERNELS_DATA"
ARRAYS = ".npz"  # a file of decoded arrays instead of the original ones


def raw_files(spec: DatasetSpec, part: Part, raw: Path | None = None) -> tuple[Path, ...]:
    """The original files of a part in the order its decoder takes them, or one .npz file of its arrays.

    `raw`: what the user has, such a file or a folder of them. Raises ReaderError for a file that is missing
    or cannot be downloaded, or is not the published one where nothing else tells that its numbers are right.
    """
    if raw is None:
        if spec.shipped is not None:
            return (RAW_FOLDER / spec.shipped,)
        return tuple(download(file) for file in part.files)
    if not raw.exists():
        raise ReaderError(f"--raw {raw}: no such file or folder")
    if raw.is_file() and raw.suffix.lower() == ARRAYS:
        return (raw,)
    if not part.files:
        raise ReaderError(f"--raw {raw}: {spec.name!r} is read from an {ARRAYS} file of its arrays only")
    files = _given(spec, part, raw)
    if not part.pinned:
        for file, path in zip(part.files, files, strict=True):
            check_published(file, path)
    return files


def _given(spec: DatasetSpec, part: Part, raw: Path) -> tuple[Path, ...]:
    """The user's files: one of any name when one is wanted, else by name in a folder, packed or not."""
    if raw.is_file() and len(part.files) == 1:
        return (raw,)
    folder = raw if raw.is_dir() else raw.parent
    found = []
    for file in part.files:
        names = (file.name, file.name.removesuffix(".gz"))
        path = next((folder / name for name in names if (folder / name).is_file()), None)
        if path is None:
            wanted = ", ".join(other.name for other in part.files)
            raise ReaderError(
                f"--raw {raw}: no file {file.name} there; part {part.name!r} of {spec.name!r} is made from "
                f"{wanted}, published at {file.urls[0]}"
            )
        found.append(path)
    return tuple(found)


def check_published(file: RawFile, path: Path) -> None:
    """Raise ReaderError unless the file is the published one, as far as a checksum of that is known."""
    if file.checksum is None:
        return
    algorithm, _, wanted = file.checksum.partition(":")
    found = file_digest(path, algorithm)
    if found != wanted:
        raise ReaderError(
            f"--raw {path}: {algorithm} {found}, published is {wanted}: give {file.urls[0]} as it is"
        )


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    """Digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def download(file: RawFile) -> Path:
    """A file in the cache, downloaded from the first of its addresses that answers. Raises ReaderError."""
    import pooch  # only here: most builds download nothing

    pooch.get_logger().setLevel("WARNING")
    reason = ""
    for url in file.urls:
        cache = pooch.create(
            pooch.os_cache("daskkernels"),
            base_url="",
            env=CACHE_VARIABLE,
            registry={file.name: file.checksum},
            urls={file.name: url},
        )
        try:
            return Path(cache.fetch(file.name, progressbar=sys.stderr.isatty()))
        except (OSError, ValueError) as error:  # no network, an answer that says no, another checksum
            reason = f"{type(error).__name__}: {textwrap.shorten(str(error), 160)}"
    urls = ", ".join(file.urls)
    raise ReaderError(f"{urls} can not be downloaded: pass {file.name} as --raw FILE ({reason})")
