"""Tests: a seeded mutator of a store: bytes, names, links, JSON values, and sound chunk files that lie."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import google_crc32c
import numcodecs

from tests.fuzz.values import GROUPS, PLAUSIBLE

Tree = dict[str, Any] | list[Any]


class Mutator:
    """Alters the store at `root`; what lies in `outside` must never be read."""

    def __init__(self, seed: int, root: Path, outside: Path) -> None:
        self.random, self.root, self.outside = random.Random(seed), root, outside
        self.done: list[str] = []
        self.deep = self.random.random() < 0.3  # a stranger who knows the format: values alone, signed again

    def mutate(self) -> None:
        """One alteration, of a kind chosen at random; it may find nothing to alter."""
        kinds: list[Callable[[], str | None]] = [*self._json_kinds() * 3, *self._file_kinds()]
        if self.deep:
            kinds = self._json_kinds()[1:]
        kind = self.random.choice(kinds)
        try:
            self.done.append(f"{kind.__name__.strip('_')}: {kind()}")
        except OSError as error:  # an alteration before has left nothing to alter
            self.done.append(f"{kind.__name__.strip('_')}: {error}")

    def _json_kinds(self) -> list[Callable[[], str | None]]:
        return [self._text, self._replace, self._plausible, self._plausible, self._remove, self._add]

    def _file_kinds(self) -> list[Callable[[], str | None]]:
        return [
            *(
                self._flip,
                self._flip,
                self._truncate,
                self._extend,
                self._delete,
                self._duplicate,
                self._swap,
            ),
            *(self._over, self._folder, self._flatten, self._rename, self._link, self._link_folder),
            *(self._special, self._extra, self._recompress, self._recompress),
        ]

    # ------------------------------------------------------------------------------------------------- files

    def _files(self) -> list[Path]:
        found = (path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(path for path in found if path.stat().st_size < 2**22)

    def _file(self) -> Path:
        return self.random.choice(self._files() or [self._made()])

    def _made(self) -> Path:
        path = self.root / "made"
        path.write_bytes(b"\0")
        return path

    def _said(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def _flip(self) -> str:
        path = self._file()
        raw = bytearray(path.read_bytes() or b"\0")
        for _ in range(self.random.choice([1, 1, 1, 5, 50])):
            raw[self.random.randrange(len(raw))] ^= 1 << self.random.randrange(8)
        path.write_bytes(raw)
        return self._said(path)

    def _truncate(self) -> str:
        path = self._file()
        size = self.random.choice([0, 1, 4, self.random.randrange(1 + path.stat().st_size)])
        path.write_bytes(path.read_bytes()[:size])
        return f"{self._said(path)} to {size}"

    def _extend(self) -> str:
        path = self._file()
        more = self.random.choice([b"\0", b" ", b"}", self.random.randbytes(99), b"\0" * 4096, None])
        if more is None:
            os.truncate(path, 10**12)  # a sparse file: it takes no room on the disk
        else:
            path.write_bytes(path.read_bytes() + more)
        return self._said(path)

    def _delete(self) -> str:
        path = self.random.choice([self._file(), self._file().parent])
        if path == self.root:
            path = self._file()
        said = self._said(path)
        path.unlink() if path.is_file() else shutil.rmtree(path)
        return said

    def _duplicate(self) -> str:
        path = self._file()
        shutil.copy(path, path.with_name(self.random.choice(["copy", "1", "9", ".zattrs", "zarr.json~"])))
        return self._said(path)

    def _swap(self) -> str:
        one, other = self._file(), self._file()
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
        return f"{self._said(one)} and {self._said(other)}"

    def _over(self) -> str:
        one, other = self._file(), self._file()
        other.write_bytes(one.read_bytes())
        return f"{self._said(one)} over {self._said(other)}"

    def _folder(self) -> str:
        path = self._file()
        path.unlink()
        path.mkdir()
        return self._said(path)

    def _flatten(self) -> str:
        path = self._file().parent
        shutil.rmtree(path)
        path.write_bytes(self.random.randbytes(20))
        return str(path.name)

    def _rename(self) -> str:
        path = self._file()
        path.rename(path.with_name(self.random.choice(["0", "1", "X", "zarr.json", ".zarray", "zarr.JSON"])))
        return self._said(path)

    def _link(self) -> str:
        """Outside is the very same file, another, or one that never ends."""
        path = self._file()
        copy = self.outside / f"{self.random.randrange(10**9)}"
        shutil.copy(path, copy)
        path.unlink()
        path.symlink_to(self.random.choice([copy, copy, "/etc/passwd", "/dev/zero", path, "../zarr.json"]))
        return self._said(path)

    def _link_folder(self) -> str:
        path = self._file().parent
        if path == self.root:
            return "none"
        copy = self.outside / f"{self.random.randrange(10**9)}"
        shutil.move(path, copy)
        path.symlink_to(self.random.choice([copy, copy, "/etc", "/dev/fd", "."]))
        return self._said(path)

    def _special(self) -> str:
        path = self._file()
        path.unlink()
        os.mkfifo(path)
        return self._said(path)

    def _extra(self) -> str:
        name = self.random.choice([".zattrs", ".zgroup", ".zarray", "README.txt", "X/.zarray", "y/zarr.json"])
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not path.is_symlink():
            path.write_text(self.random.choice(["{}", '{"zarr_format": 2}', "text"]))
        return name

    def _recompress(self) -> str:
        """A chunk file that is sound in itself: its checksum is right."""
        path = self.random.choice([p for p in self._files() if "c" in p.parts[:-1]] or [self._file()])
        plain = self.random.choice([b"", b"\0" * 8, self.random.randbytes(64 * 3 * 4), b"\xff" * 768])
        body = bytes(numcodecs.Zstd().encode(plain)) if plain else b"(\xb5/\xfd\xe0" + b"\xff" * 20
        if self.random.random() < 0.2:  # a frame that says that it holds 2^62 bytes
            body = body[:4] + b"\xe0" + (2**62).to_bytes(8, "little") + body[13:]
        path.write_bytes(body + google_crc32c.value(body).to_bytes(4, "little"))
        return self._said(path)

    # -------------------------------------------------------------------------------------------------- JSON

    def _document(self) -> tuple[Path, Tree] | None:
        found = [path for path in self._files() if path.name == "zarr.json"]
        path = self.random.choice(found) if found else None
        if path is not None and self.random.random() < 0.5 and self.root / "zarr.json" in found:
            path = self.root / "zarr.json"  # holds most of what there is to alter
        try:
            tree = None if path is None else json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return None
        return (path, tree) if path is not None and isinstance(tree, dict | list) and tree else None

    def _places(self, tree: Tree) -> Iterator[tuple[Tree, Any]]:
        for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
            yield tree, key
            if isinstance(value, dict | list):
                yield from self._places(value)

    def _altered(self, change: Callable[[Any, Any], str], keys: Any = None) -> str | None:
        found = self._document()
        places = [] if found is None else list(self._places(found[1]))
        places = [(node, key) for node, key in places if keys is None or key in keys]
        if found is None or not places:
            return None
        said = change(*self.random.choice(places))
        found[0].write_text(json.dumps(found[1]))
        return f"{self._said(found[0])} {said}"

    def _replace(self) -> str | None:
        def change(node: Any, key: Any) -> str:
            node[key] = self.random.choice(self.random.choice(GROUPS))
            return f"{key} = {str(node[key])[:60]}"

        return self._altered(change)

    def _plausible(self) -> str | None:
        def change(node: Any, key: Any) -> str:
            node[key] = self.random.choice(PLAUSIBLE[key])
            return f"{key} = {str(node[key])[:60]}"

        return self._altered(change, PLAUSIBLE)

    def _remove(self) -> str | None:
        def change(node: Any, key: Any) -> str:
            del node[key]
            return f"without {key}"

        return self._altered(change)

    def _add(self) -> str | None:
        def change(node: Any, key: Any) -> str:
            value = self.random.choice(self.random.choice(GROUPS))
            if isinstance(node, list):
                node.insert(key, self.random.choice([value, node[key]]))
                return f"one more at {key}"
            name = self.random.choice(
                ["plan_", "__class__", "_open", "feature_names_in_", "scratch", "x", "fit_"]
            )
            node[name] = value
            return f"{name} = {str(value)[:60]}"

        return self._altered(change)

    def _text(self) -> str | None:
        """The text of a document, with a value that JSON itself has a limit for."""
        found = self._document()
        if found is None:
            return None
        path, text = found[0], found[0].read_text()
        deep = self.random.choice([900, 100_000])
        texts = ["[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, "NaN", "1e999", "9" * 5000]
        place = self.random.choice([i for i, letter in enumerate(text) if letter == ":"] or [0])
        end = text.find(",", place)
        end = len(text) if end < 0 else end
        new = self.random.choice(texts)
        raw = (text[: place + 1] + new + text[end:]).encode()
        path.write_bytes(
            self.random.choice([raw, raw, b"\xef\xbb\xbf" + raw, raw.replace(b"a", b"\xff"), b""])
        )
        return f"{self._said(path)} {new[:10]}"
