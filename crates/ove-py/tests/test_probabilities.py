"""What probabilities mean: order, thresholds for several labels, the prior of rows without a known word."""

import warnings

import numpy as np
import ove
import pytest


def several(rows, seed=0):
    """Texts with one or two of six subjects; a subject has two words of its own, and all share one."""
    texts, labels = [], []
    for n in range(rows):
        own = [(n * 7 + seed) % 6, (n * 5 + n // 6 + seed) % 6] if n % 3 == 0 else [(n * 7 + seed) % 6]
        labels.append([f"s{k}" for k in dict.fromkeys(own)])
        texts.append(" ".join(f"word{k} name{k}" for k in dict.fromkeys(own)) + " the")
    return texts, labels


KINDS = [{}, {"scores": "linear"}, {"scores": "trees"}, {"rank": 8}]


def f1(found, labels):
    hits = sum(len(set(a) & set(b)) for a, b in zip(found, labels))
    return 2 * hits / (sum(map(len, found)) + sum(map(len, labels)))


@pytest.mark.parametrize("settings", KINDS)
def test_predict_returns_every_label_above_the_threshold(settings):
    model = ove.TextClassifier(**settings).fit(*several(3000))
    texts, labels = several(300, 1)
    proba = model.predict_proba(texts)
    found = model.predict(texts)
    assert isinstance(found, list) and f1(found, labels) > 0.95
    for threshold in (None, 0.05, 0.9):
        cut = model.threshold_ if threshold is None else threshold
        for row, p in zip(model.predict(texts, threshold=threshold), proba):
            assert set(row) == set(model.classes_[p >= cut])
            assert list(row) == [label for label in model.classes_[np.argsort(-p, kind="stable")] if label in set(row)]
    assert abs(proba.sum() / sum(map(len, labels)) - 1) < 0.15
    with pytest.raises(ValueError, match="`threshold` must be between 0 and 1, got 2"):
        model.predict(texts, threshold=2)
    assert [list(row) for row in ove.TextClassifier.predict(model, texts)] == [list(row) for row in found]


def test_a_matrix_of_labels_gives_a_matrix():
    texts, labels = several(3000)
    classes = [f"s{k}" for k in range(6)]
    matrix = np.array([[label in row for label in classes] for row in labels], dtype=np.int64)
    model = ove.TextClassifier().fit(texts, matrix)
    found = model.predict(texts)
    assert found.shape == matrix.shape and found.dtype == matrix.dtype and found.sum(axis=1).max() == 2
    assert (found == matrix).mean() > 0.97
    assert (model.predict(texts, threshold=0.0) == 1).all()


@pytest.mark.parametrize("settings", [*KINDS, {"scores": "trees", "trees": 1}])
def test_the_order_of_classes_is_that_of_their_probabilities(settings):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 120, 6000)
    texts = [f"w{k} w{(k + 1) % 120} v{rng.integers(7)} z{rng.integers(31)} w{rng.integers(120)}" for k in classes]
    model = ove.TextClassifier(**settings).fit(texts, classes)
    assert model.threshold_ is None
    proba = model.predict_proba(texts[:500])
    assert np.allclose(proba.sum(axis=1), 1, atol=1e-4)
    best, probabilities = model.top_k(texts[:500], 5)
    assert (model.predict(texts[:500]) == model.classes_[proba.argmax(axis=1)]).all()
    assert (best[:, 0] == model.predict(texts[:500])).all()
    assert (np.diff(probabilities, axis=1) <= 0).all()
    assert np.allclose(probabilities, np.take_along_axis(proba, np.searchsorted(model.classes_, best), 1), rtol=1e-6)
    assert model.top_k(texts[:9], 500)[0].shape == (9, 120)


@pytest.mark.parametrize("settings", KINDS)
def test_texts_without_a_known_word_get_the_prior_and_a_warning(settings):
    texts, labels = several(3000)
    model = ove.TextClassifier(**settings).fit(texts, [row[0] for row in labels])
    with pytest.warns(UserWarning, match="2 rows have no feature that the model knows") as found:
        proba = model.predict_proba(["xylophone", "word1 name1", "zebra"])
    assert len(found) == 1
    counts = np.unique([row[0] for row in labels], return_counts=True)[1]
    # Linear and factored scores do not count the held-out rows.
    assert np.allclose(proba[[0, 2]], counts / 3000, atol=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(["word1 name1"])


def test_rows_to_tune_on_choose_in_place_of_held_out_rows():
    texts, labels = several(3000)
    first = [row[0] for row in labels]
    other, others = several(900, 3)
    fit = lambda **more: ove.TextClassifier().fit(texts, first, **more)  # noqa: E731
    tuned = fit(tune_on=(other, [row[0] for row in others]))
    assert (tuned.predict(texts) == first).mean() > 0.95
    assert not np.array_equal(tuned.predict_proba(texts[:9]), fit().predict_proba(texts[:9]))
    with pytest.raises(ValueError, match="rows to tune on need linear or factored scores"):
        ove.TextClassifier(trees=2).fit(texts, first, tune_on=(other, [row[0] for row in others]))
