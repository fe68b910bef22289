"""Original files: found where the user says, compared with what is published, downloaded once."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from datasets.cli import main
from datasets.fetch import raw_files
from datasets.named import covtype, mnist, pendigits
from datasets.readers import ReaderError
from datasets.spec import ArraySpec, DatasetSpec, Part, RawFile

CONTENT = b"1,2,0\n3,4,1\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(HTTPServer):
    """Serves CONTENT at /good/..., something else at /bad/..., and counts what it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        kind = self.path.split("/")[1]
        self.send_response(404 if kind == "none" else 200)
        content = CONTENT if kind == "good" else b"other"
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DASKKERNELS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def spec_of(*urls: str, checksum: str | None = f"sha256:{SHA256}") -> DatasetSpec:
    part = Part("all", ArraySpec("X", (2, 2), "|u1"), files=(RawFile("t.csv", urls, checksum),))
    return dataclasses.replace(pendigits.SPEC, name="tiny", shipped=None, parts=(part,))


def fetch(spec: DatasetSpec, raw: Path | None = None) -> tuple[Path, ...]:
    return raw_files(spec, spec.parts[0], raw)


def test_a_file_is_downloaded_once(server: Server, cache: Path) -> None:
    spec = spec_of(server.url("good/t.csv"))
    (path,) = fetch(spec)
    assert fetch(spec) == (path,)
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(cache)
    assert server.asked == ["/good/t.csv"]
    path.write_bytes(b"changed")
    assert fetch(spec)[0].read_bytes() == CONTENT


def test_the_next_address_is_tried(server: Server) -> None:
    spec = spec_of(server.url("none/t.csv"), server.url("bad/t.csv"), server.url("good/t.csv"))
    assert fetch(spec)[0].read_bytes() == CONTENT
    assert len(server.asked) == 3


def test_another_file_than_the_published_one_is_not_kept(server: Server, cache: Path) -> None:
    with pytest.raises(ReaderError, match="does not match the known hash"):
        fetch(spec_of(server.url("bad/t.csv")))
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_no_network_is_one_line_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    file = dataclasses.replace(covtype.FILE, urls=("http://127.0.0.1:9/covtype.data.gz",))
    part = dataclasses.replace(covtype.SPEC.parts[0], files=(file,))
    spec = dataclasses.replace(covtype.SPEC, parts=(part,))
    monkeypatch.setattr("datasets.registry.spec", lambda _name: spec)
    assert main(["build", "covtype", "--out", str(tmp_path / "c.zarr")]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.count("\n") == 1
    assert "http://127.0.0.1:9/covtype.data.gz can not be downloaded" in error
    assert "pass covtype.data.gz as --raw FILE" in error
    assert not (tmp_path / "c.zarr").exists()


def test_one_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "renamed (1).csv"
    path.write_bytes(CONTENT)
    assert fetch(spec_of("http://x/t.csv"), path) == (path,)


@pytest.mark.parametrize("names", [("train-images-idx3-ubyte", "train-labels-idx1-ubyte"), None])
def test_files_are_found_in_a_folder_packed_or_not(tmp_path: Path, names: tuple[str, ...] | None) -> None:
    names = names or tuple(file.name for file in mnist.SPEC.parts[0].files)
    paths = tuple(tmp_path / name for name in names)
    for path in paths:
        path.write_bytes(b"")
    assert fetch(mnist.SPEC, tmp_path) == paths
    assert fetch(mnist.SPEC, paths[0]) == paths, "the other one lies beside it"


def test_what_nothing_else_can_check_must_be_the_published_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(ReaderError, match=rf"sha256 .*, published is {SHA256}: give http://x/t.csv as it is"):
        fetch(spec_of("http://x/t.csv"), path)
    assert fetch(spec_of("http://x/t.csv", checksum=None), path) == (path,)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("nowhere", "--raw .*nowhere: no such file or folder"),
        (
            "",
            "no file train-images-idx3-ubyte.gz there; .* train-labels-idx1-ubyte.gz, published at https://",
        ),
    ],
)
def test_missing_files_are_named(tmp_path: Path, raw: str, message: str) -> None:
    with pytest.raises(ReaderError, match=message):
        fetch(mnist.SPEC, tmp_path / raw)


def test_data_without_original_files_wants_its_arrays(tmp_path: Path) -> None:
    (tmp_path / "pendigits.tra").write_bytes(b"")
    with pytest.raises(ReaderError, match=r"'pendigits' is read from an \.npz file of its arrays only"):
        fetch(pendigits.SPEC, tmp_path / "pendigits.tra")
