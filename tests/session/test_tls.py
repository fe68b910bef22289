"""Tests: TLS, by distributed's `Security`: what `connect` starts and what it joins; refusals in one line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dask
import numpy as np
import pytest
from distributed import Client
from distributed.security import Security

import daskkernels as dk

X = np.random.default_rng(0).normal(size=(3000, 3))


def credentials(folder: Path) -> Security:
    """A certificate for every role, made by openssl where it is installed, else by distributed."""
    if shutil.which("openssl") is None:
        pytest.importorskip("cryptography", reason="no certificate can be made: no openssl, no cryptography")
        return Security.temporary()
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dask-internal"]
    subprocess.run(
        ["openssl", "req", *made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in roles},
        **{f"tls_{role}_key": key for role in roles},
    )


@pytest.fixture(scope="module")
def security(tmp_path_factory: pytest.TempPathFactory) -> Security:
    return credentials(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def address(security: Security) -> Iterator[str]:
    """The address of two worker processes and a scheduler that speak TLS."""
    with dk.connect("local", n_workers=2, threads_per_worker=1, security=security) as client:
        yield str(client.scheduler.address)


def test_joined_with_a_certificate(address: str, security: Security) -> None:
    assert address.startswith("tls://127.0.0.1:")
    with dask.config.set(scheduler="sync"):
        alone = dk.Standardize().fit(X)
    with dk.connect(address, security=security) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert [worker[:6] for worker in workers] == ["tls://"] * 2
        again = dk.Standardize().fit(X)
    np.testing.assert_array_equal(again.mean_, alone.mean_)


def test_without_a_certificate(address: str) -> None:
    with pytest.raises(ValueError, match=r"wanted security=distributed\.Security\(tls_ca_file") as caught:
        dk.connect(address)
    assert "\n" not in str(caught.value)


def test_the_configuration_may_have_it(address: str, security: Security) -> None:
    """As Dask's documentation says: files in dask.yaml."""
    if "\n" in security.tls_ca_file:
        pytest.skip("no openssl: the certificate is in memory, not in a file")
    files = {
        "distributed.comm.tls.ca-file": security.tls_ca_file,
        "distributed.comm.tls.client.cert": security.tls_client_cert,
        "distributed.comm.tls.client.key": security.tls_client_key,
    }
    with dask.config.set(files), dk.connect(address) as client:
        assert client.submit(sum, [1, 2]).result() == 3


def test_a_plain_connection_is_refused(client_processes: Client, security: Security) -> None:
    with pytest.raises(RuntimeError, match="encryption required"):
        dk.connect(client_processes.scheduler.address, security=security)
    assert dask.base.get_scheduler() == client_processes.get  # not that of the client that failed


@pytest.mark.parametrize("bad", [True, {"tls_ca_file": "ca.pem"}])
def test_no_security(bad: object) -> None:
    with pytest.raises(TypeError, match=r"security=.*wanted a distributed\.Security"):
        dk.connect("local", security=bad)  # type: ignore[arg-type]
