"""The non-parametric case."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from ove import _ove
from ove._classifier import Objective, Sampler, Step
from ove._settings import settings_of, threads_of


class CategoricalEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Probabilities of values from how often each occurs: the model without features, with one score per class.

    The exact likelihood and the one-vs-each bound agree on N_k/N (proposition 2 of the paper); Bouchard's bound
    exaggerates (proposition 3). As a classifier it predicts the same for every row, which makes it a baseline.

    Parameters
    ----------
    objective : {"one-vs-each", "merged", "softmax", "bouchard", "sampled-softmax", "normalised"}, default "one-vs-each"
        What is maximised.
    method : {"closed-form", "batch", "stochastic"}, optional
        How. If not given, by the closed form where there is one; else stochastic for "sampled-softmax" and "normalised", and batch.
    tolerance : float, default 1e-10
        Batch: stop when the gradient is this small relative to the first one.
    l2, merge, negatives, sampler, power, batch, epochs, step, learning_rate, schedule, iterations, random_state, n_jobs, \
classes :
        As in `OneVsEachClassifier`, for the methods that use them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The values.
    counts_ : array of shape (n_classes,)
        How often each occurred.
    probabilities_ : array of shape (n_classes,)
        Their probabilities.
    method_ : str
        The method that found them.

    Examples
    --------
    >>> import ove
    >>> model = ove.CategoricalEstimator().fit(None, ["cat", "cat", "dog", "cat"])
    >>> dict(zip(model.classes_.tolist(), model.probabilities_.round(3).tolist()))
    {'cat': 0.75, 'dog': 0.25}
    """

    def __init__(
        self,
        objective: Objective | None = None,
        *,
        method: Literal["closed-form", "batch", "stochastic"] | None = None,
        l2: float | None = None,
        merge: int | None = None,
        negatives: int | None = None,
        sampler: Sampler | None = None,
        power: float | None = None,
        batch: int | None = None,
        epochs: int | None = None,
        step: Step | None = None,
        learning_rate: float | None = None,
        schedule: Literal["linear"] | float | None = None,
        tolerance: float | None = None,
        iterations: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        classes: int | None = None,
    ) -> None:
        self.objective = objective
        self.method = method
        self.l2 = l2
        self.merge = merge
        self.negatives = negatives
        self.sampler = sampler
        self.power = power
        self.batch = batch
        self.epochs = epochs
        self.step = step
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.tolerance = tolerance
        self.iterations = iterations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.classes = classes

    def fit(self, X: Any, y: Any) -> CategoricalEstimator:
        """Counts the values in y. X may be None: only its length is used."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
        if X is not None:
            check_consistent_length(X, y)
        classes, counts = np.unique(y, return_counts=True)
        return self.fit_counts(counts, classes)

    def fit_counts(self, counts: Any, classes: Any = None) -> CategoricalEstimator:
        """Takes the counts of values, which are 0, 1, … if `classes` does not name them."""
        counts = np.asarray(counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 0).any():
            raise ValueError(f"`counts` must be a list of integers that are at least 0, got {counts.tolist()!r}")
        classes = np.arange(len(counts)) if classes is None else np.asarray(classes)
        if len(classes) != len(counts):
            raise ValueError(f"`classes` must have one value per count, {len(counts)} in all, got {len(classes)}")
        params = self.get_params(deep=False)
        settings = settings_of({name: value for name, value in params.items() if name != "method"}, classes)
        probabilities, self.method_ = _ove.estimate(counts.tolist(), self.method, settings, threads_of(self.n_jobs))
        self.classes_, self.counts_, self.probabilities_ = classes, counts, np.asarray(probabilities)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probabilities, the same for every row of X."""
        check_is_fitted(self)
        return np.tile(self.probabilities_, (_length(X), 1))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The log probabilities, the same for every row of X; −∞ for a value that never occurred."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable value, for every row of X."""
        check_is_fitted(self)
        return np.repeat(self.classes_[np.argmax(self.probabilities_)], _length(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        tags.no_validation = True
        return tags


def _length(X: Any) -> int:
    return int(_num_samples(X))
