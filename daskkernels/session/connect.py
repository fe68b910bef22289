"""Top layer: `connect`, a client with sensible workers, threads, memory limits and BLAS threads."""

from __future__ import annotations

import os
import sys
from typing import Any

from distributed import Client, LocalCluster

from .runtime import scratch_of


def connect(
    address: str = "local",
    *,
    n_workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_limit: str | int | None = None,
    scratch: str | os.PathLike[str] | None = None,
    dashboard_address: str = ":0",
) -> Client:
    """A Dask client: "local" (worker processes), "threads" (one in-process worker) or "tcp://host:8786".

    Parameters
    ----------
    address : where the workers are.
    n_workers, threads_per_worker : default one process of one thread for each core ("local"), one worker of
      all cores ("threads").
    memory_limit : of each worker, for example "2GiB"; default an equal share of the machine's memory.
    scratch : folder or fsspec URL for data that does not fit in memory; the default of every estimator's
      `scratch`.
    dashboard_address : ":0" takes any free port of the loopback interface; name a host to be reached from
      elsewhere.

    With "local", a script must start its work under `if __name__ == "__main__":`, because worker processes
    import the script. What workers hold can be read only while the client is open.

    The link to the dashboard is written to standard error. The caller owns the client: close it, or use it in
    a `with` block; its workers end with it.
    Raises ValueError for an address of another form, OSError when no scheduler answers.
    """
    for name, value in {"n_workers": n_workers, "threads_per_worker": threads_per_worker}.items():
        if value is not None and value < 1:
            raise ValueError(f"{name}={value}: wanted at least 1, or None for the default")
    if address in ("local", "threads"):
        client: Client = _OwningClient(  # type: ignore[no-untyped-call]
            _local_cluster(address == "local", n_workers, threads_per_worker, memory_limit, dashboard_address)
        )
    elif "://" in address:
        given = {
            "n_workers": n_workers,
            "threads_per_worker": threads_per_worker,
            "memory_limit": memory_limit,
        }
        named = [name for name, value in given.items() if value is not None]
        if named:
            raise ValueError(
                f"{', '.join(named)}: set by whoever starts the workers of {address}, not by connect"
            )
        client = Client(address, timeout="10s")
    else:
        raise ValueError(f"address={address!r}: wanted 'local', 'threads' or 'tcp://host:port'")
    if scratch is not None:
        scratch_of[client] = os.fspath(scratch)
    sys.stderr.write(f"Dask dashboard: {client.dashboard_link}\n")
    return client


class _OwningClient(Client):
    """A client that closes the cluster which was made for it."""

    def close(self, *args: Any, **kwargs: Any) -> Any:
        """Close the client, then its cluster."""
        cluster = self.cluster
        result = super().close(*args, **kwargs)  # type: ignore[no-untyped-call]
        if cluster is not None:
            cluster.close()
        return result


class _ThreadCluster(LocalCluster):
    """A cluster in this process, whose dashboard link names the loopback interface it listens on."""

    @property
    def dashboard_link(self) -> str:
        """The address of the dashboard."""
        port = self.scheduler_info["services"].get("dashboard")
        return f"http://127.0.0.1:{port}/status" if port else ""


def _local_cluster(
    processes: bool, n_workers: int | None, threads: int | None, memory_limit: Any, dashboard_address: str
) -> LocalCluster:
    """Workers on this machine, on the loopback interface, never more threads than cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_workers is None:
        n_workers = max(1, cores // (threads or 1)) if processes else 1
    if threads is None:
        threads = max(1, cores // n_workers)
    kind: type[LocalCluster] = LocalCluster if processes else _ThreadCluster
    try:
        return _start(kind, n_workers, threads, processes, memory_limit, dashboard_address)
    except RuntimeError as error:
        raise RuntimeError(
            'the workers did not start: call connect("local") in scripts under `if __name__ == "__main__":`, '
            'or use connect("threads")'
        ) from error


def _start(
    kind: type[LocalCluster],
    n_workers: int,
    threads: int,
    processes: bool,
    memory_limit: Any,
    dashboard_address: str,
) -> LocalCluster:
    return kind(
        n_workers=n_workers,
        threads_per_worker=threads,
        processes=processes,
        memory_limit="auto" if memory_limit is None else memory_limit,
        dashboard_address=f"127.0.0.1{dashboard_address}"
        if dashboard_address.startswith(":")
        else dashboard_address,
        host="127.0.0.1" if processes else None,
    )
