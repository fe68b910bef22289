"""The plot and the written verdict of one experiment."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from daskkernels.versions import versions
from pipelines.reproduce.records import Claim, Experiment


def write_plot(experiment: Experiment, rows: pd.DataFrame, path: Path) -> None:
    """The plot as an SVG file."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    experiment.draw(rows, figure)
    figure.savefig(path, metadata={"Title": experiment.title, "Description": experiment.alt, "Date": None})


def write_verdict(
    experiment: Experiment, claims: list[Claim], rows: pd.DataFrame, command: str, path: Path
) -> None:
    """Each claim with its verdict and evidence, and the table where there is one, as Markdown."""
    lines = [f"# {experiment.name}: {experiment.title}", ""]
    for claim in claims:
        lines += [f"* **{claim.verdict}**: {claim.text}", f"  {claim.evidence}", ""]
    if experiment.table is not None:
        lines += [experiment.table(rows), ""]
    picture = path.with_suffix(".svg").name
    lines += [f"![{experiment.alt}]({picture})", "", f"Command: `{command}`", ""]
    lines += ["Versions: " + ", ".join(f"{name} {version}" for name, version in versions().items()), ""]
    path.write_text("\n".join(lines))
