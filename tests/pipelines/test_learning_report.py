"""The report of a training, alone and as the second half of a page."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from pipelines.learning.records import DemoRun
from pipelines.report import render
from pipelines.report.confusion import table
from pipelines.report.learning import abstract
from tests.pipelines.learned import learned
from tests.pipelines.page import Page
from tests.pipelines.records import made_up


def test_figures_and_facts_are_there() -> None:
    text = render(learned())
    page = Page(text)
    assert page.tags.count("svg") == page.tags.count("figcaption") == 5
    for fact in (
        *("A kernel machine for made-up", "test error", "10.00%", "training residual", "q = 20"),
        *("0.25 of the critical batch 160", "300 MiB", "123 GFLOP/s", "damped: 19", "Gaussian", "Laplacian"),
        *("halvings", "python -m pipelines train made-up.zarr --out model.zarr", "00ff00ff"),
    ):
        assert fact in text, fact


def test_every_picture_has_a_text_with_a_number() -> None:
    text = render(learned())
    labels = Page(text).values("aria-labelledby")
    assert len(labels) == 5
    for label in labels:
        assert re.search(r"\d", re.search(rf'<title id="{label}">([^<]*)</title>', text).group(1))


@pytest.mark.parametrize(
    ("classes", "epochs", "judged", "tested"),
    [
        (None, 4, True, True),
        (None, 1, False, False),
        (3, 1, False, True),
        (2, 40, True, False),
        (60, 2, True, True),
    ],
)
def test_other_trainings(classes: int | None, epochs: int, judged: bool, tested: bool) -> None:
    page = Page(render(learned(classes, epochs, judged, tested)))
    assert ("validation" in page.text) == judged
    assert ("test error" in page.text) == (tested and classes is not None)
    assert ("test MSE" in page.text) == (tested and classes is None)
    assert ("was taken for" in page.text) == (tested and classes is not None)
    assert ("The 40 largest of" in page.text) == (classes == 60)


def test_without_trials_and_spectrum() -> None:
    page = Page(render(dataclasses.replace(learned(), trials=(), eigenvalues=np.array([]))))
    assert page.tags.count("svg") == 3


def test_a_kernel_that_damps_nothing() -> None:
    assert "none is damped" in render(dataclasses.replace(learned(), n_directions=1))


def test_the_abstract() -> None:
    said = abstract(learned())
    assert "10.00% of 100 test rows are put in a wrong class" in said
    assert "8.33% of the 30 rows kept back for validation" in said
    assert "on 270 rows in 4 epochs, of which number 3 was kept; made in 2.2" in said
    assert abstract(learned(None)).startswith("Mean squared error 0.0625 (R² 0.7500) on 100 test rows")
    assert abstract(learned(judged=False, tested=False)).startswith("The training residual is 0.0625.")


def test_the_confusion() -> None:
    text = table(learned())
    assert "Most often, class 0 was taken for class 2: 10 rows." in text
    assert re.findall(r'class="wrong" style="[^"]*">(\d+)<', text) == ["10"]
    assert ">25.00%<" in text


def test_names_are_escaped() -> None:
    odd = "<b>\\1"
    run = learned()
    data = dataclasses.replace(run.test.data, classes=(odd, "b", "c"))
    run = dataclasses.replace(
        run, title=odd, classes=(odd, "b", "c"), test=dataclasses.replace(run.test, data=data)
    )
    text = render(run)
    Page(text)
    assert "<b>" not in text


def test_a_page_of_both_halves() -> None:
    run = DemoRun("Both", made_up(), learned(), (("connect", 1.0),), "python -m pipelines demo")
    text = render(run)
    page = Page(text)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert page.tags.count("svg") == 8 + 5
    assert page.text.count("Repeat it") == 1
    assert page.text.index("Clusters against classes") < page.text.index("Confusion")
    assert f"all of it in {run.seconds:.1f}" in page.text
    assert run.seconds == pytest.approx(1.0 + 2.25 + 2.25)
