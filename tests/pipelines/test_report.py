"""The report: whole, nothing fetched, a text for every picture, nothing said about what is unknown."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines.report import charts, render, sections, tables, write_report
from pipelines.report.abstract import abstract
from pipelines.results import ClusterRun
from tests.pipelines.page import Page
from tests.pipelines.records import changed, made_up

PICTURES = 8  # by cluster, by class, sizes, silhouettes, means, spectrum, errors, timings


@pytest.fixture(scope="module")
def text() -> str:
    return render(made_up())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def without(run: ClusterRun, *parts: str, **values: Any) -> ClusterRun:
    """The record with some parts missing or replaced."""
    return dataclasses.replace(run, **dict.fromkeys(parts), **values)


def test_nothing_is_fetched_and_nothing_runs(text: str, page: Page) -> None:
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    links = page.values("href", "src", "xlink:href")
    assert links
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in links)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_every_picture_has_a_text(text: str, page: Page) -> None:
    assert page.tags.count("figure") == page.tags.count("figcaption") == page.tags.count("svg") == PICTURES
    labels = page.values("aria-labelledby")
    for label in labels:
        alt = re.search(rf'<title id="{label}">([^<]*)</title>', text).group(1)
        assert re.search(r"\d", alt), f"{label} says nothing but what kind of picture it is: {alt}"
    assert len(labels) == PICTURES


def test_ids_are_unique_and_references_resolve(text: str, page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert references <= set(ids)


def test_pictures_take_their_colours_from_the_page(text: str) -> None:
    assert "#0102" not in text
    for name in ("ink", "muted", "line", "accent", "warm", "paper"):
        assert f"var(--{name})" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_figures_and_facts_are_there(text: str) -> None:
    for fact in (
        *("0.625", "0.500", "12.5", "3.12%", ">17<", "300 rows, 7 columns of float32", "3 known classes"),
        *("class 2", "even share: 75", "kept: 20", "cut: 20", "kept: 9", "open dataset", "1.50", "00ff00ff"),
        *("python -m pipelines cluster somewhere/made-up.zarr --clusters 4", "Gaussian(bandwidth=1.5)"),
    ):
        assert fact in text, fact


def test_the_time_does_not_hold_the_drawing(page: Page) -> None:
    assert "2.2 sall stages, before this page was drawn" in page.text
    assert "The drawing of this page comes after them." in page.text


def test_the_abstract() -> None:
    sizes = np.bincount(made_up().sample.clusters)
    said = abstract(made_up())
    assert f"4 clusters of 300 rows ({sizes.min()} to {sizes.max()} each)" in said
    assert "NMI 0.625 and adjusted Rand index 0.500 with the 3 known classes" in said
    assert "9 features from 40 landmarks lose 3.12% of the kernel matrix's trace" in said
    assert f"the mean silhouette is {made_up().silhouette:.3f}; made in 2.2" in said
    assert said.count(". ") == 1
    assert abstract(made_up(1, 1)).startswith("1 cluster of 300 rows; NMI")
    assert "with the known class." in abstract(made_up(1, 1))
    emptied = without(made_up(), cluster_sizes=np.array([0, 100, 0, 200]))
    assert abstract(emptied).startswith("4 clusters, 2 of them empty, of 300 rows (0 to 200 each)")


@pytest.mark.parametrize(
    ("error", "said", "shown"),
    [(0.0, "lose 0% of", ">0%<"), (3e-9, "lose under 0.01% of", "&lt;0.01%"), (0.5, "50.00%", "50.00%")],
)
def test_a_small_error_is_not_called_zero(error: float, said: str, shown: str) -> None:
    run = made_up()
    run = without(run, scores=dataclasses.replace(run.scores, trace_error=error))
    assert said in abstract(run)
    assert shown in tables.tiles(run)


def test_what_is_not_known_leaves_nothing_on_the_page() -> None:
    """A record without classes, and without what only a report shows."""
    text = render(without(made_up(classes=None), "sample", "means", "plan"))
    page = Page(text)
    assert page.tags.count("svg") == PICTURES - 4
    for word in (">NMI<", ">ARI<", "by class", "against classes", "known class"):
        assert word not in text
    for word in ("Embedding", "ilhouette", "Cluster means", "planned"):
        assert word not in page.text


def test_names_from_data_are_escaped() -> None:
    """A path that is not UTF-8 has lone surrogates, which no file can hold."""
    odd = "<b>\\1 & co</b>\x01\udcff"
    run = changed(made_up(), classes=(odd,) * 3, feature_names=(odd,) * 7, source=odd)
    text = render(without(run, title=odd))
    Page(text)
    assert "<b>" not in text
    assert text.count("&lt;b&gt;\\1 &amp; co&lt;/b&gt;\ufffd\ufffd") > 10
    assert text.encode()


@pytest.mark.parametrize(
    ("clusters", "classes", "rows", "columns"), [(1, 1, 1, 1), (60, 55, 300, 61), (41, None, 60, 61)]
)
def test_other_sizes(clusters: int, classes: int | None, rows: int, columns: int) -> None:
    """One of everything, and more than have room; empty clusters among them."""
    page = Page(render(made_up(clusters, classes, rows, columns)))
    assert ("The 40 largest of" in page.text) == (clusters > 40 and classes is not None)


def test_one_cluster_has_no_silhouettes_and_a_reason() -> None:
    assert "No silhouettes: all rows of the sample are in one cluster." in sections.silhouettes(made_up(1))
    assert ">silhouette<" not in tables.tiles(made_up(1))
    assert ">silhouette<" in tables.tiles(made_up(2))


def test_the_plan_beside_the_fit() -> None:
    rows = re.findall(r"<tr[^>]*><th scope=\"row\">(.*?)</tr>", tables.plan(made_up().plan))
    found = {row.split("<")[0]: re.findall(r"<td>(.*?)</td>", row) for row in rows}
    assert found["nystrom-landmarks"] == ["&ndash;", "&ndash;", "0.12 s"]
    assert found["nystrom-gram"] == ["1", "2.25 s", "3.50 s"]
    assert found["nystrom-project"] == ["1", "0.75 s", "&ndash;"]
    assert found["fit"] == ["", "3.00 s", "3.62 s"]
    assert found["memory of a worker"] == ["", "300 MiB", "250 MiB"]


def test_what_was_not_measured_is_said() -> None:
    run = made_up()
    told = "Memory is the highest of any worker since it started; 2 GiB were allowed."
    untold = "This system does not keep the memory peak of a process: it was not measured."
    for peak, there, missing in ((1, told, untold), (None, untold, told)):
        text = sections.plan(without(run, plan=dataclasses.replace(run.plan, measured_bytes=peak)))
        assert there in text
        assert missing not in text
    assert "k-means was planned with 50 iterations and took 17" in sections.plan(run)


def test_same_record_same_page() -> None:
    for picture in (charts.sizes, sections.stages, sections.cluster_means):
        assert picture(made_up()) == picture(made_up())


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.report.page.render", lambda run: f"{run.title}</html>\n")
    path = write_report(made_up(), tmp_path / "report.html")
    before = path.read_bytes()
    assert before.endswith(b"</html>\n")

    def fails(*_arguments: object, **_options: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(OSError, match="disk full"):
        write_report(made_up(2), path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]
