"""Rows of numbers in the form that the Rust module reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ove._types import Matrix, Sparse


def rows_of(estimator: Any, X: Any, *, reset: bool) -> tuple[Matrix, int]:
    """The rows of X, and their number. The library checks that values are finite, and says which one is not."""
    X = validate_data(
        estimator, X, accept_sparse="csr", dtype=np.float32, order="C", ensure_all_finite=False, reset=reset
    )
    if not sp.issparse(X):
        return X, X.shape[0]
    return sparse_parts(X), X.shape[0]


def sparse_parts(X: Any) -> Sparse:
    """The parts of a CSR matrix of 32-bit floats."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    parts = (X.indptr.astype(np.int64, copy=False), indices, X.data)
    offsets, indices, values = map(np.ascontiguousarray, parts)
    return offsets, indices, values, X.shape[1]
