"""Text files whose lines are rows: cut into pieces of whole lines, counted, and found again when one is bad.

A piece is small, so memory stays bounded; rows can be left out without being parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from datasets.readers import files
from datasets.readers.base import ReaderError

PIECE_BYTES = 2**20  # as text; the numbers in it take up to four times as much
MAX_LINE_BYTES = 64 * 2**20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANK = b" \t\r"  # a line of nothing else is no row
_NO_ROW = re.compile(rb"\n[ \t\r]*[\n#]")  # a line that is blank or begins with a comment


@dataclass(frozen=True)
class Piece:
    """Some lines of a text, each ended by a newline; the first `skip` rows of them are left out."""

    line: int  # number of the first line, from 1
    data: bytes
    comment: bytes = b""
    skip: int = 0
    blank: bytes = BLANK

    @property
    def n_rows(self) -> int:
        """Number of rows, with those that are left out."""
        return self._all_rows().count(b"\n")

    @property
    def rows(self) -> bytes:
        """The lines that are rows: neither blank nor a comment."""
        data = self._all_rows()
        at = 0
        for _ in range(self.skip):
            at = data.index(b"\n", at) + 1
        return data[at:]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The rows as lines with their numbers in the file."""
        lines = enumerate(self.data.removesuffix(b"\n").split(b"\n"), self.line)
        return islice(((n, line) for n, line in lines if self._is_row(line)), self.skip, None)

    def _all_rows(self) -> bytes:
        if self.data[:1] not in b"\n\r \t#" and not _NO_ROW.search(self.data):
            return self.data
        return b"".join(line + b"\n" for line in self.data.split(b"\n") if self._is_row(line))

    def _is_row(self, line: bytes) -> bool:
        text = line.strip(self.blank)
        return bool(text) and not (self.comment and text.startswith(self.comment))


class TextFile:
    """A text file at an address, compressed or not; remembers how many of its bytes were read."""

    def __init__(self, address: str, comment: bytes = b"", blank: bytes = BLANK) -> None:
        self.address, self.comment, self.blank = address, comment, blank
        self.size = files.n_bytes(address)
        self.bytes_read = 0

    def pieces(self, skip: int = 0, header: bool = False) -> Iterator[Piece]:
        """The text without its header, if it has one, and its first `skip` rows."""
        left, line = skip + header, 1
        for data in self._whole_lines():
            piece = Piece(line, data, self.comment, left, self.blank)
            n_rows = piece.n_rows
            if n_rows > left:
                yield piece
            left = max(0, left - n_rows)
            line += data.count(b"\n")
        if left:
            raise ReaderError(f"it has {skip - left} rows, but reading is to begin at row {skip}")

    def progress(self) -> tuple[int, int | None]:
        """Bytes of the file that were read, of how many."""
        return self.bytes_read, self.size

    def _whole_lines(self) -> Iterator[bytes]:
        with files.unpacked(self.address) as (stream, tell):
            rest = b""
            mark = BYTE_ORDER_MARK
            while data := stream.read(PIECE_BYTES):
                self.bytes_read = tell()
                data, mark = data.removeprefix(mark), b""
                cut = data.rfind(b"\n") + 1
                if cut:
                    yield rest + data[:cut]
                    rest = data[cut:]
                else:
                    rest += data
                if len(rest) > MAX_LINE_BYTES:
                    raise ReaderError(f"a line is longer than {MAX_LINE_BYTES} bytes: is this a text file?")
            if rest:
                yield rest + b"\n"
