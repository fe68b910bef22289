"""Layer 6: what EigenPro chose for a fit and why, beside what the published rules would have chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose
from typing import Any

from ..block.kernel_choice import Trial
from ..kernels import AnyKernel
from ..plan import Machine, Plan
from ..plan_rounds import RoundPlan
from ..plan_training import TrainingTask, plan_training
from ..solvers.spectrum import BATCH_SHARE, Spectrum


@dataclass(frozen=True, repr=False)
class EigenProPlan:
    """The choices of one fit; prints as a table. q, m and the step depend on data, seed and constants."""

    kernel: AnyKernel  # its bandwidth a number
    trials: tuple[Trial, ...]  # what "auto" chose it by
    n_subsamples: int  # s
    n_directions: int  # q
    batch_size: int  # m
    round_size: int  # M
    step_size: float  # X
    beta: float  # largest k_P(x, x), over all rows
    eigenvalue: float  # lam', of k_P / n, on fresh rows
    critical_batch: float  # m* = beta / lam'
    assumed_eigenvalue: float  # lam' as the subsample alone has it [E eq. 4]
    reference_step: float  # X by the published rule at this m, with the assumed lam'
    rounds: RoundPlan
    task: TrainingTask
    cost: Plan  # by stage, predicted; after the fit for the epochs that were made, beside what was measured
    why: dict[str, str]
    eigenvalues: tuple[float, ...] = ()  # of K_s / s, the leading ones, descending; q - 1 of them are damped

    @property
    def machine(self) -> Machine:
        """What the fit runs on."""
        return self.cost.machine

    @property
    def measured(self) -> dict[str, float]:
        """Seconds by stage."""
        return self.cost.measured

    @classmethod
    def of(
        cls,
        kernel: AnyKernel,
        trials: list[Trial],
        spectrum: Spectrum,
        rounds: RoundPlan,
        task: TrainingTask,
        cost: Plan,
        given: dict[str, float | str],
    ) -> EigenProPlan:
        """The record of a set-up; `given` is what the user chose."""
        m, beta, assumed = spectrum.batch_size, spectrum.assumed_beta, spectrum.assumed_eigenvalue
        critical = spectrum.critical_batch
        fresh = f"{spectrum.n_fresh} fresh rows" if spectrum.n_fresh else "all rows"
        few = len(spectrum.indices) == spectrum.n_used
        why = {
            "n_subsamples": "all rows"
            if few
            else "enough for the leading directions; more above 100 000 rows",
            "n_directions": f"most of {spectrum.most_directions} whose critical batch is within the limit",
            "batch_size": f"{BATCH_SHARE:g} of the critical batch {critical:.4g}",
            "step_size": f"{spectrum.step.safety:g} of the edge 2 m / (beta + (m - 1) lam')",
            "eigenvalue": f"verified on {fresh}; the subsample alone says {assumed:.3g}",
            "beta": "largest over all rows",
            "round_size": rounds.why["round_size"],
        }
        chosen: dict[str, Any] = {
            "n_subsamples": len(spectrum.indices),
            "n_directions": spectrum.n_directions,
            "batch_size": m,
            "round_size": rounds.round_size,
            "step_size": spectrum.step.size(m),
        }
        why |= {name: _given(value, chosen[name]) for name, value in given.items()}
        return cls(
            kernel=kernel,
            trials=tuple(trials),
            **chosen,
            beta=spectrum.step.beta,
            eigenvalue=spectrum.step.eigenvalue,
            critical_batch=critical,
            assumed_eigenvalue=assumed,
            reference_step=m / beta if m < beta / assumed + 1 else 2 * m / (beta + (m - 1) * assumed),
            rounds=rounds,
            task=task,
            cost=cost,
            why=why,
            eigenvalues=tuple(spectrum.eigenvalues.tolist()),
        )

    def after(self, epochs: int, seconds: dict[str, float]) -> EigenProPlan:
        """The same for the epochs that this fit has made, with what was measured."""
        task = replace(self.task, epochs=epochs)
        _, cost = plan_training(task, self.machine, self.round_size)
        return replace(self, task=task, cost=replace(cost, measured=dict(seconds)))

    def __repr__(self) -> str:
        shown: list[tuple[str, float]] = [
            ("n_subsamples", self.n_subsamples),
            ("n_directions", self.n_directions),
            ("batch_size", self.batch_size),
            ("round_size", self.round_size),
            ("step_size", self.step_size),
            ("beta", self.beta),
            ("eigenvalue", self.eigenvalue),
        ]
        by = f", the best of {len(self.trials)} on a sample solved exactly" if self.trials else ""
        lines = [f"kernel: {self.kernel}{by}", f"{'choice':<14}{'value':>12}  why"]
        lines += [f"{name:<14}{value:>12.5g}  {self.why.get(name, '')}".rstrip() for name, value in shown]
        lines.append(f"the published rule would take a step of {self.reference_step:.4g} at this batch size")
        lines.append(repr(self.cost))
        return "\n".join(lines)


def _given(value: float | str, used: float) -> str:
    """What is said of a choice of the user's."""
    if isinstance(value, str):
        return f"by the published rule, {value}"
    return "given" if isclose(value, used) else f"given as {value:.5g}, more than is possible here"
