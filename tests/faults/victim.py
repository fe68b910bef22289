"""A process that fits until it is killed, and says on standard output how far it is."""

from __future__ import annotations

import sys

import daskkernels as dk
from daskkernels import events
from tests.faults.fits import FITS


def main(name: str, address: str, data: str, scratch: str, checkpoint: str) -> None:
    """`address`: of a scheduler, or "local" for a cluster of this process."""
    events.sinks.append(lambda event: print(event, flush=True))
    options = {"n_workers": 2, "threads_per_worker": 1} if address == "local" else {}
    with dk.connect(address, scratch=scratch, **options):  # type: ignore[arg-type]
        dataset = dk.open_dataset(data)
        given = {"checkpoint": checkpoint} if checkpoint else {}
        FITS[name][0]().fit(dataset.X, dataset.y, **given)
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
