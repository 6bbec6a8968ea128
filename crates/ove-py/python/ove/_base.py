"""What the classifiers share: everything except reading rows."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ove import _ove
from ove._doubts import warn_of_many_classes
from ove._progress import Callback, told
from ove._settings import resolved, settings_of, threads_of
from ove._targets import Examples, Targets, more_targets_of, targets_of
from ove._types import Matrix

Floats = npt.NDArray[np.float64]


def _learns_in_parts(estimator: Any) -> bool:
    if not _are_trees(estimator) and estimator.solver not in (None, "stochastic"):
        raise AttributeError(f"partial_fit needs the stochastic solver or trees, got {estimator.solver!r}")
    return True


def _are_trees(estimator: Any) -> bool:
    trained = getattr(estimator, "settings_", {}).get("scores")
    return "trees" in (estimator.scores, trained) or estimator.trees is not None or estimator.solver == "forest"


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A softmax model behind the methods of scikit-learn."""

    classes_: npt.NDArray[Any]
    """The labels, in the order of the columns of every result."""
    bound_: float | None
    """The objective that training reached, summed over all rows, without the penalty; None for trees alone."""
    history_: dict[str, npt.NDArray[Any]]
    """The bound during training: arrays `updates` (rows visited, or evaluations of the batch solver) and `bound`."""
    label_names_: dict[Any, str]
    """The name of each label that has one."""
    settings_: dict[str, Any]
    """The settings that the model was trained with, including those that were chosen for it."""

    _model: _ove.Model

    # Reading rows

    def _read(self, X: Any, *, fitting: bool, like: Matrix | None = None) -> tuple[Matrix, int]:
        """The rows of X, and their number; texts with the words of the rows `like`, or else of the model."""
        raise NotImplementedError

    def _read_on_disk(self, X: Any, folder: str | os.PathLike[str]) -> tuple[Matrix, int]:
        """The rows of X, which stay in a folder, and their number."""
        raise NotImplementedError

    def _read_more(self, X: Any) -> tuple[Matrix, int]:
        """The rows of X, and their number; texts with the words of the model, followed by their own."""
        return self._read(X, fitting=False)

    def _feature_names(self) -> list[str]:
        return []

    def _word_vectors(self) -> _ove.WordVectors | None:
        """Vectors of words to start from."""
        return None

    def _label_names(self, classes: npt.NDArray[Any]) -> list[list[str]]:
        """The names of each class for people; nothing if there are none."""
        return []

    def _with_label_names(self, examples: Examples) -> Examples:
        """These rows, followed by the names of their classes as rows, if there are names to learn from."""
        return examples

    # Training

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tune_on: tuple[Any, Any] | None = None,
        callback: Callback | None = None,
    ) -> Any:
        """Trains on rows X with labels y.

        Parameters
        ----------
        X : rows, as the class says
        y : labels
            One label per row (numbers or strings); a list of labels for each row; or a matrix of 0 and 1 with one
            column per class, dense or sparse. Rows without a label are left out.
        sample_weight : array of shape (n_rows,), optional
            Weight of each row.
        tune_on : (X, y), optional
            Rows for choosing epochs, learning rate, temperature and threshold, and for early stopping, in place of rows
            that are held out of X; for linear and factored scores. Labels that `y` does not have are left out.
        callback : function, optional
            Called with an `ove.Progress` after steps of training, at most twenty times a second. If it returns False,
            training ends with the model so far; if there is none yet, with a RuntimeError. An exception ends training
            without a model and is passed on.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, tune_on, callback)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        tune_on: tuple[Any, Any] | None,
        callback: Callback | None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Any:
        earlier = getattr(self, "_model", None) if self.warm_start else None
        targets = targets_of(y, None if earlier is None else self.classes_)
        return self._train(Examples(X, targets, sample_weight, cache=cache), earlier, tune_on, callback)

    def learn(self, X: Any, y: Any, sample_weight: Any = None, *, callback: Callback | None = None) -> Any:
        """Trains further on new rows, which may have new labels and, if they are texts, new words.

        As by `ove train --from`: settings are kept, except those that are given; the rows of the model are not needed.
        New labels follow those in `classes_`, and new classes of trees join the leaf that is nearest to their rows.

        Parameters
        ----------
        X, y, sample_weight, callback : as in `fit`

        Returns
        -------
        self
        """
        check_is_fitted(self)
        targets = more_targets_of(y, self.classes_)
        return self._train(Examples(X, targets, sample_weight), self._model, callback=callback, growing=True)

    @available_if(_learns_in_parts)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Trains further on these rows, starting from the current weights; for data that comes in parts.

        Linear and factored scores, with the stochastic solver, visit each row once. Trees are trained for as many epochs as
        before, and change their weights only as far as the new rows need; classes that had no rows so far join the leaf
        that is nearest to their rows.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array of labels
            All labels of all parts; required in the first call.

        Returns
        -------
        self
        """
        earlier = getattr(self, "_model", None)
        if earlier is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        same = earlier is None or classes is None or np.array_equal(np.unique(classes), np.sort(self.classes_))
        if not same:
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        targets = targets_of(y, np.unique(classes) if earlier is None else self.classes_)
        before = getattr(self, "history_", None)
        once: dict[str, Any] = {} if _are_trees(self) else {"solver": "stochastic", "epochs": 1}
        self._train(Examples(X, targets, sample_weight), earlier, **once)
        if before is not None and len(before["updates"]):
            updates = before["updates"][-1] + self.history_["updates"]
            self.history_["updates"] = np.concatenate([before["updates"], updates])
            self.history_["bound"] = np.concatenate([before["bound"], self.history_["bound"]])
        return self

    def _train(
        self,
        examples: Examples,
        start: _ove.Model | None,
        tune_on: tuple[Any, Any] | None = None,
        callback: Callback | None = None,
        growing: bool = False,
        **instead: Any,
    ) -> Any:
        if start is None:
            examples = self._with_label_names(examples)
        X, targets, sample_weight = examples.X, examples.targets, examples.weights
        if len(targets.unknown):
            raise ValueError(f"`y` must have labels that the model knows, got {targets.unknown.tolist()[0]!r}")
        if sample_weight is not None:
            every = np.empty((len(targets), 0))
            sample_weight = _check_sample_weight(sample_weight, every, dtype=np.float64, ensure_non_negative=True)
        labelled = targets.labelled()
        if len(labelled) < len(targets):
            if not hasattr(X, "__len__") and isinstance(X, Iterable):
                X = _labelled(X, targets)
            else:
                check_consistent_length(X, targets.offsets[1:])
                X = _safe_indexing(X, labelled)
            targets = targets.without_unlabelled()
            sample_weight = None if sample_weight is None else sample_weight[labelled]
        if examples.cache is not None:
            rows, count = self._read_on_disk(X, examples.cache)
        elif growing:
            rows, count = self._read_more(X)
        else:
            rows, count = self._read(X, fitting=start is None)
        if len(targets) != count:
            raise ValueError(_inconsistent(count, len(targets)))
        if len(targets.classes) < 2:
            found = "1 class" if len(targets.classes) == 1 else "none"
            raise ValueError(f"`y` must have at least 2 classes, got {found}")
        vectors = self._word_vectors() if start is None else None
        if vectors is not None and self.rank is None and self.scores in (None, "factored"):
            instead["rank"] = vectors.rank()
        settings = settings_of(self.get_params(deep=False), targets.classes, **instead)
        names = [str(label) for label in targets.classes.tolist()]
        if start is None:
            warn_of_many_classes(names, count)
        with told(self.verbose, count, callback) as progress:
            model = _ove.train(
                rows,
                targets.offsets,
                targets.labels,
                sample_weight,
                names,
                self._feature_names(),
                self._label_names(targets.classes),
                examples.name_rows,
                settings,
                threads_of(self.n_jobs),
                start,
                vectors,
                None if tune_on is None else self._rows_to_tune_on(*tune_on, rows, targets.classes),
                progress,
            )
        self._take(model, targets.classes)
        self._form, self._dtype = targets.form, targets.dtype
        return self

    def _rows_to_tune_on(self, X: Any, y: Any, like: Matrix, classes: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
        """Rows with the features of those that are trained on, their label offsets and their labels."""
        targets = targets_of(y, classes)
        rows, count = self._read(X, fitting=False, like=like)
        if len(targets) != count:
            raise ValueError(_inconsistent(count, len(targets)))
        return rows, targets.offsets, targets.labels

    def _take(self, model: _ove.Model, classes: npt.NDArray[Any]) -> dict[str, Any]:
        """Makes this the estimator of a model, and returns the card of the model."""
        card: dict[str, Any] = json.loads(model.card())
        self._model, self.classes_, self.settings_ = model, classes, resolved(card["options"])
        self.settings_["temperature"] = card.get("temperature")
        self.history_ = {
            "updates": np.array([point["updates"] for point in card["trace"]], dtype=np.int64),
            "bound": np.array([point["bound"] for point in card["trace"]], dtype=np.float64),
        }
        named = zip(classes.tolist(), card.get("label_names", []))
        self.label_names_ = {label: names[0] for label, names in named if names}
        self.bound_ = card["trace"][-1]["bound"] if card["trace"] else None
        return card

    # Prediction

    def _rows(self, X: Any) -> tuple[Matrix, int]:
        check_is_fitted(self)
        rows = self._read(X, fitting=False)[0]
        unknown = self._model.unknown_rows(rows)
        if unknown:
            noun = f"{unknown} rows have" if unknown > 1 else "1 row has"
            message = f"{noun} no feature that the model knows; their probabilities are those of the classes in training"
            warnings.warn(message, UserWarning, stacklevel=3)
        return rows, threads_of(self.n_jobs)

    def top_k(self, X: Any, k: int = 5, *, threshold: float | None = None) -> tuple[Any, Any]:
        """The min(k, K) most probable labels of each row, best first, and their probabilities.

        With very many classes this needs far less memory than `predict_proba`, and with trees far less time.

        Parameters
        ----------
        X : rows, as in `fit`
        k : int
        threshold : float, optional
            Only labels with at least this probability; rows then have up to k labels.

        Returns
        -------
        labels : array of shape (n_rows, k); with a threshold, a list with an array for each row
        probabilities : the same
        """
        if k < 1:
            raise ValueError(f"`k` must be at least 1, got {k}")
        _check_threshold(threshold)
        rows, threads = self._rows(X)
        best, probabilities = self._model.top_k(rows, k, threads)
        labels = self.classes_[best]
        if threshold is None:
            return labels, probabilities
        counts = (probabilities >= threshold).sum(axis=1).tolist()
        return [row[:n] for row, n in zip(labels, counts)], [row[:n] for row, n in zip(probabilities, counts)]

    @property
    def threshold_(self) -> float | None:
        """The probability from which on `predict` returns a label, if rows had several labels in training."""
        return self._model.threshold

    def predict(self, X: Any, *, threshold: float | None = None) -> Any:
        """The labels of each row.

        The most probable label of each row, if rows had one label in training. If rows had several, every label whose
        probability reaches a threshold, the most probable first: held-out rows chose the one with the largest micro F1.

        Parameters
        ----------
        X : rows, as in `fit`
        threshold : float, optional
            Another threshold, between 0 and 1.

        Returns
        -------
        array of labels; a list with an array of labels for each row, if rows had several labels or `threshold` is given;
        a matrix of 0 and 1, if the model was fitted to one
        """
        _check_threshold(threshold)
        rows, threads = self._rows(X)
        form = getattr(self, "_form", None)
        offsets, found = self._model.predict(rows, threshold, threads)
        if form == "indicator":
            matrix = np.zeros((len(offsets) - 1, len(self.classes_)), dtype=self._dtype)
            matrix[np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), found] = 1
            return matrix
        labels = self.classes_[found]
        if threshold is None and self._model.threshold is None:
            return labels
        return np.split(labels, offsets[1:-1])

    def predict_log_proba(self, X: Any) -> Floats:
        """The log probability of every class per row: the exact softmax over all classes, for any objective.

        If rows had several labels in training, the log probability that a class is one of the labels.
        """
        rows, threads = self._rows(X)
        return self._model.log_probabilities(rows, threads)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every class per row."""
        logs = self.predict_log_proba(X)
        return np.exp(logs, out=logs)

    def decision_function(self, X: Any) -> Floats:
        """The score of every class per row; with two classes, the score of the second minus that of the first.

        Trees, which have no scores, give log probabilities.
        """
        rows, threads = self._rows(X)
        scores = self._model.scores(rows, threads)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable label is correct; with several labels per row, is one of them."""
        rows, threads = self._rows(X)
        targets = targets_of(y, self.classes_)
        best = self._model.top_k(rows, 1, threads)[0][:, 0]
        if len(targets) != len(best):
            raise ValueError(_inconsistent(len(best), len(targets)))
        return float(accuracy_score(np.ones(len(best), dtype=bool), targets.hits(best), sample_weight=sample_weight))

    # What was learned

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """The weights, one row per class; each access makes a copy. Only for linear scores."""
        return self._linear("coef_")[0].T

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The biases of all classes. Only for linear scores."""
        return self._linear("intercept_")[1]

    def _linear(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        try:
            check_is_fitted(self)
            return self._model.linear()
        except (AttributeError, NotFittedError) as reason:
            raise AttributeError(f"{type(self).__name__} has no {name}: {reason}") from None

    def _contributions(self, X: Any, label: Any) -> list[tuple[int, str | None, float]]:
        """What each feature of a row adds to the score of a label, the largest first: number, name, contribution."""
        rows, _ = self._rows(X)
        places = np.flatnonzero(self.classes_ == label)
        if len(places) == 0:
            raise ValueError(f"`label` must be a class of the model, got {label!r}")
        found = [part for part in self._model.explain(rows, int(places[0])) if part[2] != 0]
        return sorted(found, key=lambda part: (-abs(part[2]), part[1] or "", part[0]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file that `ove.load` and the command line read."""
        check_is_fitted(self)
        self._model.save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _labelled(X: Iterable[Any], targets: Targets) -> Iterator[Any]:
    """The rows that have a label, of rows that come one by one."""
    rows = 0
    for n, x in enumerate(X):
        rows = n + 1
        if rows <= len(targets) and targets.offsets[n] < targets.offsets[rows]:
            yield x
    if rows != len(targets):
        raise ValueError(_inconsistent(rows, len(targets)))


def _check_threshold(threshold: float | None) -> None:
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"`threshold` must be between 0 and 1, got {threshold}")


def _inconsistent(rows: int, labels: int) -> str:
    """The message of scikit-learn, whose checks look for it."""
    return f"Found input variables with inconsistent numbers of samples: {[rows, labels]} (rows, labels)"
