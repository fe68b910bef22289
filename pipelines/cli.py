"""The command line: reads the arguments, runs one job while its progress shows, prints the table.

The jobs are imported when one runs, because the library takes seconds to load and help needs none of it.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Sequence

from pipelines.options import DEMO_WORKERS, cluster_request, parser, session_request
from pipelines.provenance import command_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as leave:  # help, or an argument that argparse refuses
        return int(leave.code or 0)
    return _guarded(arguments, command_line(argv))


def _guarded(arguments: Namespace, command: str) -> int:
    """Run the job; an expected error becomes one line and a code, any other keeps its traceback."""
    try:
        _run(arguments, command)
    except (Exception, KeyboardInterrupt) as error:
        from pipelines.failures import exit_code, one_line

        code = exit_code(error)
        if code is None:
            raise
        if arguments.verbose:
            traceback.print_exc()
        print(f"pipelines {arguments.command}: error: {one_line(error)}", file=sys.stderr)
        return code
    return 0


def _run(arguments: Namespace, command: str) -> None:
    """Run the job and print its result."""
    from pipelines.cluster import cluster
    from pipelines.demo import demo
    from pipelines.labels import ARRAY
    from pipelines.progress import ProgressLine, StageClock, listening
    from pipelines.result_table import result_table

    clock = StageClock()
    sinks = (clock,) if arguments.quiet else (clock, ProgressLine(arguments.verbose))
    with listening(*sinks), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        if arguments.command == "demo":
            session = session_request(arguments, DEMO_WORKERS)
            record = demo(arguments.out, session, arguments.seed, command, clock)
            labels, report = None, arguments.out / "report.html"
        else:
            record = cluster(cluster_request(arguments, command), clock)
            labels, report = arguments.out, arguments.report
    print(result_table(record))
    if labels:
        print(f"labels: {labels} (a Zarr group; the labels are its array `{ARRAY}`)", file=sys.stderr)
    if report:
        print(f"report: {report}", file=sys.stderr)


def _show_warning(message: Warning | str, *_where: object) -> None:
    """A warning on one line: where in the library it came from helps nobody here."""
    print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)
