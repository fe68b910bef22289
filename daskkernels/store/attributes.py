"""Store layer: what the attributes of a dataset may say, checked before any of it is believed."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass
from typing import Any

from daskkernels.store.errors import LabelError, LengthMismatchError, MetadataError
from daskkernels.store.labels import given_classes
from daskkernels.store.reader import Reader

Label = str | int | bool


@dataclass(frozen=True)
class Attributes:
    """The attributes of a dataset, each of its type."""

    document: str
    n_rows: int
    n_features: int
    classes: tuple[Label, ...] | None
    feature_names: tuple[str, ...] | None
    feature_shape: tuple[int, ...] | None
    source: Any
    digest: str

    @classmethod
    def of(cls, document: str, found: dict[str, Any]) -> Attributes:
        """Raises MetadataError for one that is missing or not of its type."""
        try:
            return cls(
                document,
                n_rows=_whole(found["n_rows"]),
                n_features=_whole(found["n_features"]),
                classes=_classes(found["classes"]),
                feature_names=_names(found["feature_names"]),
                feature_shape=_shape(found.get("feature_shape")),  # absent unless rows are images
                source=found["source"],
                digest=str(found["digest"]),
            )
        except (KeyError, TypeError, LabelError) as error:
            raise MetadataError(f"{document}: attribute missing or of the wrong type: {error}") from error

    def check(self, X: Reader, y: Reader | None) -> None:
        """Compare with the arrays. Raises LengthMismatchError, MetadataError."""
        said, names, image = self.document, self.feature_names, self.feature_shape
        if X.shape != (self.n_rows, self.n_features):
            raise LengthMismatchError(
                f"{said} says {self.n_rows} x {self.n_features}, but array 'X' is {X.shape}"
            )
        if y is not None and (y.shape[0] != self.n_rows or y.ndim > 2):
            raise LengthMismatchError(f"{said}: array 'X' has {self.n_rows} rows, but array 'y' is {y.shape}")
        if names is not None and len(names) != self.n_features:
            raise LengthMismatchError(f"{said}: {len(names)} feature names for {self.n_features} features")
        if image is not None and math.prod(image) != self.n_features:
            raise LengthMismatchError(f"{said}: feature_shape {image} for {self.n_features} features")
        if self.classes is not None and (y is None or y.ndim != 1 or y.dtype.kind != "i"):
            found = "there is no array 'y'" if y is None else f"array 'y' is {y.shape}, {y.dtype}"
            raise MetadataError(f"{said}: classes need one column of codes, but {found}")


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"wanted a whole number, got {reprlib.repr(value)}")
    return value


def _shape(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise TypeError(f"wanted two or three sizes, got {reprlib.repr(value)}")
    return tuple(_whole(size) for size in value)


def _names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"wanted a list of names, got {reprlib.repr(value)}")
    return tuple(value)


def _classes(value: Any) -> tuple[Label, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(label, str | int) for label in value):
        raise TypeError(f"wanted a list of labels, got {reprlib.repr(value)}")
    return given_classes(value)
