"""The bounds as functions of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from ove import _ove

Floats = npt.NDArray[np.float64]
Kind = Literal["one-vs-each", "merged", "bouchard", "softmax"]


@overload
def log_softmax_bound(
    scores: npt.ArrayLike,
    y: npt.ArrayLike,
    kind: Kind = ...,
    *,
    merge: Sequence[int] = ...,
    return_gradient: Literal[False] = ...,
) -> Floats: ...
@overload
def log_softmax_bound(
    scores: npt.ArrayLike,
    y: npt.ArrayLike,
    kind: Kind = ...,
    *,
    merge: Sequence[int] = ...,
    return_gradient: Literal[True],
) -> tuple[Floats, Floats]: ...
def log_softmax_bound(
    scores: npt.ArrayLike,
    y: npt.ArrayLike,
    kind: Kind = "one-vs-each",
    *,
    merge: Sequence[int] = (),
    return_gradient: bool = False,
) -> Floats | tuple[Floats, Floats]:
    """A lower bound on log softmax(scores)[y] for each row, and its gradient in the scores.

    ::

        softmax       log p(y) =  − log(1 + Σ_m e^{f_m − f_y})                              the exact value
        one-vs-each   log p(y) ≥  − Σ_m log(1 + e^{f_m − f_y})
        merged        log p(y) ≥  − log(1 + Σ_{m ∈ C} e^{f_m − f_y}) − Σ_{m ∉ C} log(1 + e^{f_m − f_y})
        bouchard      log p(y) ≥  f_y − α − Σ_m log(1 + e^{f_m − α}), at its best α

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
    y : array of shape (n_rows,)
        The class of each row, from 0.
    kind : {"one-vs-each", "merged", "bouchard", "softmax"}
    merge : sequence of classes
        Merged: C, the classes that share one logarithm. No class gives one-vs-each, all classes give softmax.
    return_gradient : bool

    Returns
    -------
    bound : array of shape (n_rows,)
    gradient : array of shape (n_rows, n_classes), if asked for

    Examples
    --------
    >>> import ove
    >>> bound, gradient = ove.log_softmax_bound([[1.2, 0.3, -0.7]], [0], return_gradient=True)
    >>> bound.round(4).tolist(), gradient.round(4).tolist()
    ([-0.4805], [[0.4192, -0.2891, -0.1301]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"`scores` must have 2 dimensions, rows and classes, got {scores.ndim}")
    y = np.asarray(y)
    if y.ndim != 1 or (y.size and y.dtype.kind not in "iu"):
        found = f"an array of {y.dtype} with {y.ndim} dimensions"
        raise ValueError(f"`y` must be a list of class numbers, from 0, got {found}")
    bound, gradient = _ove.log_softmax_bound(scores, np.ascontiguousarray(y, dtype=np.int64), kind, list(merge))
    return (bound, gradient) if return_gradient else bound
