"""The parts of the report one by one: what is named, what is left out, what the pictures hold."""

from __future__ import annotations

import base64
import dataclasses
import io
import re
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from pipelines.report import approximation, charts, embedding, means, sections, silhouettes, svg, tables
from pipelines.results import ClusterRun, Means
from tests.pipelines.page import Page
from tests.pipelines.records import changed, made_up


@pytest.mark.parametrize(("clusters", "ticks"), [(20, 20), (26, 13), (40, 20)])
def test_numbers_of_clusters_do_not_run_together(clusters: int, ticks: int) -> None:
    run = made_up(clusters, 3)
    assert len(re.findall(r'id="sizes-xtick_\d+"', charts.sizes(run))) == ticks
    boxes = re.findall(r'id="by-cluster-patch_\d+"', embedding.by_cluster(run, run.sample))
    assert (len(boxes) > 20) == (clusters <= 20)


def test_many_clusters_are_sorted() -> None:
    assert "clusters, the largest first" in charts.sizes(made_up(41))
    assert "largest first" not in charts.sizes(made_up(40))


def test_long_names_are_cut() -> None:
    run = changed(made_up(), classes=tuple(f"{'long ' * 20}{i}" for i in range(3)))
    assert "long long long \u2026" in embedding.by_class(run, run.sample)
    head = re.findall(r'<th scope="col" title="([^"]+)"><span>([^<]+)', tables.cross(run))
    assert [whole for whole, _ in head] == list(run.data.classes)
    assert {len(cut) for _, cut in head} == {24}


def drawn(*names: str) -> list[set[str]]:
    """Classes and columns of these names: all texts in their pictures, which are read as XML."""
    run = changed(made_up(classes=len(names), columns=len(names)), classes=names, feature_names=names)
    pictures = (embedding.by_class(run, run.sample), means.heat_map(run, run.means))
    return [{"".join(found.itertext()) for found in ET.fromstring(picture).iter()} for picture in pictures]


def test_names_are_drawn_as_they_are() -> None:
    """Whatever the font, and without a warning: warnings are errors here."""
    names = ("\u732b\u3068\u72ac", "\u0939\u093f", "\U0001d518", "$a_{$", "\\$5 or $6", "<&>")
    assert all(set(names) <= texts for texts in drawn(*names))


def test_what_xml_forbids_is_replaced() -> None:
    forbidden = ("\0", "\x01", "\x0b", "\x1f", "\ud800", "\uffff")
    replaced = {f"{i}\ufffdb" for i in range(len(forbidden))}
    assert all(replaced <= texts for texts in drawn(*(f"{i}{bad}b" for i, bad in enumerate(forbidden))))


def test_other_warnings_are_not_hidden() -> None:
    class Warns(Figure):
        def savefig(self, *_arguments: object, **_options: object) -> None:
            warnings.warn("this picture is wrong", UserWarning, stacklevel=2)

    with pytest.raises(UserWarning, match="this picture is wrong"):
        svg.inline(Warns(), "name", "alt")


def test_a_single_feature_is_a_line_for_each_group() -> None:
    run = made_up()
    sample = dataclasses.replace(run.sample, points=run.sample.points[:, :1])
    picture = embedding.by_cluster(run, sample)
    assert ">cluster<" in picture
    assert ">feature 2<" not in picture
    assert "in the only feature" in picture


def test_totals_come_first_in_the_cross_table() -> None:
    head = re.findall(r'<th scope="col"[^>]*>(?:<span>)?([^<]+)', tables.cross(made_up()))
    assert head == ["cluster", "rows", "largest share", "class 0", "class 1", "class 2"]
    row = re.search(r"<tbody><tr>(.*?)</tr>", tables.cross(made_up())).group(1)
    assert re.match(r'<th scope="row">\d+</th><td class="sum">\d+</td><td>\d+%</td><td', row)


def test_the_cross_table_shows_the_classes_of_the_largest_clusters() -> None:
    """Sixty clusters of one class each: the forty largest, each with its class in sight."""
    counts = np.diag(np.arange(1, 61))
    run = dataclasses.replace(made_up(60, 60), contingency=counts, cluster_sizes=counts.sum(axis=1))
    rows = re.findall(r"<tr><th scope=\"row\">(\d+)</th>(.*?)</tr>", tables.cross(run))
    assert sorted(int(cluster) for cluster, _ in rows) == list(range(20, 60))
    assert all(cells.count("--share:100%") == 1 for _, cells in rows)


def test_colours_differ() -> None:
    for count in (1, 10, 20, 60):
        assert len(set(svg.category_colours(count))) == count


def test_a_cut_beyond_the_spectrum_is_not_drawn() -> None:
    run = made_up()
    whole = dataclasses.replace(run.spectrum, eigenvalues=np.array([3.0, 2.0, 0.0]), rank=3, n_components=2)
    assert "cut:" not in approximation.spectrum(dataclasses.replace(run, spectrum=whole))


def test_a_wide_spectrum_is_read_in_powers_of_ten() -> None:
    run = made_up()
    assert set(re.findall(r">(10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)<", approximation.spectrum(run))) >= {"10²", "10⁰", "10⁻⁸"}
    close = dataclasses.replace(run.spectrum, eigenvalues=np.array([9.0, 4, 2]), rank=2, n_components=2)
    assert ">5<" in approximation.spectrum(dataclasses.replace(run, spectrum=close))


