"""Tests: what the page says follows from the events alone, and stays small."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.session.charts import MOST_POINTS, Charts
from daskkernels.session.fit_state import EPOCH, ROUND
from daskkernels.session.records import MOST_FIGURES, MOST_LETTERS
from daskkernels.session.state import MOST_FITS, Fits


def told(fits: Fits, event: str, time: float, name: str = "a", **more: Any) -> None:
    """A record that arrives 100 s off the client's clock."""
    fits.record({"fit": name, "estimator": "E", "event": event, "time": time, **more}, time + 100.0)


@pytest.fixture
def fits() -> Fits:
    found = Fits()
    told(found, "fit-started", 0.0, figures={"rows": 1000, "columns": 3, "bytes": 12000}, client="c")
    return found


def plan_epochs(fits: Fits) -> None:
    figures = {"seconds": 40.0, "flops": 8e9, "worker_bytes": 500, "epochs": 4, "epochs_before": 0}
    figures |= {"epoch_rows": 1000, "group_rows": 500, "rounds": 4}
    passes = {"eigenpro-predict": {"rows": 500, "flops": 1e9, "bytes": 6000}}
    told(fits, "planned", 10.0, figures=figures, stages=passes)


def shown(fits: Fits, time: float) -> dict[str, Any]:
    state = fits.shown(time + 100.0)
    json.dumps(state, allow_nan=False)
    return dict(state["fits"][0])


def test_before_anything_is_known(fits: Fits) -> None:
    fit = shown(fits, 2.0)
    assert fit["seconds"] == pytest.approx(2.0)
    assert (fit["outcome"], fit["left"], fit["rates"], fit["charts"]) == ("running", None, {}, [])


def test_a_plan_that_has_run_out_promises_nothing(fits: Fits) -> None:
    told(fits, "planned", 10.0, figures={"seconds": 2.0, "iterations": 5}, stages={})
    assert (shown(fits, 11.0)["left"], shown(fits, 11.0)["left_is"]) == (1.0, "about")
    assert (shown(fits, 13.0)["left"], shown(fits, 13.0)["left_is"]) == (None, "")
    told(fits, "iteration", 13.0, stage="falkon-pass", iteration=1, figures={"train_mse": 0.5})
    ((chart),) = shown(fits, 14.0)["charts"]
    assert chart["x"] == "iteration"


def test_epochs(fits: Fits) -> None:
    plan_epochs(fits)
    assert (shown(fits, 10.0)["left"], shown(fits, 10.0)["left_is"]) == (40.0, "about")
    told(fits, "stage-started", 10.0, stage="eigenpro-predict", total=10)
    told(fits, "stage-progress", 12.0, stage="eigenpro-predict", done=5, total=10)
    fit = shown(fits, 12.0)
    assert fit["epochs_done"] == pytest.approx(0.25)
    assert (fit["left"], fit["left_is"]) == (pytest.approx(2.0 / 0.25 * 3.75), "at most")
    assert fit["rates"] == pytest.approx({"rows": 125, "flops": 2.5e8, "bytes": 1500})
    told(fits, "stage-ended", 14.0, stage="eigenpro-predict", seconds=4.0)
    figures = {"epoch": 0, "rows": 500, "train_mse": 0.5, "rows_per_second": 130.0, "flops_per_second": 3e8}
    told(fits, "iteration", 14.0, stage="eigenpro-round", iteration=2, figures=figures)
    assert shown(fits, 14.0)["rates"] == {"rows": 130.0, "flops": 3e8}
    told(fits, "iteration", 18.0, stage="eigenpro-epoch", iteration=0, figures={"validation_mse": 0.3})
    told(fits, "iteration", 18.0, stage="eigenpro-round", iteration=4, figures=figures | {"rows": 1000})
    told(fits, "stage-started", 18.0, stage="eigenpro-predict", total=10)
    fit = shown(fits, 18.0)
    assert fit["epochs_done"] == 1.0
    assert fit["left"] == pytest.approx(24.0)
    ((chart),) = fit["charts"]
    assert [(c["name"], c["points"]) for c in chart["series"]] == [
        ("training", [(0.5, 0.5), (1.0, 0.5)]),
        ("validation", [(1.0, 0.3)]),
    ]


def test_iterations(fits: Fits) -> None:
    passes = {"kmeans-assign": {"rows": 1000, "flops": 1e6, "bytes": 0}}
    told(fits, "planned", 1.0, figures={"seconds": 60.0, "flops": 1e8, "iterations": 50}, stages=passes)
    for number in (1, 2, 3, 4):
        told(fits, "stage-started", 2.0 * number, stage="kmeans-assign", total=5)
        told(fits, "stage-ended", 2.0 * number + 2, stage="kmeans-assign", seconds=2.0)
        figures = {"shift": 1.0 / number, "threshold": 0.1}
        told(fits, "iteration", 2.0 * number + 2, stage="kmeans-assign", iteration=number, figures=figures)
    fit = shown(fits, 10.0)
    assert (fit["left"], fit["left_is"]) == (pytest.approx(46 * 2.0), "at most")
    assert fit["rates"]["rows"] == pytest.approx(500)
    assert fit["stages"] == [["kmeans-assign", 4, 8.0]]
    told(fits, "stage-started", 10.0, stage="kmeans-labels", total=5)
    assert shown(fits, 10.0)["left"] is None, "the iterations are over"


