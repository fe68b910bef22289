"""Store layer: everything that can be wrong with stored data, each under its own name.

All are `ValueError`s with one line of text that names the path or the file, what was found and what to do.
"""

from __future__ import annotations


class StoreError(ValueError):
    """Something is wrong with data on disk, or with data on its way there."""


class NotADatasetError(StoreError):
    """There is nothing at the path, or it was not written by daskkernels."""


class ExistsError(StoreError):
    """The path is taken and must not be replaced."""


class IncompleteWriteError(StoreError):
    """The writer was interrupted before it could mark the data as complete."""


class FormatError(StoreError):
    """The data follows another version of the format, or a layout this version does not write."""


class MetadataError(StoreError):
    """A metadata file is not readable as what it should be."""


class DigestError(StoreError):
    """Metadata, or the set of chunk files, was altered after the write."""


class LengthMismatchError(StoreError):
    """Two things that must have the same number of rows do not."""


class ShapeError(StoreError):
    """Data that is not two-dimensional, is empty, or changes its width on the way."""


class LabelError(StoreError):
    """A label is missing, of a mixed type, or not among the classes."""


class AlignmentError(StoreError):
    """A write that would share a chunk with another write."""


class BlockReadError(StoreError):
    """A chunk could not be read or does not match its checksum."""


class MissingChunkError(BlockReadError):
    """A chunk file is not there."""


class StaleReaderError(BlockReadError):
    """The array was replaced after it was opened."""


class ModelError(StoreError):
    """A model can not be saved, or what is stored is not one that can be loaded."""


class MissingChunkWarning(UserWarning):
    """Chunks that are not stored are read as the fill value."""
