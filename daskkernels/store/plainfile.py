"""Store layer: files of a local folder, opened only if they are plain files that lie inside it.

A folder may come from a stranger: a link in it could lead anywhere, a pipe or a device would never end.
"""

from __future__ import annotations

import errno
import io
import os
import stat


def check(root: str, key: str) -> os.stat_result:
    """What the system says of the plain file `key` below the folder. Cost: a microsecond for each part.

    Raises FileNotFoundError, or another OSError for a link on the way and for what is not a plain file.
    """
    found = _walk(root, key)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a plain file", f"{root}/{key}")
    return found


def is_there(root: str, key: str) -> bool:
    """Whether the plain file is there. Raises OSError for a link on the way."""
    try:
        check(root, key)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
        return False
    return True


def entries(root: str, folder: str) -> int:
    """How many files and folders a folder below `root` holds; 0 where there is none. Raises OSError."""
    try:
        _walk(root, folder)
        with os.scandir(f"{root}/{folder}") as found:
            return sum(1 for _ in found)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _walk(root: str, key: str) -> os.stat_result:
    """What is there, reached without following a link. Raises OSError."""
    path = root
    for part in key.split("/"):
        path = f"{path}/{part}"
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, "a link inside a dataset is not followed (cp -rL makes a copy)", path)
    return found


def read(root: str, key: str, most: int) -> bytes:
    """All bytes of the file, `most` at most. Raises OSError."""
    found = check(root, key)
    if found.st_size > most:
        text = f"it has {found.st_size} bytes, where at most {most} are wanted"
        raise OSError(errno.EFBIG, text, f"{root}/{key}")
    with io.FileIO(f"{root}/{key}") as file:  # a Path costs as much as reading a small chunk
        return file.readall()


def tail(root: str, key: str, size: int) -> bytes:
    """The last `size` bytes of the file. Raises OSError."""
    start = max(0, check(root, key).st_size - size)
    with io.FileIO(f"{root}/{key}") as file:
        file.seek(start)
        return file.read(size)
