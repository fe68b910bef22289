"""Top layer: one fit as its events tell it: where it is, how fast, how far from the end."""

from __future__ import annotations

from typing import Any

from .charts import Charts

FADE = 0.7  # of what earlier passes weigh in a rate, for each new one
EPOCH, ROUND = "eigenpro-epoch", "eigenpro-round"
MOST_STAGES = 40


class FitState:
    """Times are those of the client, whose clock may differ from the scheduler's."""

    def __init__(self, record: dict[str, Any], now: float) -> None:
        self.fit, self.estimator, self.client = record["fit"], record["estimator"], record["client"]
        self.outcome, self.message = "running", ""
        self._started: float = record["time"]
        self._ahead: float = now - self._started  # of the client's clock, and the way here
        self._ended: float | None = None
        self._sizes = record["figures"]
        self._plan: dict[str, float] = {}
        self._passes: dict[str, dict[str, float]] = {}  # planned rows, flops and bytes of one pass of a stage
        self._planned_at = self._started
        self._stage: dict[str, Any] = {}  # the present one
        self._times: dict[str, tuple[int, float]] = {}  # how often each stage was over, seconds in all
        self._recent: dict[str, tuple[float, float]] = {}  # passes and seconds, earlier ones fading
        self._rates: dict[str, float] = {}  # as last measured
        self._step: dict[str, float] = {}  # whole epochs and rows of the next, or iteration
        self._group = 0.0  # rows of a group of rounds that is over but not reported yet
        self._figures: dict[str, float] = {}
        self._first: dict[str, float] = {}  # when each stage first began
        self._iterating: tuple[str, float, float] = ("", 0.0, 0.0)  # the stage, iterations and their seconds
        self._memory = {"now": 0, "peak": 0, "limit": 0}
        self._charts = Charts()

    def clock(self, now: float) -> float:
        """The time of the client when the scheduler's is `now`."""
        return now - self._ahead

    def record(self, record: dict[str, Any]) -> None:
        """Take one more record of this fit."""
        time, kind = record["time"], record["event"]
        if kind == "planned":
            self._plan, self._passes = record["figures"], record["stages"]
            self._planned_at = time
        elif kind == "stage-started":
            self._stage = {"name": record["stage"], "done": 0, "total": record["total"], "since": time}
            if len(self._first) < MOST_STAGES:
                self._first.setdefault(record["stage"], time)
        elif kind == "stage-progress" and record["stage"] == self._stage.get("name"):
            self._stage |= {"done": record["done"], "total": record["total"]}
        elif kind == "stage-ended":
            self._stage_over(record)
        elif kind == "iteration":
            self._iteration(record, time)
        elif kind == "fit-ended":
            self.end(record["outcome"], record["message"], time)

    def end(self, outcome: str, message: str, time: float) -> None:
        """The fit is over."""
        self.outcome, self.message, self._ended = outcome, message, time

    def note_memory(self, used: int, limit: int) -> None:
        """Bytes of the fullest worker now."""
        self._memory = {"now": used, "peak": max(used, self._memory["peak"]), "limit": limit}

    def _stage_over(self, record: dict[str, Any]) -> None:
        name, seconds = record["stage"], record["seconds"]
        if name == self._stage.get("name"):
            self._stage["done"] = self._stage["total"]
        if name in self._times or len(self._times) < MOST_STAGES:
            times, total = self._times.get(name, (0, 0.0))
            self._times[name] = (times + 1, total + seconds)
        if name in self._passes:
            self._group = self._plan.get("group_rows", 0.0)
        if name in self._passes and "rows" not in self._step:
            passes, spent = self._recent.get(name, (0.0, 0.0))
            self._recent[name] = passes, spent = FADE * passes + 1, FADE * spent + seconds
            self._rates = self._rate(name, passes, spent)

    def _iteration(self, record: dict[str, Any], time: float) -> None:
        stage, number, figures = record["stage"], int(record["iteration"]), record["figures"]
        if stage == ROUND and not {"rows", "epoch"} <= set(figures):
            return
        if stage == ROUND:
            rows = max(1.0, self._plan.get("epoch_rows", 1.0))
            over, self._stage, self._group = figures["rows"] >= rows, {}, 0.0
            self._step = {"epoch": figures["epoch"] + over, "rows": 0 if over else figures["rows"]}
            names = {"rows": "rows_per_second", "flops": "flops_per_second", "bytes": "bytes_per_second"}
            self._rates = {name: figures[found] for name, found in names.items() if found in figures}
            self._charts.add(
                {"train_mse": figures.get("train_mse")}, figures["epoch"] + figures["rows"] / rows
            )
        elif stage == EPOCH:
            self._step, self._group, self._figures = {"epoch": number + 1, "rows": 0}, 0.0, figures
            self._charts.add({n: v for n, v in figures.items() if n.startswith("validation")}, number + 1)
        else:
            self._iterating = (stage, number, time - self._first.get(stage, time))
            self._step, self._figures = {"iteration": number}, figures
            self._charts.add(figures, number)

    def _rate(self, stage: str, passes: float, seconds: float) -> dict[str, float]:
        per_pass = self._passes[stage]
        return {name: value * passes / seconds for name, value in per_pass.items()} if seconds > 1e-6 else {}

    def _running_share(self) -> float:
        """The part of the present stage that is done."""
        total = self._stage.get("total", 0)
        return max(0.0, min(1.0, self._stage["done"] / total)) if total > 0 else 0.0

    def _epochs_done(self) -> float:
        """Epochs with the part of the present one and, while it runs, of the group of rounds."""
        rows = self._plan.get("epoch_rows", 0.0)
        if rows < 1:
            return self._step.get("epoch", 0.0)
        running = self.outcome == "running"
        group = self._group if running else 0.0
        if running and self._stage.get("name") in self._passes:
            group = self._plan.get("group_rows", 0.0) * self._running_share()
        present = self._step.get("rows", 0.0) + group
        return self._step.get("epoch", self._plan.get("epochs_before", 0.0)) + min(
            0.999 if running else 1.0, present / rows
        )

    def _left(self, now: float) -> tuple[float | None, str]:
        """Seconds to the end, and what is to be said of them: patience may end a fit sooner."""
        if "epochs" in self._plan:
            before, total = self._plan.get("epochs_before", 0.0), self._plan["epochs"]
            done = self._epochs_done() - before
            spent = now - self._planned_at
            if done > 0.02:  # less is too little to judge by
                return max(0.0, (total - before - done) * spent / done), "at most"
        elif self._iterating[0]:
            stage, count, spent = self._iterating
            if stage != self._stage.get("name") or "iterations" not in self._plan or count < 1:
                return None, ""
            return max(0.0, (self._plan["iterations"] - count) * spent / count), "at most"
        left = self._plan.get("seconds", 0.0) - (now - self._planned_at)
        return (left, "about") if left > 0 else (None, "")

    def _rates_now(self, now: float) -> dict[str, float]:
        """As last measured, or of the present stage while nothing of it is over yet."""
        name = self._stage.get("name", "")
        share = self._running_share()
        known = name in self._recent or "rows" in self._step
        if known or name not in self._passes or not 0 < share < 1:
            return self._rates
        return self._rate(name, share, now - self._stage["since"])

    def shown(self, now: float) -> dict[str, Any]:
        """Everything, as JSON, at the scheduler's time `now`."""
        present = self.clock(now) if self._ended is None else self._ended
        running = self.outcome == "running"
        left, manner = self._left(present) if running else (None, "")
        stage = self._stage | {"seconds": present - self._stage["since"]} if self._stage else {}
        return {
            "fit": self.fit,
            "estimator": self.estimator,
            "outcome": self.outcome,
            "message": self.message,
            "started": self._started + self._ahead,
            "seconds": max(0.0, present - self._started),
            "sizes": self._sizes,
            "plan": self._plan,
            "stage": stage if running else {},
            "step": self._step,
            "epochs_done": self._epochs_done() if "epochs" in self._plan else None,
            "figures": self._figures,
            "left": left,
            "left_is": manner,
            "rates": self._rates_now(present),
            "memory": self._memory | {"plan": self._plan.get("worker_bytes", 0)},
            "charts": self._charts.shown("epoch" if "epochs" in self._plan else "iteration"),
            "stages": [[name, times, seconds] for name, (times, seconds) in self._times.items()],
        }
