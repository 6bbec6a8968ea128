"""The rows that the Rust module takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ove._ove import TextRows

    Indices: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]

# The offsets, indices and values of sparse rows, with the number of features.
Sparse: TypeAlias = "tuple[npt.NDArray[np.int64], Indices, npt.NDArray[np.float32], int]"

# Rows of texts, dense rows, or sparse ones.
Matrix: TypeAlias = "TextRows | npt.NDArray[np.float32] | Sparse"

# The offsets, indices and values of a sparse matrix, with its number of columns.
Interactions: TypeAlias = "tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32], int]"
