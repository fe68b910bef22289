"""The command line: reads the arguments, runs one job while its progress shows, prints the table.

The jobs are imported when one runs, because the library takes seconds to load and help needs none of it.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.learning import arguments as learning
from pipelines.options import DEMO_WORKERS, cluster_request, parser
from pipelines.provenance import command_line
from pipelines.session_options import session_request

Result = tuple[str, list[str]]  # the table for stdout, and lines about the outputs for stderr


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
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            if arguments.command in _ALONE:
                return _ALONE[arguments.command](arguments, command)
            return _run(arguments, command)
    except (Exception, KeyboardInterrupt) as error:
        from pipelines.failures import exit_code, one_line

        code = exit_code(error)
        if code is None:
            raise
        if arguments.verbose:
            traceback.print_exc()
        print(f"pipelines {arguments.command}: error: {one_line(error)}", file=sys.stderr)
        return code


def _measure(arguments: Namespace, command: str) -> int:
    """Run the benches, or compare two runs."""
    from pipelines.bench.arguments import bench_request, compared_files

    if arguments.compare:
        from pipelines.bench.compare import compare_files

        return compare_files(*compared_files(arguments))
    from pipelines.bench.job import bench

    return bench(bench_request(arguments, command))


def _plan(arguments: Namespace, _command: str) -> int:
    """Print what a job would cost."""
    from pipelines.options import model_request
    from pipelines.plan_arguments import machine_request
    from pipelines.planning import plan

    clustering = arguments.job == "cluster"
    model = model_request(arguments) if clustering else learning.learn_request(arguments)
    print(plan(arguments.data, model, machine_request(arguments)))
    return 0


def _reproduce(arguments: Namespace, command: str) -> int:
    """Measure the papers' experiments, and print the verdicts."""
    from pipelines.reproduce.arguments import reproduce_request
    from pipelines.reproduce.job import reproduce

    print(reproduce(reproduce_request(arguments, command)))
    return 0


def _run(arguments: Namespace, command: str) -> int:
    """Run the job and print its result."""
    from pipelines.progress import ProgressLine, StageClock, listening

    clock = StageClock()
    sinks = (clock,) if arguments.quiet else (clock, ProgressLine(arguments.verbose))
    with listening(*sinks):
        table, outputs = _JOBS[arguments.command](arguments, command, clock)
    print(table)
    for output in outputs:
        print(output, file=sys.stderr)
    return 0


def _demo(arguments: Namespace, command: str, _clock: Any) -> Result:
    """The demonstration."""
    from pipelines.demo import demo
    from pipelines.result_table import demo_table

    session = session_request(arguments, DEMO_WORKERS)
    record = demo(arguments.out, session, arguments.seed, command)
    return demo_table(record), [f"report: {arguments.out / 'report.html'}"]


def _cluster(arguments: Namespace, command: str, clock: Any) -> Result:
    """Clustering."""
    from pipelines.cluster import cluster
    from pipelines.labels import ARRAY
    from pipelines.result_table import result_table

    record = cluster(cluster_request(arguments, command), clock)
    out = arguments.out
    labels = [f"labels: {out} (a Zarr group; the labels are its array `{ARRAY}`)"] if out else []
    return result_table(record), labels + _report(arguments.report)


def _train(arguments: Namespace, command: str, clock: Any) -> Result:
    """Training."""
    from pipelines.learning.tables import train_table
    from pipelines.learning.train import train

    record = train(learning.train_request(arguments, command), clock)
    model = f"model: {arguments.out} (dk.load opens it, python -m pipelines predict uses it)"
    return train_table(record), [model, *_report(arguments.report)]


def _predict(arguments: Namespace, command: str, clock: Any) -> Result:
    """Prediction."""
    from pipelines.learning.predict import ARRAY, predict
    from pipelines.learning.tables import predict_table

    record = predict(learning.predict_request(arguments, command), clock)
    what = f"predictions: {arguments.out} (a Zarr group; the predictions are its array `{ARRAY}`)"
    return predict_table(record), [what]


def _report(path: Path | None) -> list[str]:
    """Where the report is, if one was asked for."""
    return [f"report: {path}"] if path else []


_ALONE = {"plan": _plan, "bench": _measure, "reproduce": _reproduce}
_JOBS = {"demo": _demo, "cluster": _cluster, "train": _train, "predict": _predict}


def _show_warning(message: Warning | str, *_where: object) -> None:
    """A warning on one line: where in the library it came from helps nobody here."""
    print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)
