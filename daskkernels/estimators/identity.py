"""Layer 6: a fingerprint of what decides the answer of a fit: what goes on with it must have the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..block.targets import Encode, OneHot, digest, merge_digests
from ..kernels import AnyKernel, CallableKernel
from ..rowblocks import RowBlocks
from ..rows import reduce_rows
from ..solvers.eigenpro_problem import Problem
from ..xp import to_host
from .base import Work

STAGE = "eigenpro-identity"


@dataclass(frozen=True)
class Origin:
    """What a fit that goes on with another has from it."""

    entropy: int | list[int]
    round_size: int | None  # of EigenPro: another one changes the last bits
    identity: str


def identity_of(parameters: dict[str, Any], *arrays: Any) -> str:
    """A fingerprint of all that decides the answer of a fit."""
    found = hashlib.sha256(repr(sorted(parameters.items())).encode())
    for array in arrays:
        found.update(np.ascontiguousarray(to_host(array)).data)
    return found.hexdigest()


def identity_of_fit(problem: Problem, work: Work) -> str:
    """The same of a fit of EigenPro: every target, and the rows of X that are in its subsample.

    Cost: one pass over y.
    """
    spectrum, preconditioner = problem.spectrum, problem.spectrum.preconditioner
    step = (spectrum.step.beta, spectrum.step.eigenvalue, spectrum.step.safety)
    chosen = {
        "method": "eigenpro",
        "kernel": kernel_words(problem.kernel),
        "dtype": problem.dtype,
        "sizes": (problem.X.shape, len(spectrum.indices), spectrum.n_directions, spectrum.batch_size),
        "step": step,
        "targets": _targets_digest(problem.y, problem.encode, work),
    }
    return identity_of(chosen, spectrum.indices, preconditioner.damping, preconditioner.right.matrix)


def _targets_digest(y: RowBlocks, encode: Encode, work: Work) -> str:
    """A fingerprint of y (n,) or (n, l) in its order, and of how it becomes targets."""
    total = reduce_rows(digest, y, combine=merge_digests, stage=STAGE)
    (found,), _ = work.runtime.run([total], reporter=work.reporter, stage=STAGE)
    counts = encode.class_weights if isinstance(encode, OneHot) else None
    parameters = {"y": found.hex(), "encode": type(encode).__name__, "outputs": encode.n_outputs}
    return identity_of(parameters, *(() if counts is None else (counts,)))


def kernel_words(kernel: AnyKernel) -> str:
    """A kernel in words that are the same in every process."""
    return _words(kernel.function) if isinstance(kernel, CallableKernel) else repr(kernel)


def _words(value: Any, within: tuple[int, ...] = ()) -> str:
    """A value with all that it consists of. What only its address would tell differs in every process."""
    if id(value) in within:
        return "itself"
    inner = partial(_words, within=(*within, id(value)))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return f"{value.dtype}{value.shape}{identity_of({}, value)}"
    if isinstance(value, dict):
        return f"dict({', '.join(map(inner, value.items()))})"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(inner, value))})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(map(inner, value)))})"
    parts = _parts(value)
    return repr(value) if parts is None else f"{type(value).__name__}{inner(parts)}"


def _parts(value: Any) -> tuple[Any, ...] | None:
    """Where something was defined, what it does and is bound to; None for a value whose `repr` says it."""
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, FunctionType):
        bound = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        named = value.__module__, value.__qualname__, value.__code__
        return *named, value.__defaults__, value.__kwdefaults__, bound
    if hasattr(value, "__qualname__"):
        return value.__module__, value.__qualname__, getattr(value, "__wrapped__", None)
    kind: Any = type(value)
    if hasattr(value, "__dict__") and (callable(value) or kind.__repr__ is object.__repr__):
        return kind, getattr_static(kind, "__call__", None), vars(value)
    return None
