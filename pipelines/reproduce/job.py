"""The job behind `reproduce`: measures the cells that are missing, then writes plot and verdict."""

from __future__ import annotations

from importlib import import_module

from tqdm import tqdm

from pipelines.outputs import check_folder
from pipelines.reproduce.arguments import ReproduceRequest
from pipelines.reproduce.records import Claim, Experiment
from pipelines.reproduce.sources import Sources
from pipelines.reproduce.table import Table
from pipelines.reproduce.write import write_plot, write_verdict

MODULES = {
    "figure2": "mnist8m_sizes",
    "figure3": "spectral",
    "figure4": "maps_nmi",
    "figure5": "maps_objective",
    "table5": "mnist8m_times",
    "table6": "mnist8m_workers",
    "eigenpro-figure2": "batch_sizes",
    "eigenpro-figure3": "batch_times",
    "eigenpro-table3": "machines",
    "eigenpro-readme": "epochs",
    "sketches": "sketches",
    "step-size": "step_sizes",
    "exact-rounds": "exact_rounds",
    "round-size": "round_sizes",
    "trace-error": "trace_errors",
    "peers": "peers",
    "peer-sizes": "peer_sizes",
}


def experiment(name: str) -> Experiment:
    """The experiment of that name, whose module is loaded now."""
    found: Experiment = import_module(f"pipelines.reproduce.experiments.{MODULES[name]}").EXPERIMENT
    return found


def reproduce(request: ReproduceRequest) -> str:
    """Run what was asked for; returns the verdicts, a line for each claim."""
    check_folder(request.out.resolve(), "--out")
    request.out.mkdir(parents=True, exist_ok=True)
    request.data.mkdir(parents=True, exist_ok=True)
    sources = Sources(request.data, request.raw)
    lines: list[str] = []
    for name in request.names:
        chosen = experiment(name)
        claims = run(chosen, sources, request)
        lines += [f"{name}: {claim.verdict}: {claim.text}" for claim in claims]
    return "\n".join(lines)


def run(chosen: Experiment, sources: Sources, request: ReproduceRequest) -> list[Claim]:
    """Measure what is missing of one experiment, and judge all of it."""
    suffix = "-quick" if request.quick else ""
    table = Table(request.out / f"{chosen.name}{suffix}.csv", chosen)
    missing = [cell for cell in chosen.cells(request.quick) if not table.has(cell)]
    with tqdm(missing, desc=chosen.name, unit="cell", disable=request.quiet or not missing or None) as bar:
        for cell in bar:
            bar.set_postfix_str(" ".join(map(str, cell.values())))
            table.add(cell, chosen.measure(cell, sources))
    rows = table.rows()
    claims = chosen.claims(rows)
    write_plot(chosen, rows, request.out / f"{chosen.name}{suffix}.svg")
    write_verdict(chosen, claims, rows, request.command, request.out / f"{chosen.name}{suffix}.md")
    return claims
