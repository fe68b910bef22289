"""The report: whole, nothing fetched, a text for every picture, nothing said about what is unknown."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pipelines.report import charts, embedding, render, svg, tables, write_report
from tests.pipelines.records import made_up, renamed

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text() -> str:
    return render(made_up())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_nothing_is_fetched_and_nothing_runs(text: str, page: Page) -> None:
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    links = [value for name, value in page.attributes if name in {"href", "src", "xlink:href"} and value]
    assert links
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in links)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_every_picture_has_a_text(text: str, page: Page) -> None:
    assert page.tags.count("figure") == page.tags.count("figcaption") == page.tags.count("svg") == 5
    labels = [value for name, value in page.attributes if name == "aria-labelledby"]
    for label in labels:
        assert re.search(rf'<title id="{label}">[^<]{{20,}}</title>', text)
    assert len(labels) == 5


def test_ids_are_unique_and_references_resolve(text: str, page: Page) -> None:
    ids = [value for name, value in page.attributes if name == "id"]
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
        *("class 2", "even share: 75", "kept: 20", "cut: 20", "open dataset", "1.50 s", "00ff00ff"),
        *("python -m pipelines cluster somewhere/made-up.zarr --clusters 4", "Gaussian(bandwidth=1.5)"),
    ):
        assert fact in text, fact


def test_without_classes_nothing_is_said_about_them() -> None:
    text = render(made_up(classes=None))
    Page(text)
    for word in (">NMI<", ">ARI<", "by class", "against classes", "known classes"):
        assert word not in text


def test_names_from_data_are_escaped() -> None:
    text = render(renamed(made_up(), r"<b>\1 & co</b>"))
    Page(text)
    assert "<b>" not in text
    assert r"&lt;b&gt;\1 &amp; co&lt;/b&gt;" in text


@pytest.mark.parametrize(("clusters", "classes"), [(1, 1), (15, 2), (60, 55)])
def test_other_sizes(clusters: int, classes: int) -> None:
    text = render(made_up(clusters, classes))
    Page(text)
    assert ("The first 40" in text) == (clusters > 40)


@pytest.mark.parametrize(("clusters", "ticks"), [(20, 20), (26, 13), (40, 20)])
def test_numbers_of_clusters_do_not_run_together(clusters: int, ticks: int) -> None:
    run = made_up(clusters, 3)
    assert len(re.findall(r'id="sizes-xtick_\d+"', charts.sizes(run))) == ticks
    boxes = re.findall(r'id="by-cluster-patch_\d+"', embedding.by_cluster(run))
    assert (len(boxes) > 20) == (clusters <= 20)


def test_totals_come_first_in_the_cross_table() -> None:
    head = re.findall(r'<th scope="col">([^<]+)', tables.cross(made_up()))
    assert head == ["cluster", "rows", "largest share", "class 0", "class 1", "class 2"]
    row = re.search(r"<tbody><tr>(.*?)</tr>", tables.cross(made_up())).group(1)
    assert re.match(r'<th scope="row">\d+</th><td class="sum">\d+</td><td>\d+%</td><td', row)


def test_same_record_same_page() -> None:
    assert render(made_up()) == render(made_up())


def test_colours_differ() -> None:
    for count in (1, 10, 20, 60):
        assert len(set(svg.category_colours(count))) == count


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_cut_beyond_the_spectrum_is_not_drawn() -> None:
    run = made_up()
    whole = type(run.spectrum)(np.array([3.0, 2.0, 0.0]), 3, 2)
    text = render(type(run)(**{**vars(run), "spectrum": whole}))
    assert "cut:" not in text