@pytest.mark.parametrize(
    ("errors", "ticks"),
    [
        ([0.5, 0.1, 0.0001], ["10%", "1%", "0.1%", "0.01%"]),
        ([0.39, 0.2, 0.1], ["30%", "20%", "10%"]),
        ([0.9, 0.8, 0.7], ["85%", "80%", "75%"]),
        ([0.0, 0.0, 0.0], []),
        ([0.25], []),
    ],
)
def test_the_errors_have_numbers_to_read_them_by(errors: list[float], ticks: list[str]) -> None:
    values = np.array(errors)
    found = dataclasses.replace(
        made_up().spectrum, errors=values, rank_errors=values, rank=len(values), n_components=len(values)
    )
    picture = approximation.errors(dataclasses.replace(made_up(), spectrum=found))
    assert set(ticks) <= set(re.findall(r">([\d.]+%)<", picture))
    assert f"kept: {len(values)}" in picture


def test_silhouettes_in_words() -> None:
    run = made_up(2)
    values = np.where(run.sample.clusters == 0, 0.75, -0.25)
    picture = silhouettes.picture(run, dataclasses.replace(run.sample, silhouettes=values))
    assert "best cluster 0 with 0.75, worst 1 with -0.25" in picture
    assert f"{(run.sample.clusters == 1).mean():.0%} of the rows are below zero" in picture
    assert f"mean: {values.mean():.3f}" in picture


def as_images(shape: tuple[int, ...], values: np.ndarray) -> ClusterRun:
    """Rows that are images, with these means."""
    run = changed(made_up(len(values)), feature_shape=shape, n_features=values.shape[1])
    return dataclasses.replace(run, means=Means(values, np.ones(values.shape[1])))


def pixels(address: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


@pytest.mark.parametrize(("shape", "drawn"), [((4, 6), (4, 6)), ((4, 6, 3), (4, 6, 3)), ((4, 6, 1), (4, 6))])
def test_means_of_images_are_images(shape: tuple[int, ...], drawn: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).uniform(-3, 9, (4, int(np.prod(shape))))
    run = as_images(shape, values)
    page = Page(sections.cluster_means(run))
    expected = np.round(255 * (values - values.min()) / (values.max() - values.min()))
    for cluster, image in enumerate(page.images):
        np.testing.assert_array_equal(pixels(image["src"]), expected[cluster].reshape(drawn))
        assert f"Mean of cluster {cluster}, {run.cluster_sizes[cluster]} rows" in image["alt"]
        assert image["alt"].endswith("as an image of 4 x 6")
    assert len(page.images) == 4
    assert "Heat map" not in page.text


def test_an_empty_cluster_has_no_image() -> None:
    run = as_images((2, 2), np.array([[0.0, 1, 2, 3], [np.nan] * 4]))
    run = dataclasses.replace(run, cluster_sizes=np.array([300, 0]))
    page = Page(sections.cluster_means(run))
    assert len(page.images) == 1
    assert page.tags.count("figure") == page.tags.count("figcaption")
    assert page.values("class").count("empty") == 1


def test_the_largest_of_many_images() -> None:
    run = as_images((2, 2), np.random.default_rng(0).normal(size=(130, 4)))
    run = dataclasses.replace(run, cluster_sizes=np.arange(1, 131))
    page = Page(sections.cluster_means(run))
    assert len(page.images) == 100
    assert "of the 100 largest clusters" in page.text
    assert "Mean of cluster 29," not in str(page.images)
    assert "Mean of cluster 30," in str(page.images)


def test_large_images_are_thinned() -> None:
    page = Page(
        sections.cluster_means(as_images((300, 40), np.random.default_rng(0).normal(size=(2, 12000))))
    )
    assert pixels(page.images[0]["src"]).shape == (100, 14)


def test_images_are_never_guessed() -> None:
    page = Page(sections.cluster_means(made_up(columns=784)))
    assert not page.images
    assert "Heat map of the means of 4 clusters in 784 columns" in page.text
    assert not any(map(means.are_images, [None, (28, 28, 2), (4, 7, 28), (784,)]))


def test_means_in_standard_deviations() -> None:
    values = np.array([[1.0, 10.0, 5.0], [4.0, 10.0, 5.0], [np.nan] * 3])
    run = dataclasses.replace(made_up(3, columns=3), cluster_sizes=np.array([100, 200, 0]))
    z = means.standardised(run, Means(values, np.array([0.5, 2.0, 0.0])))
    np.testing.assert_allclose(z, [[-4, 0, 0], [2, 0, 0], [np.nan] * 3])


def test_columns_are_named_where_there_is_room() -> None:
    few = changed(made_up(columns=3), feature_names=("width", "height", "a very long name of a column"))
    picture = means.heat_map(few, few.means)
    for name in ("width", "height", "a very long name \u2026"):
        assert f">{name}<" in picture
    assert f">{few.means.values[0, 0]:.3g}<".replace("-", "\u2212") in picture.replace("-", "\u2212")
    many = changed(made_up(columns=61), feature_names=tuple(f"name {i}" for i in range(61)))
    assert ">name 1<" not in means.heat_map(many, many.means)
