"""The pictures of the page with their captions, and in their place a sentence where one cannot be drawn.

What a record does not hold leaves nothing on the page.
"""

from __future__ import annotations

from daskkernels.units import show_bytes
from pipelines.report import approximation, charts, embedding, means, tables
from pipelines.report.layout import figure, note
from pipelines.report.silhouettes import picture
from pipelines.results import ClusterRun, PlanFacts


def embeddings(run: ClusterRun) -> list[str]:
    """One or two pictures of the sample, and how it was drawn."""
    sample = run.sample
    if sample is None:
        return []
    shown, total = len(sample.points), run.data.n_rows
    rows = "All rows" if shown == total else f"{shown:,} of {total:,} rows (seed {sample.seed})"
    made = run.spectrum.n_components
    where = "the only feature" if made == 1 else f"the first two of {made} features"
    many = ", too many clusters to name" if len(run.cluster_sizes) > embedding.NAMED else ""
    pictures = [figure(embedding.by_cluster(run, sample), f"{rows} in {where}{many}.")]
    classes = embedding.by_class(run, sample)
    if classes:
        many = ", too many to name" if len(run.data.classes or ()) > embedding.NAMED else ""
        pictures.append(figure(classes, f"The same rows, by their known classes{many}."))
    return pictures


def sizes(run: ClusterRun) -> str:
    """The sizes of the clusters."""
    return figure(charts.sizes(run), "Rows in each cluster.")


def silhouettes(run: ClusterRun) -> str:
    """How well rows lie in their clusters, or why that cannot be said."""
    sample = run.sample
    if sample is None:
        return ""
    if sample.silhouettes is None:
        return note(f"No silhouettes: {sample.no_silhouettes}.")
    rows, features = f"{len(sample.points):,} rows", f"{run.spectrum.n_components} features"
    meaning = "1 far from other clusters, 0 between two, below 0 nearer to another"
    about = f"Silhouettes of {rows} among themselves in {features}, sorted within each cluster: {meaning}."
    return figure(picture(run, sample), about)


def cluster_means(run: ClusterRun) -> str:
    """The clusters in input space."""
    if run.means is None:
        return ""
    if means.are_images(run.data.feature_shape):
        many = len(run.cluster_sizes) > means.MOST_IMAGES
        which = f" of the {means.MOST_IMAGES} largest clusters" if many else ""
        about = f"Mean of the rows{which} in input space, all on one scale of brightness."
        return note(about) + means.images(run, run.means)
    about = (
        "Mean of each cluster in input space, column by column. Colours: below the mean of all rows (blue) "
        "or above (orange), in standard deviations of the column, which are estimated on the sample."
    )
    return figure(means.heat_map(run, run.means), about, "wide")


def spectrum(run: ClusterRun) -> str:
    """The spectrum and what became of it."""
    kept, made = run.spectrum.rank, run.spectrum.n_components
    about = "Eigenvalues of W, the kernel matrix of the landmarks"
    return figure(approximation.spectrum(run), f"{about}: {kept} were kept and made into {made} features.")


def errors(run: ClusterRun) -> str:
    """The error against the rank."""
    rank = run.spectrum.rank
    about = (
        "Share of the kernel matrix's trace that is lost, by the number of features (the best directions of "
        f"all {rank}), and by the number of eigenvalues of W if those alone were kept."
    )
    return figure(approximation.errors(run), about)


def stages(run: ClusterRun) -> str:
    """Seconds by stage."""
    about = "Seconds by stage, in the order they first ran. The drawing of this page comes after them."
    return figure(charts.timings(run.timings), about)


def plan(run: ClusterRun) -> str:
    """What was predicted, what was measured, and what was not."""
    facts = run.plan
    if facts is None:
        return ""
    choices = "; ".join(f"{name}: {choice}" for name, choice in facts.choices)
    return f"<div>{tables.plan(facts)}{note(_compared(facts, run.scores.n_iter))}{note(choices + '.')}</div>"


def _compared(facts: PlanFacts, n_iter: int) -> str:
    """How the two columns came about."""
    rate, iterations = f"{facts.gflops:.0f} GFLOP/s", f"{facts.iterations} iterations and took {n_iter}"
    sentences = [
        f"Seconds of the fit, planned at {rate} as measured before on {facts.workers}.",
        f"k-means was planned with {iterations}; both columns have its seeding and labels.",
    ]
    if any(step.predicted is None for step in facts.steps):
        sentences.append("A dash stands where the plan counts nothing.")
    if facts.measured_bytes is None:
        sentences.append("This system does not keep the memory peak of a process: it was not measured.")
    else:
        limit = show_bytes(facts.limit_bytes)
        sentences.append(f"Memory is the highest of any worker since it started; {limit} were allowed.")
    return " ".join(sentences)
