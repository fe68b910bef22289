"""Top layer: `connect`, a client with sensible workers, threads, memory limits and BLAS threads."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import Any

import dask
from distributed import Client
from distributed.security import Security

from .agreement import check_versions
from .arguments import a_count, a_dashboard, a_folder, a_host, a_limit, a_security
from .clusters import LocalOptions, cuda_workers, processes, threads
from .page import page_link
from .runtime import prepare_workers, scratch_of

ANY_PORT = ":0"
ON_THIS_MACHINE = {"local": processes, "threads": threads, "cuda": cuda_workers}


def connect(
    address: str = "local",
    *,
    n_workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_limit: str | int | None = None,
    scratch: str | os.PathLike[str] | None = None,
    host: str | None = None,
    dashboard_address: str | int = ANY_PORT,
    security: Security | None = None,
) -> Client:
    """A Dask client: "local" (worker processes), "threads" (one in-process worker), "cuda" (one process for
    each GPU, by dask-cuda) or the address of a running scheduler, "tcp://host:8786" or "tls://host:8786".

    Parameters
    ----------
    address : where the workers are.
    n_workers, threads_per_worker : default one process of one thread for each core ("local"), one worker of
        all cores ("threads"), one process of one thread for each GPU ("cuda"). Cores are those that the
        process may use: its affinity and the limits of its container count. Each thread runs BLAS on one
        thread. Asking for more threads than cores is done, with an OversubscribedWarning.
    memory_limit : of each worker, for example "2GiB"; default an equal share of the machine's memory.
    scratch : folder or fsspec URL for data that does not fit in memory; the default of every estimator's
        `scratch`.
    host : the address that scheduler and workers of "local" and "cuda" bind to; default the loopback
        interface, 127.0.0.1, which nobody reaches from elsewhere. "threads" opens no port but that of the
        dashboard.
    dashboard_address : a port, ":8787" or 8787, of `host`, ":0" any free one; name a host to be reached from
        elsewhere.
    security : distributed's `Security`, for TLS; needed for "tls://" addresses, unless Dask's configuration
        has it.

    What is started elsewhere must have the client's versions of daskkernels, dask, distributed, numpy and
    zarr: the workers that are there are asked, and the scheduler for the first three.

    With "local" and "cuda", a script must start its work under `if __name__ == "__main__":`, because worker
    processes import the script. What workers hold can be read only while the client is open.

    In a notebook, or inside any running event loop, the client works as anywhere else: it is not an
    asynchronous one. With several clients, `with client.as_current():` says which one a fit uses.

    The links to the dashboard and to the page of running fits are written to standard error. The caller owns
    the client: close it, or use it in a `with` block; its workers end with it.

    Raises ValueError for an address of another form or a parameter that the workers cannot follow, TypeError
    for a parameter of another type, OSError when no scheduler answers, VersionMismatchError when workers have
    other versions, RuntimeError when workers do not start or no GPU is found, ImportError without dask-cuda.
    """
    options = LocalOptions(
        a_count("n_workers", n_workers),
        a_count("threads_per_worker", threads_per_worker),
        a_limit(memory_limit),
        a_host(host),
        a_dashboard(dashboard_address),
        a_security(security),
    )
    folder = a_folder(scratch)
    with ExitStack() as undo:  # what was started goes, where a later step fails
        client = _client(address, options, undo)
        undo.callback(client.close)
        prepare_workers(client)  # one BLAS thread, from now on
        if folder is not None:
            scratch_of[client] = folder
        sys.stderr.write(f"Dask dashboard: {client.dashboard_link}\n")
        if link := page_link(client):
            sys.stderr.write(f"Running fits: {link}\n")
        undo.pop_all()
    return client


def _client(address: str, options: LocalOptions, undo: ExitStack) -> Client:
    if isinstance(address, str) and "://" in address:
        return _joined(address, options)
    kind = ON_THIS_MACHINE.get(address) if isinstance(address, str) else None
    if kind is None:
        error = ValueError if isinstance(address, str) else TypeError
        raise error(f"address={address!r}: wanted 'local', 'threads', 'cuda' or 'tcp://host:port'")
    cluster = kind(options)
    undo.callback(cluster.close)
    return LocalClient(cluster)  # type: ignore[no-untyped-call]


class LocalClient(Client):
    """A client that closes the cluster which was made for it."""

    _closes_cluster = True

    def close(self, *args: Any, **kwargs: Any) -> Any:
        """Close the client, then its cluster, once."""
        cluster = self.cluster
        result = super().close(*args, **kwargs)  # type: ignore[no-untyped-call]
        if cluster is not None and self._closes_cluster:
            self._closes_cluster = False
            cluster.close()
        return result

    def __del__(self) -> None:
        """Nothing for a client that was not closed: Dask ends it and its cluster with the process.

        Garbage is collected anywhere, also inside the lock that closing a cluster waits for.
        """
        if not self._closes_cluster:
            super().__del__()  # type: ignore[no-untyped-call]


def _joined(address: str, options: LocalOptions) -> Client:
    """A client of a scheduler that somebody else has started, with workers like this process."""
    given = {
        "n_workers": options.n_workers,
        "threads_per_worker": options.threads_per_worker,
        "memory_limit": options.memory_limit,
        "host": options.host,
        "dashboard_address": None if options.dashboard_address == ANY_PORT else options.dashboard_address,
    }
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ValueError(
            f"{', '.join(named)}: set by whoever starts the workers of {address}, not by connect"
        )
    if address.startswith("tls://") and not _has_certificate(options.security):
        raise ValueError(
            f"address={address!r}: wanted security=distributed.Security(tls_ca_file=..., "
            "tls_client_cert=..., tls_client_key=...), with the files of that scheduler"
        )
    # A default client that fails to connect stays Dask's default for ever: one that is not tries first.
    with Client(address, timeout="10s", security=options.security, set_as_default=False) as trial:
        check_versions(trial)
    return Client(address, timeout="10s", security=options.security)


def _has_certificate(security: Security | None) -> bool:
    """Whether TLS can begin: with what was given, else with what Dask's configuration says."""
    if security is None and dask.config.get("distributed.client.security-loader", None):
        return True
    return (security or Security()).get_connection_args("client")["ssl_context"] is not None
