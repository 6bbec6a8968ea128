"""What goes to the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ove._ove import TextRows

    Indices: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]
    Sparse: TypeAlias = tuple[npt.NDArray[np.int64], Indices, npt.NDArray[np.float32], int]

# Rows of texts, dense rows, or the offsets, indices and values of sparse ones with the number of features.
Matrix: TypeAlias = "TextRows | npt.NDArray[np.float32] | Sparse"


class Keywords(TypedDict):
    """How to train."""

    objective: str | None
    solver: str | None
    l2: float | None
    penalty_on_bias: bool
    merge: int
    class_weight: str | Sequence[float] | None
    classes: int | None
    sampler: str | None
    power: float
    batch: int
    epochs: int | None
    step: str
    learning_rate: float | None
    schedule: str
    tolerance: float
    iterations: int
    trees: int | None
    memory: str
    calibrate: bool
    seed: int
    threads: int
