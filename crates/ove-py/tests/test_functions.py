"""Bounds on scores, and the non-parametric case."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar
from scipy.special import log_expit, log_softmax

import ove


@pytest.fixture
def scores():
    random = np.random.default_rng(0)
    return random.normal(size=(20, 6)) * 4, random.integers(0, 6, 20)


def by_formula(f, y, kind, merge=()):
    if kind == "softmax":
        return log_softmax(f)[y]
    if kind == "bouchard":

        def at(alpha):
            return f[y] - alpha + log_expit(alpha - f).sum()

        return -minimize_scalar(lambda alpha: -at(alpha), tol=1e-14).fun
    d = np.delete(f - f[y], y)
    inside = np.delete(np.isin(np.arange(len(f)), merge), y)
    return -np.log1p(np.exp(d[inside]).sum()) + log_expit(-d[~inside]).sum()


@pytest.mark.parametrize(
    ("kind", "merge"), [("softmax", ()), ("one-vs-each", ()), ("merged", (1, 4)), ("merged", ()), ("bouchard", ())]
)
def test_bounds_and_gradients(scores, kind, merge):
    f, y = scores
    bound, gradient = ove.log_softmax_bound(f, y, kind, merge=merge, return_gradient=True)
    np.testing.assert_array_equal(bound, ove.log_softmax_bound(f, y, kind, merge=merge))
    for n in range(len(y)):
        assert bound[n] == pytest.approx(by_formula(f[n], y[n], kind, merge), rel=1e-9)
        slopes = approx_fprime(f[n], lambda row: ove.log_softmax_bound([row], [y[n]], kind, merge=merge)[0], 1e-7)
        np.testing.assert_allclose(gradient[n], slopes, atol=1e-5)
    assert (bound <= ove.log_softmax_bound(f, y, "softmax") + 1e-12).all()


def test_the_dial_of_merging(scores):
    f, y = scores
    np.testing.assert_allclose(ove.log_softmax_bound(f, y, "merged"), ove.log_softmax_bound(f, y))
    everything = ove.log_softmax_bound(f, y, "merged", merge=range(6))
    np.testing.assert_allclose(everything, log_softmax(f, axis=1)[np.arange(20), y])


def test_forms_of_scores(scores):
    f, y = scores
    expected = ove.log_softmax_bound(f, y)
    for form in (np.asfortranarray(f), np.repeat(f, 2, axis=1)[:, ::2], f.tolist()):
        np.testing.assert_array_equal(ove.log_softmax_bound(form, y.astype(np.int8)), expected)
    np.testing.assert_allclose(ove.log_softmax_bound(f.astype(np.float32), y), expected, rtol=1e-5)
    assert ove.log_softmax_bound(np.empty((0, 3)), []).shape == (0,)
    huge = ove.log_softmax_bound([[1e300, -1e300]], [0], return_gradient=True)
    assert np.isfinite(huge[0]).all() and np.isfinite(huge[1]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0, np.nan]], [0]), "`scores` must be finite, got NaN in row 0, column 1"),
        (([[1.0, 2.0]], [2]), "`y` must be from 0 to 1, got 2 in row 0"),
        (([[1.0, 2.0]], [-1]), "`y` must be from 0 to 1, got -1 in row 0"),
        (([[1.0, 2.0]], [0, 1]), "`y` must have one class per row of `scores`, got 2 for 1"),
        (([[1.0]], [0]), "`scores` must have at least 2 columns, got 1"),
        (([1.0, 2.0], [0]), "`scores` must have 2 dimensions, rows and classes, got 1"),
        (([[1.0, 2.0]], [0.5]), "`y` must be a list of class numbers, from 0, got an array of float64"),
        (([[1.0, 2.0]], [0], "hinge"), "`objective` must be one of .*, got `hinge`"),
    ],
)
def test_scores_that_cannot_be(arguments, words):
    with pytest.raises(ValueError, match=words):
        ove.log_softmax_bound(*arguments)


def test_merged_classes_that_cannot_be():
    for merge in ([5], [0, 0]):
        with pytest.raises(ValueError, match="`merge` must have each class from 0 to 1 at most once"):
            ove.log_softmax_bound([[1.0, 2.0]], [0], "merged", merge=merge)


def test_probabilities_are_shares():
    y = np.repeat(["a", "b", "c"], [7, 2, 1])
    for objective in ("one-vs-each", "softmax"):
        for method in (None, "closed-form", "batch"):
            model = ove.CategoricalEstimator(objective, method=method).fit(None, y)
            np.testing.assert_allclose(model.probabilities_, [0.7, 0.2, 0.1], rtol=1e-6)
    assert model.classes_.tolist() == ["a", "b", "c"] and model.counts_.tolist() == [7, 2, 1]
    np.testing.assert_allclose(model.predict_proba(np.empty((2, 9))), [[0.7, 0.2, 0.1]] * 2, rtol=1e-6)
    assert model.predict([[1], [2]]).tolist() == ["a", "a"] and model.score(y, y) == 0.7
    np.testing.assert_allclose(model.predict_log_proba(y[:1]), [np.log([0.7, 0.2, 0.1])], rtol=1e-6)


def test_by_sampling_and_by_bouchard():
    counts = [700, 200, 100]
    sampled = ove.CategoricalEstimator(method="stochastic", negatives=1, epochs=30).fit_counts(counts)
    np.testing.assert_allclose(sampled.probabilities_, [0.7, 0.2, 0.1], atol=0.03)
    two = ove.CategoricalEstimator("bouchard").fit_counts([3, 1])
    np.testing.assert_allclose(two.probabilities_, [0.9, 0.1], rtol=1e-9)
    assert two.method_ == "closed-form"
    three = ove.CategoricalEstimator("bouchard").fit_counts(counts)
    assert three.method_ == "batch" and three.probabilities_[0] > 0.8


def test_counts_that_cannot_be():
    for counts in ([-1, 2], [0.5, 1], [[1]]):
        with pytest.raises(ValueError, match="`counts` must be a list of integers"):
            ove.CategoricalEstimator().fit_counts(counts)
    with pytest.raises(ValueError, match="at least one count must be positive"):
        ove.CategoricalEstimator().fit_counts([0, 0])
    with pytest.raises(ValueError, match="`classes` must have one value per count, 2 in all, got 1"):
        ove.CategoricalEstimator().fit_counts([1, 2], ["a"])
    with pytest.raises(ValueError, match="inconsistent"):
        ove.CategoricalEstimator().fit(np.empty((3, 1)), ["a", "b"])
