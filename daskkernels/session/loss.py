"""Top layer: what a client and its scheduler say of lost workers, as one error that says what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any

from dask.task_spec import GraphNode
from distributed import Client, KilledWorker
from distributed.comm import CommClosedError

from ..rows import first_row
from ..runtime import WorkersLostError, WorkersPausedError
from .waiting import PATIENCE_WITHOUT, NoWorkersError

_DEADLY = (
    "the kernel function or what makes these rows ends the process, or needs more than a worker's memory. "
    "Look at these rows and at the workers' logs, or raise memory_limit "
    "(distributed.scheduler.allowed-failures is how many deaths are borne)"
)
_CLOSED = "the client is closed: connect again, and fit again"
_RESTARTED = {"scheduler-restart", "scheduler-connection-lost", "client-restart"}


@contextlib.contextmanager
def losses_told(stage: str, graph: Mapping[Any, Any], client: Client) -> Iterator[None]:
    """Raise WorkersLostError for whatever is raised here because workers are gone."""
    try:
        yield
    except KilledWorker as error:
        where = _rows(_given_up(client, error.task), graph)
        deaths = f"{error.allowed_failures + 1} workers one after another"
        raise WorkersLostError(f"{stage}: {where} killed {deaths}: {_DEADLY}") from error
    except NoWorkersError as error:
        raise WorkersLostError(_nobody(stage, graph, error)) from error
    except (WorkersLostError, WorkersPausedError):
        raise
    except Exception as error:
        if is_closed(client):  # what Dask raises then has many types: KeyError, AttributeError, its own
            raise WorkersLostError(f"{stage}: {_CLOSED}") from error
        if isinstance(error, CancelledError):
            raise WorkersLostError(_cancelled(stage, error)) from error
        if isinstance(error, CommClosedError | TimeoutError):
            raise WorkersLostError(
                f"{stage}: the scheduler or its workers do not answer ({error}): is the cluster still "
                "running? Fit again once it is"
            ) from error
        raise


def is_closed(client: Client) -> bool:
    """Whether nothing can be asked of this client any more."""
    return client.status in ("closing", "closed")


def refuse_if_closed(client: Client) -> None:
    """Raise WorkersLostError for a client that is closed."""
    if is_closed(client):
        raise WorkersLostError(_CLOSED)


def _nobody(stage: str, graph: Mapping[Any, Any], error: NoWorkersError) -> str:
    gone = (
        f"{stage}: no worker has been there for {PATIENCE_WITHOUT:.0f} s, after {error.finished} of "
        f"{error.total} blocks"
    )
    if error.suspect is None:
        return f"{gone}: start workers, and fit again"
    where = _rows({error.suspect}, graph)
    again = f"Start workers, and fit again; if it happens again, {_DEADLY}"
    return f"{gone}, and {where} killed {error.deaths} workers, or was at work when they ended. {again}"


def _cancelled(stage: str, error: CancelledError) -> str:
    reasons = {getattr(one, "reason", None) for one in getattr(error, "error_groups", [error])}
    if reasons & _RESTARTED:
        return (
            f"{stage}: the cluster was restarted or closed during the fit, and forgot its blocks: fit again"
        )
    return (
        f"{stage}: workers are gone that held blocks which exist nowhere else, the cluster was restarted, or "
        "another client has persisted them, whose blocks this one cannot use: fit again, from a store "
        "(dk.write_dataset), whose blocks can be read again, or persist with this client"
    )


def _given_up(client: Client, key: Any) -> set[Any]:
    """The task and those that waited on the same workers whenever they died: nobody knows which it was."""

    def suspects(dask_scheduler: Any) -> list[Any]:
        most = dask_scheduler.allowed_failures
        return [task.key for task in dask_scheduler.tasks.values() if task.suspicious > most]

    with contextlib.suppress(Exception):  # what is told then is less
        return {key, *client.run_on_scheduler(suspects)}
    return {key}


def _rows(keys: set[Any], graph: Mapping[Any, Any]) -> str:
    """Which rows some tasks work on, or those work on that need what they make."""
    reached = keys
    while reached:
        rows = sorted({row for k in reached if (row := first_row(graph.get(k))) is not None})
        if rows:
            several = len(rows) > 1
            shown = ", ".join(map(str, rows[:4])) + (", ..." if len(rows) > 4 else "")
            return (
                f"one of the blocks of rows from {shown} on"
                if several
                else f"the block of rows from {shown} on"
            )
        reached = {k for k, node in graph.items() if _needs(node, reached)}
    return f"task {next(iter(keys))!r}"


def _needs(node: Any, keys: set[Any]) -> bool:
    return isinstance(node, GraphNode) and not keys.isdisjoint(node.dependencies)
