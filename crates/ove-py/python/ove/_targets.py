"""The labels of rows: one per row, a list per row, or an indicator matrix."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

Form = Literal["single", "lists", "indicator"]

NOT_INDICATOR = "`y` with one column per class must have only the values 0 and 1, got others"


@dataclass
class Targets:
    """Labels as indices into `classes`: row n has `labels[offsets[n]:offsets[n + 1]]`. Unknown labels are left out."""

    form: Form
    classes: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.uint32]
    dtype: np.dtype[Any]
    """The type of the labels, or of the indicator matrix."""
    unknown: npt.NDArray[Any]
    """Labels that are not in `classes`."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def labelled(self) -> npt.NDArray[np.int64]:
        """The rows that have a label."""
        return np.flatnonzero(np.diff(self.offsets))

    def without_unlabelled(self) -> Targets:
        """The targets of the rows that have a label."""
        offsets = np.append(self.offsets[self.labelled()], self.offsets[-1])
        return replace(self, offsets=offsets)

    def followed_by(self, labels: list[Any]) -> Targets:
        """With more rows, one per label; labels that are not in `classes` follow them."""
        known = set(self.classes.tolist())
        others = list(dict.fromkeys(label for label in labels if label not in known))
        new = np.asarray(others) if others else self.classes[:0]
        if new.dtype.kind != self.classes.dtype.kind:
            raise ValueError(f"`label_names` must have labels of the same type as `y`, got {others[0]!r}")
        classes = np.concatenate([self.classes, new])
        more = _of_flat(np.asarray(labels), np.arange(len(labels) + 1, dtype=np.int64), classes, self.form)
        offsets = np.append(self.offsets, self.offsets[-1] + more.offsets[1:])
        return replace(self, classes=classes, offsets=offsets, labels=np.append(self.labels, more.labels))

    def hits(self, best: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether the class given for each row is one of its labels."""
        found = np.zeros(len(self), dtype=bool)
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        found[rows[self.labels == best[rows]]] = True
        return found


@dataclass
class Examples:
    """Rows to train on."""

    X: Any
    targets: Targets
    weights: Any = None
    """The weight of each row, as it was given."""
    name_rows: int = 0
    """Number of rows at the end that are names of classes."""
    cache: str | os.PathLike[str] | None = None
    """The folder that the rows of texts stay in; in memory if it is None."""


def more_targets_of(y: Any, known: npt.NDArray[Any]) -> Targets:
    """The labels in y, as indices into the known classes, which those that are new follow."""
    targets = targets_of(y, known)
    if not len(targets.unknown):
        return targets
    if targets.unknown.dtype.kind != known.dtype.kind:
        raise ValueError(
            f"`y` must have labels of the same type as those of the model, got {targets.unknown.tolist()[0]!r}"
        )
    return targets_of(y, np.concatenate([known, targets.unknown]))


def targets_of(y: Any, known: npt.NDArray[Any] | None = None) -> Targets:
    """The labels in y, as indices into the known classes, or into those that y has."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    if not isinstance(y, (list, tuple)) and not sp.issparse(y):
        y = np.asarray(y)
    if _is_indicator(y):
        return _of_indicator(y, known)
    if _has_lists(y):
        return _of_lists([list(labels) for labels in y], known)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return _of_flat(y, np.arange(len(y) + 1, dtype=np.int64), known, "single")


def _has_lists(y: Any) -> bool:
    lists = (list, tuple, set, frozenset, np.ndarray)
    return not (isinstance(y, np.ndarray) and y.dtype != object) and any(isinstance(labels, lists) for labels in y)


def _is_indicator(y: Any) -> bool:
    """Whether y is a matrix, or lists of equal length that have only 0 and 1."""
    if sp.issparse(y):
        return True
    if isinstance(y, np.ndarray) and y.dtype != object:
        return y.ndim == 2 and y.shape[1] > 1
    if not _has_lists(y) or any(isinstance(labels, (set, frozenset)) for labels in y):
        return False
    width = len(y[0])
    is_matrix = all(len(labels) == width and all(label in (0, 1) for label in labels) for labels in y)
    # A row of more than two columns has a number twice, a list of labels has not: [[0, 1], [1, 0]] are lists of labels.
    return width > 1 and is_matrix and any(len(set(labels)) < width for labels in y)


def _of_lists(y: list[list[Any]], known: npt.NDArray[Any] | None) -> Targets:
    offsets = np.concatenate([[0], np.cumsum([len(labels) for labels in y], dtype=np.int64)])
    flat = np.asarray([label for labels in y for label in labels])
    if flat.ndim != 1:
        raise ValueError(f"labels in `y` must be numbers or strings, got arrays of shape {flat.shape[1:]}")
    return _of_flat(flat, offsets, known, "lists")


def _of_flat(
    flat: npt.NDArray[Any], offsets: npt.NDArray[np.int64], known: npt.NDArray[Any] | None, form: Form
) -> Targets:
    if known is None:
        classes, labels = np.unique(flat, return_inverse=True)
        return Targets(form, classes, offsets, labels.astype(np.uint32), flat.dtype, flat[:0])
    order = np.argsort(known)
    place = np.searchsorted(known, flat, sorter=order).clip(max=len(known) - 1)
    labels = order[place]
    is_known = known[labels] == flat
    kept = np.concatenate([[0], np.cumsum(is_known)])[offsets]
    unknown = np.unique(flat[~is_known])
    return Targets(form, known, kept, labels[is_known].astype(np.uint32), flat.dtype, unknown)


def _of_indicator(y: Any, known: npt.NDArray[Any] | None) -> Targets:
    dtype = y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
    if not sp.issparse(y):
        y = np.asarray(y)
        if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
            raise ValueError(NOT_INDICATOR)
    y = sp.csr_array(y)
    y.eliminate_zeros()
    if y.nnz and not (y.data == 1).all():
        raise ValueError(NOT_INDICATOR)
    if known is not None and len(known) != y.shape[1]:
        raise ValueError(f"`y` must have one column per class, {len(known)} in all, got {y.shape[1]}")
    classes = np.arange(y.shape[1]) if known is None else known
    return Targets("indicator", classes, y.indptr.astype(np.int64), y.indices.astype(np.uint32), dtype, classes[:0])
