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
from ove._classifier import Objective, Sampler
from ove._settings import keywords_of


class CategoricalEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Probabilities of values from how often each occurs: the model with no features, only a score for each class.

    The exact likelihood and the one-vs-each bound agree on N_k/N (proposition 2 of the paper); Bouchard's bound exaggerates
    (proposition 3). As a classifier it says the same of every row, which makes it the baseline for those that look at features.

    Parameters
    ----------
    objective : {"one-vs-each", "merged", "softmax", "bouchard"}, optional
        What is maximised. "one-vs-each" if not given.
    method : {"closed-form", "batch", "stochastic"}, optional
        How. By its formula where there is one, else by batch, if not given.
    l2, merge, classes, sampler, power, batch, epochs, step, learning_rate, schedule, tolerance, iterations, random_state, n_jobs :
        As in `OneVsEachClassifier`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The values.
    counts_ : array of shape (n_classes,)
        How often each occurred.
    probabilities_ : array of shape (n_classes,)
        Their probabilities.
    method_ : str
        How these were found.

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
        merge: int = 10,
        classes: int | None = None,
        sampler: Sampler | None = None,
        power: float = 0.75,
        batch: int = 256,
        epochs: int | None = None,
        step: Literal["adagrad", "sgd"] = "adagrad",
        learning_rate: float | None = None,
        schedule: Literal["linear"] | float = "linear",
        tolerance: float = 1e-10,
        iterations: int = 2000,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.objective = objective
        self.method = method
        self.l2 = l2
        self.merge = merge
        self.classes = classes
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

    def fit(self, X: Any, y: Any) -> CategoricalEstimator:
        """Counts the values in y. X may be None: nothing but its length is looked at."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
        if X is not None:
            check_consistent_length(X, y)
        classes, counts = np.unique(y, return_counts=True)
        return self.fit_counts(counts, classes)

    def fit_counts(self, counts: Any, classes: Any = None) -> CategoricalEstimator:
        """Takes counts as they are, of values that are called 0, 1, … if `classes` does not name them."""
        counts = np.asarray(counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 0).any():
            raise ValueError("counts are whole numbers that are not negative, one for each value")
        classes = np.arange(len(counts)) if classes is None else np.asarray(classes)
        if len(classes) != len(counts):
            raise ValueError(f"{len(counts)} counts for {len(classes)} values, but each has one")
        keywords = keywords_of(self.get_params(deep=False), classes, solver="stochastic")
        probabilities, self.method_ = _ove.estimate(counts.tolist(), self.method, keywords)
        self.classes_, self.counts_, self.probabilities_ = classes, counts, np.asarray(probabilities)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probabilities, the same for every row of X."""
        check_is_fitted(self)
        return np.tile(self.probabilities_, (_length(X), 1))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Their logarithms; that of a value that never occurred is −∞."""
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