def test_memory_and_outcomes(fits: Fits) -> None:
    plan_epochs(fits)
    fits.note_memory(400, 1000, workers=2)
    fits.note_memory(300, 1000, workers=2)
    assert shown(fits, 11.0)["memory"] == {"now": 300, "peak": 400, "limit": 1000, "plan": 500}
    told(fits, "fit-ended", 12.0, outcome="failed", message="ValueError: no")
    fits.note_memory(900, 1000, workers=2)
    fit = shown(fits, 500.0)
    assert (fit["outcome"], fit["message"], fit["seconds"]) == ("failed", "ValueError: no", 12.0)
    assert fit["memory"]["peak"] == 400


def test_a_client_that_leaves_loses_its_running_fits(fits: Fits) -> None:
    told(fits, "fit-started", 5.0, "b", client="c")
    told(fits, "fit-ended", 6.0, "b", outcome="done", message="")
    told(fits, "fit-started", 6.0, "other", client="d")
    fits.lose("c", 107.0)
    outcomes = {fit["fit"]: fit["outcome"] for fit in fits.shown(120.0)["fits"]}
    assert outcomes == {"a": "lost", "b": "done", "other": "running"}


def test_only_the_last_fits_are_kept(fits: Fits) -> None:
    for number in range(100):
        told(fits, "fit-started", float(number), f"f{number}")
        told(fits, "fit-ended", float(number), f"f{number}", outcome="done", message="")
    names = [fit["fit"] for fit in fits.shown(200.0)["fits"]]
    assert len(names) == MOST_FITS
    assert names[0] == "f99"
    assert names[-1] == "a", "it still runs"


def test_curves_stay_short() -> None:
    charts = Charts()
    for number in range(10_000):
        charts.add({"shift": 1.0, "unknown": 2.0}, number)
    ((curve,),) = (chart["series"] for chart in charts.shown("iteration"))
    assert len(curve["points"]) <= MOST_POINTS
    assert (curve["points"][0][0], curve["points"][-1][0]) == (0, 9999)


@pytest.mark.parametrize("record", [None, 3, "x", {}, {"fit": 3}, {"fit": "unknown", "event": "planned"}])
def test_foreign_records_are_left_out(record: Any) -> None:
    fits = Fits()
    fits.record(record, 0.0)
    assert fits.shown(0.0)["fits"] == []


STARTED = {"fit": "a", "event": "fit-started", "time": 0.0, "figures": {}}


@pytest.mark.parametrize(
    "odd",
    [
        {"time": float("nan")},
        {"time": 10**400},
        {"time": "now"},
        {"time": None},
        {"fit": ["a"]},
        {"event": []},
        {"event": "other"},
    ],
)
def test_records_of_other_types_are_left_out(odd: dict[str, Any]) -> None:
    fits = Fits()
    fits.record(STARTED | odd, 0.0)
    assert fits.shown(0.0)["fits"] == []


def test_odd_figures_and_long_texts_are_left_out() -> None:
    fits = Fits()
    many = {str(number): number for number in range(10 * MOST_FIGURES)}
    odd = {"rows": 3, "set": {1}, "nan": float("nan"), 4: 5, "text": "x", "x" * 1000: 1, "none": None}
    fits.record(STARTED | {"figures": odd | many, "estimator": "E" * 10**6, "client": 3}, 0.0)
    fit = shown(fits, 1.0)
    assert fit["sizes"]["rows"] == 3
    assert not {"set", "nan", 4, "text", "none"} & set(fit["sizes"])
    assert len(json.dumps(fit)) < 100 * MOST_FIGURES
    assert fit["estimator"] == "E" * MOST_LETTERS


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.sampled_from([0, 1, -1, 10**400, 5e-324, 1e308, 1e30]),
    st.just({1, 2}),
    st.sampled_from(["a", EPOCH, ROUND, "other"]),
)
FIGURES = ["rows", "epoch", "epochs", "epoch_rows", "epochs_before", "group_rows", "iterations", "seconds"]
FIGURES += ["shift", "train_mse", "validation_mse", "rows_per_second"]
SOME = st.dictionaries(st.sampled_from(FIGURES), ODD)
FOREIGN = st.fixed_dictionaries(
    {
        "fit": st.just("a"),
        "event": st.sampled_from(
            ["planned", "stage-started", "stage-progress", "stage-ended", "iteration", "fit-ended"]
        ),
        "stage": st.sampled_from(["a", EPOCH, ROUND]),
    },
    optional={
        **dict.fromkeys(("done", "total", "seconds", "iteration", "outcome", "message"), ODD),
        "time": st.floats(0, 10),
        "figures": SOME | ODD,
        "stages": st.dictionaries(st.sampled_from(["a", EPOCH, ROUND]), SOME | ODD) | ODD,
    },
)


@given(st.lists(FOREIGN, max_size=12))
def test_whatever_comes_is_shown_as_json(records: list[Any]) -> None:
    fits = Fits()
    fits.record(STARTED, 100.0)
    for record in records:
        fits.record(record, 100.0)
        shown(fits, 5.0)
