"""What a failure means to the shell: 2 the input is wrong, 1 the run failed, 130 interrupted.

The library raises ValueError and TypeError at its door, one line each; a defect keeps its traceback.
"""

from __future__ import annotations

from datasets.wording import in_options

WRONG_INPUT, FAILED, INTERRUPTED = 2, 1, 130
_OPTIONS = {
    "class_weight": "--class-weight",
    "max_epochs": "--epochs",
    "memory_limit": "--memory-limit",
    "n_clusters": "--clusters",
    "n_components": "--components",
    "n_init": "--n-init",
    "n_landmarks": "--landmarks",
    "resume": "--resume",
    "validation_fraction": "--validation-fraction",
}  # what the library's parameters are called here


class InputError(ValueError):
    """An argument of the command line that cannot be used."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that says what it left behind."""


def exit_code(error: BaseException) -> int | None:
    """The code for an error that a user can meet; None for one that is a defect of this program."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    # only here: the interrupt may have come while the library loads
    from daskkernels.plan import PlanError
    from daskkernels.solvers.eigenpro import DivergenceError

    if isinstance(error, (ValueError, TypeError, PlanError)):
        return WRONG_INPUT
    if isinstance(error, (OSError, RuntimeError, MemoryError, DivergenceError)) or _of_the_cluster(error):
        return FAILED
    return None


def one_line(error: BaseException) -> str:
    """What went wrong, on one line."""
    if isinstance(error, KeyboardInterrupt) and not isinstance(error, Interrupted):
        return "interrupted"
    line = in_options(" ".join(str(error).split()), _OPTIONS) or type(error).__name__
    if _of_the_cluster(error):
        line += " (a worker was lost, perhaps for want of memory: see --memory-limit and the dashboard)"
    return line


def _of_the_cluster(error: BaseException) -> bool:
    """Whether the scheduler raised it, such as for a worker that died too often."""
    return type(error).__module__.split(".")[0] == "distributed"
