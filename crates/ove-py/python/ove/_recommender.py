"""Recommenders, with the methods of the package implicit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ove import _ove
from ove._progress import progress_line
from ove._settings import _seed, as_json, threads_of

Ids = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float32]


class Recommender:
    """Recommends items to users from their interactions: vectors whose cosine, divided by a temperature, is the score.

    The methods are those of the models of implicit, so code for these works with a `Recommender` in their place. Unlike
    theirs, training gives the same bits for any number of threads, and users can be added.

    Parameters
    ----------
    rank : int, default 64
        Length of the vectors of users and items.
    normalize : bool, default True
        Whether scores are cosines; otherwise they are inner products.
    temperature : float, default 0.1
        The number that scores are divided by.
    objective : {"sampled-softmax", "one-vs-each"}, default "sampled-softmax"
        One logarithm per interaction, or one per interaction and negative, as in BPR.
    negatives : int, default 2048
        Number of negatives that the users of a batch share.
    batch : int, default 512
        Number of users per batch.
    epochs : int, optional
        Number of epochs; if not given, chosen on held-out interactions.
    learning_rate : float, default 0.02
        Learning rate of Adam.
    l2 : float, default 0
        λ of the penalty λ/2·‖w‖² per visit of a vector.
    dropout : float, default 0
        The share of the numbers of a user vector that are zero at each visit.
    memory : int or str, default "8GB"
        The memory budget of the vectors.
    random_state : int, RandomState or None, default 0
        The seed; the same seed gives the same bits for any number of threads.
    n_jobs : int, optional
        Number of threads; one per core if not given.

    Attributes
    ----------
    user_factors : array of shape (n_users, rank)
        The vectors of the users, divided by the temperature.
    item_factors : array of shape (n_items, rank)
        The vectors of the items.

    Examples
    --------
    >>> import ove, scipy.sparse as sp
    >>> visits = sp.csr_matrix([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> model = ove.Recommender(rank=4, epochs=50).fit(visits, show_progress=False)
    >>> ids, scores = model.recommend(0, visits[0], N=2)
    >>> len(ids)
    2
    """

    user_factors: npt.NDArray[np.float32]
    item_factors: npt.NDArray[np.float32]
    _model: _ove.Model

    def __init__(
        self,
        rank: int = 64,
        *,
        normalize: bool = True,
        temperature: float = 0.1,
        objective: Literal["sampled-softmax", "one-vs-each"] = "sampled-softmax",
        negatives: int = 2048,
        batch: int = 512,
        epochs: int | None = None,
        learning_rate: float = 0.02,
        l2: float = 0.0,
        dropout: float = 0.0,
        memory: int | str = "8GB",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.rank = rank
        self.normalize = normalize
        self.temperature = temperature
        self.objective = objective
        self.negatives = negatives
        self.batch = batch
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.l2 = l2
        self.dropout = dropout
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        user_items: Any,
        show_progress: bool = True,
        callback: Callable[[int, float, float | None], None] | None = None,
    ) -> Recommender:
        """Trains on a sparse matrix of users × items, whose positive values are the weights of the interactions.

        `callback` is called now and then with the share that is done in percent, the seconds so far, and the objective.
        """
        user_items = _rows(user_items)
        settings = dict(vars(self))
        settings = {name: value for name, value in settings.items() if name in _NAMES}
        settings["seed"] = _seed(self.random_state)
        start = time.monotonic()
        with progress_line(show_progress, max(1, user_items.shape[0])) if show_progress else nullcontext() as line:

            def tell(done: float, bound: float | None) -> None:
                if line is not None:
                    line(done, bound)
                if callback is not None:
                    callback(round(100 * done), time.monotonic() - start, bound)

            self._take(
                _ove.train_recommender(
                    _parts(user_items), user_items.shape[1], as_json(settings), threads_of(self.n_jobs), tell
                )
            )
        return self

    def _take(self, model: _ove.Model) -> None:
        self._model = model
        self.user_factors, self.item_factors = _ove.recommender_vectors(model)

    def recommend(
        self,
        userid: Any,
        user_items: Any = None,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Any = None,
        recalculate_user: bool = False,
        items: Any = None,
    ) -> tuple[Ids, Scores]:
        """The best N items of a user, or of several.

        Parameters
        ----------
        userid : int or array of ints
            The user, or users.
        user_items : sparse matrix, optional
            The items of these users, one row per user. If not given, those of training.
        N : int, default 10
            Number of items.
        filter_already_liked_items : bool, default True
            Whether items of `user_items` are left out.
        filter_items : array of ints, optional
            Items to leave out as well.
        recalculate_user : bool, default False
            Whether the vectors are computed from `user_items`, for users that were not in training.
        items : array of ints, optional
            The items to choose from; all if not given.

        Returns
        -------
        ids, scores : arrays of shape (N,), or (n_users, N) for several users
            Items and scores, best first; −1 where there are no more items.
        """
        if filter_items is not None and items is not None:
            raise ValueError("`items` and `filter_items` must not both be given")
        users = np.atleast_1d(np.asarray(userid))
        if users.ndim != 1 or users.dtype.kind not in "iu":
            raise ValueError(f"`userid` must be an integer or a list of integers, got {userid!r}")
        known = len(self.user_factors)
        if not recalculate_user and len(users) and not (0 <= users.min() and users.max() < known):
            raise IndexError(f"`userid` must be at least 0 and below {known}, got {userid!r}")
        own = self._items_of(users, user_items)
        vectors = _ove.fold_in(self._model, _parts(own)) if recalculate_user else self.user_factors[users]
        count = self.item_factors.shape[0]
        left_out = own if filter_already_liked_items else sp.csr_matrix((len(users), count), dtype=np.float32)
        unwanted = None
        if filter_items is not None:
            unwanted = np.unique(_items(filter_items, count))
        elif items is not None:
            unwanted = np.setdiff1d(np.arange(count), _items(items, count))
        if unwanted is not None and len(unwanted):
            row = sp.csr_matrix((np.ones(len(unwanted), np.float32), ([0] * len(unwanted), unwanted)), (1, count))
            left_out = (left_out + sp.vstack([row] * len(users))).tocsr()
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        ids, scores = _ove.recommender_top(self._model, vectors, _parts(left_out), N, threads_of(self.n_jobs))
        return (ids[0], scores[0]) if np.isscalar(userid) or np.ndim(userid) == 0 else (ids, scores)

    def _items_of(self, users: npt.NDArray[Any], user_items: Any) -> Any:
        if user_items is None:
            offsets, ids, weights = _ove.recommender_seen(self._model)
            shape = (len(offsets) - 1, self.item_factors.shape[0])
            return sp.csr_matrix((weights, ids, offsets), shape)[users]
        own = _rows(user_items)
        if own.shape[0] != len(users):
            raise ValueError(f"`user_items` must have one row per user, {len(users)} in all, got {own.shape[0]}")
        if own.shape[1] != self.item_factors.shape[0]:
            raise ValueError(f"`user_items` must have {self.item_factors.shape[0]} columns, got {own.shape[1]}")
        return own

    def similar_items(
        self, itemid: Any, N: int = 10, filter_items: Any = None, items: Any = None
    ) -> tuple[Ids, Scores]:
        """The N items whose vectors have the largest cosine with that of an item, itself first."""
        return _similar(self.item_factors, itemid, N, filter_items, items)

    def similar_users(
        self, userid: Any, N: int = 10, filter_users: Any = None, users: Any = None
    ) -> tuple[Ids, Scores]:
        """The N users whose vectors have the largest cosine with that of a user, themselves first."""
        return _similar(self.user_factors, userid, N, filter_users, users)

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: Any = None, N: int = 10
    ) -> tuple[float, list[tuple[int, float]], Any]:
        """How much each item of a user speaks for an item.

        Returns the score, the N items that speak most for it with their parts of it, and `user_weights`, which is not
        used. `user_items` is the row of the user, or a matrix with a row for each user.
        """
        own = user_items if user_items is None or user_items.shape[0] == 1 else user_items[userid]
        parts = _parts(self._items_of(np.array([userid]), own))
        reasons = _ove.explain(self._model, parts, int(itemid))
        score = float(_ove.fold_in(self._model, parts)[0] @ self.item_factors[itemid])
        return score, reasons[:N], user_weights

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Computes the vectors of users from their items, with the item vectors as they are; users may be new.

        `save` writes the users of training alone.
        """
        users = np.atleast_1d(np.asarray(userids))
        vectors = _ove.fold_in(self._model, _parts(self._items_of(users, user_items)))
        missing = int(users.max(initial=-1)) + 1 - len(self.user_factors)
        if missing > 0:
            new = np.zeros((missing, self.user_factors.shape[1]), np.float32)
            self.user_factors = np.concatenate([self.user_factors, new])
        self.user_factors[users] = vectors

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command line reads too."""
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recommender:
        """Reads a model file that `save` or `ove train --format interactions` wrote."""
        model = cls()
        model._take(_ove.Model.load(path))
        return model


# The parameters that are settings of the library by the same name.
_NAMES = ("rank", "normalize", "temperature", "objective", "negatives", "batch", "epochs", "learning_rate", "l2", "dropout", "memory")


def _rows(user_items: Any) -> Any:
    """A CSR matrix with sorted items, each once."""
    if not sp.issparse(user_items):
        raise ValueError(f"`user_items` must be a sparse matrix of SciPy, got {type(user_items).__name__}")
    rows = sp.csr_matrix(user_items, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _parts(rows: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)


def _items(items: Any, count: int) -> npt.NDArray[np.int64]:
    items = np.asarray(items, dtype=np.int64)
    if items.size and not (0 <= items.min() and items.max() < count):
        raise IndexError(f"items must be at least 0 and below {count}")
    return items


def _similar(factors: npt.NDArray[np.float32], which: Any, N: int, unwanted: Any, wanted: Any) -> tuple[Ids, Scores]:
    if unwanted is not None and wanted is not None:
        raise ValueError("only one of the two filters must be given")
    ids = _items(np.atleast_1d(which), len(factors))
    units = factors / np.maximum(np.linalg.norm(factors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    scores = units[ids] @ units.T
    if unwanted is not None:
        scores[:, _items(unwanted, len(factors))] = -np.inf
    if wanted is not None:
        scores[:, np.setdiff1d(np.arange(len(factors)), _items(wanted, len(factors)))] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :N].astype(np.int32)
    found = np.take_along_axis(scores, best, 1).astype(np.float32)
    return (best[0], found[0]) if np.ndim(which) == 0 else (best, found)
