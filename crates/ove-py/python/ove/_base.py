"""What the classifiers share: everything but how rows are read."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ove import _ove
from ove._progress import progress_line
from ove._settings import keywords_of, threads_of
from ove._targets import Targets, targets_of
from ove._types import Matrix

Floats = npt.NDArray[np.float64]


def _learns_in_parts(estimator: Any) -> bool:
    if estimator.solver not in (None, "stochastic"):
        raise AttributeError(f"solver is {estimator.solver!r}, but only the stochastic one can learn in parts")
    return True


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A softmax model behind the methods of scikit-learn."""

    classes_: npt.NDArray[Any]
    """The labels, in the order of every column."""
    bound_: float | None
    """The objective that training reached, summed over all rows, without the penalty; None for a forest, which has none."""
    history_: dict[str, npt.NDArray[Any]]
    """How the bound rose: arrays `updates` (rows visited, or evaluations of the batch solver) and `bound`."""

    _model: _ove.Model

    # Reading rows

    def _read(self, X: Any, *, fitting: bool) -> tuple[Matrix, int]:
        """The rows of X, and how many."""
        raise NotImplementedError

    def _feature_names(self) -> list[str]:
        return []

    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains on rows X with labels y.

        Parameters
        ----------
        X : rows, as the class says
        y : labels
            One label a row (numbers or strings); a list of labels for each row; or a matrix of 0 and 1 with a column for each
            class, dense or sparse. A row without a label teaches nothing.
        sample_weight : array of shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        earlier = getattr(self, "_model", None) if self.warm_start else None
        targets = targets_of(y, None if earlier is None else self.classes_)
        return self._train(X, targets, sample_weight, earlier)

    @available_if(_learns_in_parts)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Visits each of these rows once, going on from what was learnt; for data that comes in parts. With the stochastic solver only.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array of labels
            All labels that will ever come; needed the first time.

        Returns
        -------
        self
        """
        earlier = getattr(self, "_model", None)
        if earlier is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if earlier is not None and classes is not None and not np.array_equal(np.unique(classes), np.sort(self.classes_)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}")
        targets = targets_of(y, np.unique(classes) if earlier is None else self.classes_)
        before = getattr(self, "history_", None)
        self._train(X, targets, sample_weight, earlier, solver="stochastic", epochs=1)
        if before is not None and len(before["updates"]):
            self.history_["updates"] = np.concatenate([before["updates"], before["updates"][-1] + self.history_["updates"]])
            self.history_["bound"] = np.concatenate([before["bound"], self.history_["bound"]])
        return self

    def _train(self, X: Any, targets: Targets, sample_weight: Any, start: _ove.Model | None, **instead: Any) -> Any:
        if len(targets.unknown):
            raise ValueError(f"y has the label {targets.unknown.tolist()[0]!r}, but the model was begun with other classes")
        if sample_weight is not None:
            every = np.empty((len(targets), 0))
            sample_weight = _check_sample_weight(sample_weight, every, dtype=np.float64, ensure_non_negative=True)
        labelled = targets.labelled()
        if len(labelled) < len(targets):
            check_consistent_length(X, targets.offsets[1:])
            X, targets = _safe_indexing(X, labelled), targets.without_unlabelled()
            sample_weight = None if sample_weight is None else sample_weight[labelled]
        rows, count = self._read(X, fitting=start is None)
        if len(targets) != count:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[count, len(targets)]} (rows, labels)")
        if len(targets.classes) < 2:
            raise ValueError(f"y has {len(targets.classes)} class, but there have to be at least two to tell apart")
        keywords = keywords_of(self.get_params(deep=False), targets.classes, **instead)
        names = [str(label) for label in targets.classes.tolist()]
        with progress_line(self.verbose, count) as progress:
            model = _ove.train(
                rows,
                targets.offsets,
                targets.labels,
                sample_weight,
                names,
                self._feature_names(),
                keywords,
                start,
                progress,
            )
        self._take(model, targets.classes)
        self._form, self._dtype = targets.form, targets.dtype
        return self

    def _take(self, model: _ove.Model, classes: npt.NDArray[Any]) -> dict[str, Any]:
        """Becomes the estimator of a model; what the model knows beside its weights."""
        card: dict[str, Any] = json.loads(model.card())
        self._model, self.classes_ = model, classes
        self.history_ = {
            "updates": np.array([point["updates"] for point in card["trace"]], dtype=np.int64),
            "bound": np.array([point["bound"] for point in card["trace"]], dtype=np.float64),
        }
        self.bound_ = card["trace"][-1]["bound"] if card["trace"] else None
        return card

    # Prediction

    def _rows(self, X: Any) -> tuple[Matrix, int]:
        check_is_fitted(self)
        return self._read(X, fitting=False)[0], threads_of(self.n_jobs)

    def top_k(self, X: Any, k: int = 5) -> tuple[npt.NDArray[Any], Floats]:
        """The k most probable labels of each row, best first, and their probabilities.

        For very many classes this needs far less memory than `predict_proba`, and of a forest far less time.

        Returns
        -------
        labels : array of shape (n_rows, k)
        probabilities : array of shape (n_rows, k)
        """
        if k < 1:
            raise ValueError(f"k is {k}, but it is at least 1")
        rows, threads = self._rows(X)
        best, probabilities = self._model.top(rows, k, threads)
        return self.classes_[best], probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable label of each row; `top_k` has more of them.

        A model that was fitted to a matrix of 0 and 1 gives such a matrix, with a 1 for that label.
        """
        rows, threads = self._rows(X)
        best = self._model.top(rows, 1, threads)[0][:, 0]
        if getattr(self, "_form", None) != "indicator":
            return self.classes_[best]
        matrix = np.zeros((len(best), len(self.classes_)), dtype=self._dtype)
        matrix[np.arange(len(best)), best] = 1
        return matrix

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the probability of every class, a row each: the exact softmax over all classes, whatever was maximised.

        Of a forest whose rows had several labels, that of a class to be one of them.
        """
        rows, threads = self._rows(X)
        return self._model.log_probabilities(rows, threads)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every class, a row each."""
        logs = self.predict_log_proba(X)
        return np.exp(logs, out=logs)

    def decision_function(self, X: Any) -> Floats:
        """The score w·x + b of every class, a row each; of two classes, that of the second less that of the first.

        A forest, which has no scores, gives log probabilities.
        """
        rows, threads = self._rows(X)
        scores = self._model.scores(rows, threads)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable label is right; with several labels a row, is one of them (precision at 1)."""
        rows, threads = self._rows(X)
        targets = targets_of(y, self.classes_)
        best = self._model.top(rows, 1, threads)[0][:, 0]
        if len(targets) != len(best):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(best), len(targets)]} (rows, labels)")
        return float(accuracy_score(np.ones(len(best), dtype=bool), targets.hits(best), sample_weight=sample_weight))

    # What was learnt

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """The weights, a row each class; each look makes a copy. A forest has none."""
        return self._linear("coef_")[0].T

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The biases of all classes. A forest has none."""
        return self._linear("intercept_")[1]

    def _linear(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        linear = self._model.linear() if hasattr(self, "_model") else None
        if linear is None:
            raise AttributeError(f"{type(self).__name__} has no {name}: it is not fitted, is a forest, or its weights share memory")
        return linear

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model, as a file that `ove.load` and the command line read."""
        check_is_fitted(self)
        self._model.save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
