"""How good recommendations are: the functions of `implicit.evaluation`, for `Recommender` and any model like it.

>>> import numpy as np, ove, scipy.sparse as sp
>>> from ove.evaluation import ranking_metrics_at_k, train_test_split
>>> user_items = sp.csr_matrix(np.kron(np.eye(4), np.ones((10, 8))))      # four groups of users, each with its items
>>> train, test = train_test_split(user_items, random_state=0)
>>> model = ove.Recommender(rank=4, epochs=100, batch=8).fit(train, show_progress=False)
>>> ranking_metrics_at_k(model, train, test, K=2, show_progress=False)["ndcg"] > 0.9
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ove._progress import progress_line

__all__ = [
    "AUC_at_k",
    "mean_average_precision_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "ranking_metrics_at_k",
    "train_test_split",
]

# Users whose recommendations are asked for at a time.
BATCH = 1000


def ranking_metrics_at_k(
    model: Any,
    train_user_items: Any,
    test_user_items: Any,
    K: int = 10,
    show_progress: bool = True,
    num_threads: int = 1,
) -> dict[str, float]:
    """Measures lists of K recommendations for the users with test items, by the definitions of implicit.

    With the hits h₁ … h_K of a user who has T test items, of n items in all:

    - precision: Σ h of all users, divided by Σ min(K, T) of all users
    - map: the mean of Σ_r h_r (h₁ + … + h_r)/r, divided by min(K, T)
    - ndcg: the mean of Σ_r h_r / log₂(r + 1), relative to its value for min(K, T) hits in front
    - auc: the mean share of the pairs of a test item and another item that are in the right order, if everything behind
      the list is in random order

    Parameters
    ----------
    model : Recommender, or another with the method `recommend` of implicit
    train_user_items : sparse matrix of shape (n_users, n_items)
        Interactions of training, which are not recommended.
    test_user_items : sparse matrix of the same shape
    K : int, default 10
        Length of the lists.
    show_progress : bool, default True
        Whether to show a bar, if tqdm is installed.
    num_threads : int
        Not used: the model has its number of threads.

    Returns
    -------
    dict with "precision", "map", "ndcg" and "auc"
    """
    if K < 1:
        raise ValueError(f"`K` must be at least 1, got {K}")
    train, test = sp.csr_matrix(train_user_items), sp.csr_matrix(test_user_items)
    if train.shape != test.shape:
        raise ValueError(f"`test_user_items` must have the shape of `train_user_items`, {train.shape}, got {test.shape}")
    users = np.flatnonzero(np.diff(test.indptr))
    if len(users) == 0:
        raise ValueError("`test_user_items` must have at least one interaction")
    gains = 1 / np.log2(np.arange(2, K + 2))
    ideal = np.cumsum(gains)
    sums = np.zeros(5)
    with progress_line(show_progress, 1, "measuring") as progress:
        for start in range(0, len(users), BATCH):
            batch = users[start : start + BATCH]
            ids, _ = model.recommend(batch, train[batch], N=K)
            hits = _hits(ids, test[batch])
            liked = np.diff(test.indptr)[batch].astype(float)
            others = test.shape[1] - liked
            place = np.minimum(K, liked)
            so_far = np.cumsum(hits, axis=1)
            found, missed = so_far[:, -1], K - so_far[:, -1]
            in_order = np.sum(so_far * ~hits, axis=1) + (found + liked) / 2 * (others - missed)
            sums += [
                found.sum(),
                place.sum(),
                np.sum(np.sum(hits * so_far / np.arange(1, K + 1), axis=1) / place),
                np.sum(hits @ gains[: ids.shape[1]] / ideal[place.astype(int) - 1]),
                np.sum(in_order / (liked * others)),
            ]
            if progress is not None:
                progress(min(1.0, (start + BATCH) / len(users)), None, None)
    precision, means = sums[0] / sums[1], sums[2:] / len(users)
    return {"precision": float(precision), **dict(zip(("map", "ndcg", "auc"), means.tolist(), strict=True))}


def precision_at_k(*args: Any, **kwargs: Any) -> float:
    """The precision of `ranking_metrics_at_k`, with the same arguments."""
    return ranking_metrics_at_k(*args, **kwargs)["precision"]


def mean_average_precision_at_k(*args: Any, **kwargs: Any) -> float:
    """The MAP of `ranking_metrics_at_k`, with the same arguments."""
    return ranking_metrics_at_k(*args, **kwargs)["map"]


def ndcg_at_k(*args: Any, **kwargs: Any) -> float:
    """The nDCG of `ranking_metrics_at_k`, with the same arguments."""
    return ranking_metrics_at_k(*args, **kwargs)["ndcg"]


def AUC_at_k(*args: Any, **kwargs: Any) -> float:
    """The AUC of `ranking_metrics_at_k`, with the same arguments."""
    return ranking_metrics_at_k(*args, **kwargs)["auc"]


def train_test_split(
    ratings: Any, train_percentage: float = 0.8, random_state: Any = None
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Splits interactions in two at random.

    Parameters
    ----------
    ratings : sparse matrix
    train_percentage : float, default 0.8
        The share of the interactions in the first part.
    random_state : int or RandomState, optional

    Returns
    -------
    train, test : sparse matrices of the same shape
    """
    data = sp.coo_matrix(ratings)
    first = check_random_state(random_state).random_sample(len(data.data)) < train_percentage
    parts = [(data.data[which], (data.row[which], data.col[which])) for which in (first, ~first)]
    train, test = (sp.csr_matrix(part, shape=data.shape, dtype=data.dtype) for part in parts)
    return train, test


def _hits(ids: Any, test: sp.csr_matrix) -> Any:
    """Whether each recommended item is one of the user's test items."""
    rows = np.repeat(np.arange(test.shape[0]), np.diff(test.indptr))
    liked = rows * np.int64(test.shape[1]) + test.indices
    asked = np.arange(len(ids))[:, None] * np.int64(test.shape[1]) + ids
    return np.isin(asked, liked) & (ids >= 0)
