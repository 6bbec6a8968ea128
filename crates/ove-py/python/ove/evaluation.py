"""Metrics of recommendations, defined as in the package implicit."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["ranking_metrics_at_k"]


def ranking_metrics_at_k(
    model: Any,
    train_user_items: Any,
    test_user_items: Any,
    K: int = 10,
    show_progress: bool = True,
    num_threads: int = 0,
) -> dict[str, float]:
    """Precision, MAP, NDCG and AUC of the first K recommendations, without the items of training.

    Parameters
    ----------
    model : a `Recommender`, or a model of implicit
    train_user_items : sparse matrix of users × items
        The items of training, which are not recommended.
    test_user_items : sparse matrix of the same shape
        The items that should be recommended. Users without any do not count.
    K : int, default 10
        Length of the lists.
    show_progress, num_threads :
        Taken for compatibility with implicit; not used.

    Returns
    -------
    dict
        `precision`: hits over Σ min(K, test items); `map`: the mean of average precision over min(K, test items);
        `ndcg`: the mean of hits weighted by 1/log₂(rank + 1) over its best possible value; `auc`: the mean area under
        the curve, with the items after the list in random order.
    """
    train, test = sp.csr_matrix(train_user_items), sp.csr_matrix(test_user_items)
    items = test.shape[1]
    users = np.flatnonzero(np.diff(test.indptr))
    discounts = 1 / np.log2(np.arange(2, K + 2))
    best = np.cumsum(discounts)
    hits_in_all = possible_in_all = 0.0
    average, gain, area = 0.0, 0.0, 0.0
    for start in range(0, len(users), 1024):
        chunk = users[start : start + 1024]
        lists, _ = model.recommend(chunk, train[chunk], N=K)
        for user, found in zip(chunk, lists, strict=True):
            likes = set(test.indices[test.indptr[user] : test.indptr[user + 1]].tolist())
            possible = min(K, len(likes))
            hits = np.array([item in likes for item in found.tolist()], dtype=float)
            so_far = np.cumsum(hits)
            hits_in_all += so_far[-1]
            possible_in_all += possible
            average += float((hits * so_far / np.arange(1, len(hits) + 1)).sum() / possible)
            gain += float((hits * discounts[: len(hits)]).sum() / best[possible - 1])
            others = items - len(likes)
            misses = np.cumsum(1 - hits)
            below = float((hits * misses).sum()) + (misses[-1] + others) / 2 * (len(likes) - so_far[-1])
            area += 1 - below / (others * len(likes)) if others else 1.0
    count = max(1, len(users))
    return {
        "precision": hits_in_all / max(1.0, possible_in_all),
        "map": average / count,
        "ndcg": gain / count,
        "auc": area / count,
    }
