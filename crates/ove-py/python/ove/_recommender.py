"""Recommenders."""

from __future__ import annotations

import json
import os
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ove import _ove
from ove._progress import progress_line
from ove._settings import _seed, as_json, threads_of
from ove._types import Interactions

Top: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class Recommender(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Recommends items to users, from who chose what: a vector per user and per item, trained by softmax.

    Methods have the names and arguments of the package implicit, so that code written for its models runs with one line
    changed. Users and items are the rows and columns of a sparse matrix; its values are the weights of interactions.

    Parameters
    ----------
    rank : int, default 64
        Length of the vectors.
    normalize : bool, default True
        Whether scores are cosines; otherwise they are inner products.
    temperature : float, default 0.1
        The number that scores are divided by. Smaller ones look more at the items that are hard to tell apart.
    objective : {"sampled-softmax", "one-vs-each"}, default "sampled-softmax"
        One logarithm per interaction, or, as in BPR, one per interaction and negative.
    negatives : int, default 2048
        Number of items that the users of a batch share as negatives.
    batch : int, optional
        Users per batch. If not given, 512, or fewer for fewer than 25,600 users.
    epochs : int, optional
        Number of epochs. If not given, it is chosen by the recall of a tenth of each user's interactions, which a first
        run holds out.
    learning_rate : float, default 0.02
        Of Adam; it decays to zero.
    l2 : float, default 0.0
        Penalty of a vector each time that it is visited.
    dropout : float, default 0.0
        The share of the numbers of a user vector that are zero at each visit.
    history : float, default 3.0
        Weight of the mean of the vectors of a user's items, which is added to the user's vector.
    co_occurrence : float, default 5.0
        Weight of the scores by which items occur with those of the user, beside the cosines.
    memory : str or int, optional
        How much the vectors may take, such as "4GB"; if not given, half of the machine's memory.
    random_state : int or RandomState, default 0
        The same number gives the same bits, for any number of threads.
    n_jobs : int, optional
        Number of threads; -1 and None stand for one per core.

    Attributes
    ----------
    user_factors : array of shape (n_users, rank)
        The vectors of users. Scores are their inner products with those of items, plus those by co-occurrence.
    item_factors : array of shape (n_items, rank)
        The vectors of items.
    users_, items_ : array of str
        The names of users and items, in the order of their numbers; of a model that `fit` trained, the numbers.
    settings_ : dict
        The settings that the model was trained with, including those that were chosen for it.

    Examples
    --------
    >>> import numpy as np, ove, scipy.sparse as sp
    >>> user_items = sp.csr_matrix(np.kron(np.eye(2), np.ones((4, 3))))     # two groups of users, each with its items
    >>> user_items[0, 2] = 0
    >>> model = ove.Recommender(rank=8, epochs=100).fit(user_items, show_progress=False)
    >>> ids, scores = model.recommend(0, user_items[0], N=1)
    >>> ids.tolist()
    [2]
    """

    users_: npt.NDArray[Any]
    items_: npt.NDArray[Any]
    settings_: dict[str, Any]
    _model: _ove.Recommender

    def __init__(
        self,
        rank: int | None = None,
        *,
        normalize: bool | None = None,
        temperature: float | None = None,
        objective: Literal["sampled-softmax", "one-vs-each"] | None = None,
        negatives: int | None = None,
        batch: int | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        dropout: float | None = None,
        history: float | None = None,
        co_occurrence: float | None = None,
        memory: str | int | None = None,
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
        self.history = history
        self.co_occurrence = co_occurrence
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Training

    def fit(self, user_items: Any, show_progress: bool = True, *, tune_on: Any = None) -> Recommender:
        """Trains on interactions.

        Parameters
        ----------
        user_items : sparse matrix of shape (n_users, n_items)
            The weight of each interaction; what is not stored, or 0, is none.
        show_progress : bool, default True
            Whether to show a bar, if tqdm is installed.
        tune_on : sparse matrix of the same shape, optional
            Interactions that choose the number of epochs, in place of held-out ones; the model is then the best one of
            a single run.

        Returns
        -------
        self
        """
        data = _interactions(user_items, "user_items")
        other = None
        if tune_on is not None:
            other = _interactions(tune_on, "tune_on")
            if other.shape != data.shape:
                raise ValueError(f"`tune_on` must have the shape of `user_items`, {data.shape}, got {other.shape}")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "n_jobs"}
        settings["seed"] = _seed(settings.pop("random_state"))
        with progress_line(show_progress, data.shape[0]) as progress:
            model = _ove.fit_recommender(
                _parts(data), as_json(settings), threads_of(self.n_jobs), None if other is None else _parts(other), progress
            )
        self._take(model)
        return self

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Gives users the vectors that their items imply, without training again; item vectors stay.

        Parameters
        ----------
        userids : array of int
            Users that the model has, or new ones; those between the last one and the largest number get no items.
        user_items : sparse matrix of shape (len(userids), n_items)
            The items of each.
        """
        check_is_fitted(self, "_model")
        users, data = _filled(userids, _rows(userids, user_items, len(self.items_), "user_items"), len(self.users_))
        self._model.set_users(users, _parts(data))
        self._take(self._model)

    def partial_fit_items(self, itemids: Any, item_users: Any) -> None:
        """Gives items the vectors that their users imply, without training again; user vectors stay.

        Parameters
        ----------
        itemids : array of int
            Items that the model has, or new ones.
        item_users : sparse matrix of shape (len(itemids), n_users)
            The users of each.
        """
        check_is_fitted(self, "_model")
        items, data = _filled(itemids, _rows(itemids, item_users, len(self.users_), "item_users"), len(self.items_))
        self._model.set_items(items, _parts(data))
        self._take(self._model)

    # Answers

    def recommend(
        self,
        userid: Any,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Any = None,
        recalculate_user: bool = False,
        items: Any = None,
    ) -> Top:
        """The top items of one user or of many.

        Parameters
        ----------
        userid : int or array of int
        user_items : sparse matrix of shape (n_userids, n_items)
            A row with the items of each of the users; may be None if neither of the next two options is wanted.
        N : int, default 10
            Number of items.
        filter_already_liked_items : bool, default True
            Whether to leave out the items in `user_items`.
        filter_items : array of int, optional
            Other items to leave out.
        recalculate_user : bool, default False
            Whether to take the vector that the items in `user_items` imply, as for a user that the model does not know.
        items : array of int, optional
            The only items to recommend.

        Returns
        -------
        ids, scores : arrays of shape (N,), or of shape (n_userids, N) if `userid` is an array
            Best first. Where there are fewer than N items, the rest is -1 with the score -inf.
        """
        check_is_fitted(self, "_model")
        count = len(self.items_)
        data = sp.csr_matrix((np.size(userid), count), dtype=np.float32)
        if filter_already_liked_items or recalculate_user:
            data = _rows(userid, user_items, count, "user_items")
        if recalculate_user:
            users = np.zeros(np.size(userid), np.int64)
        else:
            users = _numbers(userid, len(self.users_), "userid")
        excluded = data if filter_already_liked_items else sp.csr_matrix(data.shape, dtype=np.float32)
        among = None
        if items is not None:
            if filter_items is not None and np.size(filter_items):
                raise ValueError("`filter_items` must be left out beside `items`")
            among = np.unique(_numbers(items, count, "items"))
            N = min(N, len(among))
        elif filter_items is not None and np.size(filter_items):
            others = np.unique(_numbers(filter_items, count, "filter_items"))
            row = sp.csr_matrix((np.ones(len(others), np.float32), others, [0, len(others)]), shape=(1, count))
            excluded = excluded + sp.vstack([row] * excluded.shape[0], format="csr")
        given = _parts(data) if recalculate_user else None
        found = self._model.top(users.tolist(), given, _parts(excluded), among, _length(N), threads_of(self.n_jobs))
        return _like(userid, found)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Any = None,
        items: Any = None,
    ) -> Top:
        """The items most similar to one item or to each of many, by the cosine of their vectors; itself first.

        Parameters
        ----------
        itemid : int or array of int
        N : int, default 10
        recalculate_item : bool, default False
            Whether to take the vector that the users in `item_users` imply.
        item_users : sparse matrix of shape (n_itemids, n_users), optional
        filter_items : array of int, optional
            Items to leave out.
        items : array of int, optional
            The only items to return.

        Returns
        -------
        ids, scores : as `recommend` gives them
        """
        check_is_fitted(self, "_model")
        if recalculate_item:
            data = _rows(itemid, item_users, len(self.users_), "item_users")
            vectors = self._model.fold_in_items(_parts(data), threads_of(self.n_jobs))
        else:
            vectors = self.item_factors[_numbers(itemid, len(self.items_), "itemid")]
        return self._similar(itemid, vectors, N, filter_items, items, users=False)

    def similar_users(self, userid: Any, N: int = 10, filter_users: Any = None, users: Any = None) -> Top:
        """The users most similar to one user or to each of many, by the cosine of their vectors; the user first.

        Parameters
        ----------
        userid : int or array of int
        N : int, default 10
        filter_users : array of int, optional
            Users to leave out.
        users : array of int, optional
            The only users to return.

        Returns
        -------
        ids, scores : as `recommend` gives them
        """
        check_is_fitted(self, "_model")
        vectors = self.user_factors[_numbers(userid, len(self.users_), "userid")]
        return self._similar(userid, vectors, N, filter_users, users, users=True)

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: Any = None, N: int = 10
    ) -> tuple[float, list[tuple[int, float]], npt.NDArray[np.float32]]:
        """Which of a user's items speak for an item.

        The vector that the items of the user imply is a sum over these items, and negatives; so the score of an item is
        a sum too, of which each of the user's items has a part.

        Parameters
        ----------
        userid : int
            Not used; as in implicit, the items decide.
        user_items : sparse matrix with the items of the user as its only row, or of shape (n_users, n_items)
        itemid : int
            The item to explain.
        user_weights : array, optional
            What another explanation of the same user returned; saves most of the time.
        N : int, default 10
            Number of items to return.

        Returns
        -------
        score : float
            The score of the item.
        contributions : list of (item, part of the score), largest first
        user_weights : array
            For further explanations of the same user.
        """
        check_is_fitted(self, "_model")
        row = user_items if user_items.shape[0] == 1 else sp.csr_matrix(user_items)[userid]
        data = _rows(0, row, len(self.items_), "user_items")
        (item,) = _numbers(itemid, len(self.items_), "itemid")
        score, parts, weights = self._model.explain(_parts(data), user_weights, int(item))
        return score, parts[: _length(N)], weights

    def recalculate_user(self, userid: Any, user_items: Any) -> npt.NDArray[np.float32]:
        """The vector of each user that the items in `user_items`, one row per user, imply."""
        check_is_fitted(self, "_model")
        data = _rows(userid, user_items, len(self.items_), "user_items")
        vectors = self._model.fold_in(_parts(data), threads_of(self.n_jobs))
        return vectors[0] if np.ndim(userid) == 0 else vectors

    def recalculate_item(self, itemid: Any, item_users: Any) -> npt.NDArray[np.float32]:
        """The vector of each item that the users in `item_users`, one row per item, imply."""
        check_is_fitted(self, "_model")
        data = _rows(itemid, item_users, len(self.users_), "item_users")
        vectors = self._model.fold_in_items(_parts(data), threads_of(self.n_jobs))
        return vectors[0] if np.ndim(itemid) == 0 else vectors

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which the command line also reads."""
        check_is_fitted(self, "_model")
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recommender:
        """Reads a model that `save` or `ove train --format interactions` wrote."""
        recommender = cls()
        recommender._take(_ove.Recommender.load(path))
        settings = dict(recommender.settings_)
        settings["random_state"] = settings.pop("seed")
        recommender.set_params(**settings)
        return recommender

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._take(state["_model"])

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the model is not written twice.
        derived = ("user_factors", "item_factors", "users_", "items_", "settings_")
        return {name: value for name, value in super().__getstate__().items() if name not in derived}

    def _take(self, model: _ove.Recommender) -> None:
        card = json.loads(model.card())
        self._model = model
        self.user_factors, self.item_factors = model.factors()
        self.users_ = np.array(card["feature_names"], dtype=object)
        self.items_ = np.array(card["classes"], dtype=object)
        self.settings_ = card["recommender"]["options"]

    def _similar(self, numbers: Any, vectors: Any, N: int, without: Any, among: Any, *, users: bool) -> Top:
        count = len(self.users_ if users else self.items_)
        names = ("filter_users", "users") if users else ("filter_items", "items")
        without = np.empty(0, np.int64) if without is None else _numbers(without, count, names[0])
        N, wanted = _length(N), min(_length(N) + len(without), count)
        if among is not None:
            if len(without):
                raise ValueError(f"`{names[0]}` must be left out beside `{names[1]}`")
            without = np.setdiff1d(np.arange(count), _numbers(among, count, names[1]))
            N, wanted = min(N, count - len(without)), count
        ids, scores = self._model.similar(users, np.ascontiguousarray(vectors), max(wanted, N))
        # The ones to keep, in their order, then the others.
        order = np.argsort(np.isin(ids, without), axis=1, kind="stable")[:, :N]
        ids, scores = np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)
        scores[np.isin(ids, without)] = -np.inf
        ids[np.isneginf(scores)] = -1
        return _like(numbers, (ids, scores))


def _interactions(matrix: Any, name: str) -> sp.csr_matrix:
    """A copy as CSR, with the interactions of a pair added up and none that is 0."""
    if not sp.issparse(matrix):
        raise ValueError(f"`{name}` must be a sparse matrix of SciPy, got {type(matrix).__name__}")
    data = sp.csr_matrix(matrix, dtype=np.float32, copy=True)
    data.sum_duplicates()
    data.eliminate_zeros()
    wrong = data.data[~(np.isfinite(data.data) & (data.data > 0))]
    if len(wrong):
        raise ValueError(f"`{name}` must have weights that are finite and above 0, got {wrong[0]}")
    return data


def _rows(numbers: Any, matrix: Any, columns: int, name: str) -> sp.csr_matrix:
    """A row for each of the numbers; columns that have come since have none."""
    data = _interactions(matrix, name)
    if data.shape[1] < columns:
        data.resize((data.shape[0], columns))
    if data.shape != (np.size(numbers), columns):
        raise ValueError(f"`{name}` must have the shape {(np.size(numbers), columns)}, got {data.shape}")
    return data


def _parts(data: sp.csr_matrix) -> Interactions:
    return data.indptr.astype(np.int64), data.indices.astype(np.int32), data.data, data.shape[1]


def _numbers(numbers: Any, count: int, name: str) -> npt.NDArray[np.int64]:
    found = np.atleast_1d(np.asarray(numbers))
    if found.dtype.kind not in "iu":
        raise ValueError(f"`{name}` must be an integer or an array of integers, got {numbers!r}")
    outside = found[(found < 0) | (found >= count)]
    if len(outside):
        raise IndexError(f"`{name}` must be from 0 to {count - 1}, got {outside[0]}")
    return found.astype(np.int64)


def _filled(numbers: Any, data: sp.csr_matrix, count: int) -> tuple[list[int], sp.csr_matrix]:
    """Numbers in increasing order, with those between the last of the model and the largest, and their rows."""
    found = _numbers(numbers, 2**31 - 1, "numbers")
    if len(np.unique(found)) < len(found):
        raise ValueError("numbers must be distinct")
    missing = np.setdiff1d(np.arange(count, found.max(initial=0)), found)
    every = np.concatenate([found, missing])
    rows = sp.vstack([data, sp.csr_matrix((len(missing), data.shape[1]), dtype=np.float32)], format="csr")
    order = np.argsort(every)
    return every[order].tolist(), rows[order]


def _length(number: Any) -> int:
    if not isinstance(number, (int, np.integer)) or number < 0:
        raise ValueError(f"`N` must be an integer of at least 0, got {number!r}")
    return int(number)


def _like(numbers: Any, found: Top) -> Top:
    return (found[0][0], found[1][0]) if np.ndim(numbers) == 0 else found
