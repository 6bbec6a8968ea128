"""TextClassifier against the pipeline of scikit-learn that it replaces."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import ove

PATTERN = r"[\w\u0300-\u036f]{2,}"


def test_it_is_tfidf_and_logistic_regression(texts):
    settings = dict(objective="softmax", solver="batch", l2=1, penalty_on_bias=False, tolerance=1e-9)
    for ngrams, sublinear_tf in [(1, False), (2, True)]:
        model = ove.TextClassifier(ngrams=ngrams, sublinear_tf=sublinear_tf, **settings).fit(*texts)
        settings_of_terms = dict(min_df=2, ngram_range=(1, ngrams), sublinear_tf=sublinear_tf, token_pattern=PATTERN)
        vectorizer = TfidfVectorizer(**settings_of_terms)
        theirs = make_pipeline(vectorizer, LogisticRegression(tol=1e-9, max_iter=10_000)).fit(*texts)
        np.testing.assert_allclose(model.predict_proba(texts[0]), theirs.predict_proba(texts[0]), atol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [{}, {"solver": "batch"}, {"scores": "trees"}, {"scores": "factored", "rank": 8}, {"hash": 512}, {"idf": False}],
)
def test_it_learns(texts, settings):
    model = ove.TextClassifier(**settings).fit(*texts)
    assert model.score(*texts) > 0.95
    labels, probabilities = model.top_k(["fish and salt", "an owl in the tree"], k=2)
    assert labels[:, 0].tolist() == ["sea", "wood"] and (probabilities[:, 0] > probabilities[:, 1]).all()
    assert model.predict_proba(["fish", "bell"]).shape == (2, 3)


def test_contributions_of_words(texts):
    model = ove.TextClassifier(solver="batch", l2=0.1).fit(*texts)
    found = model.explain("the fish under the tree, unheardof", "sea")
    assert [word for word, _ in found[:2]] in (["fish", "tree"], ["tree", "fish"])
    weights = dict(found)
    assert weights["fish"] > 0 > weights["tree"] and "unheardof" not in weights
    score = model.decision_function(["the fish under the tree, unheardof"])[0, model.classes_.tolist().index("sea")]
    bias = model.intercept_[model.classes_.tolist().index("sea")]
    assert sum(weights.values()) + bias == pytest.approx(score, abs=1e-5)
    with pytest.raises(ValueError, match="`label` must be a class of the model, got 'desert'"):
        model.explain("fish", "desert")
    for scores in ("trees", "factored"):
        assert dict(ove.TextClassifier(scores=scores).fit(*texts).explain("fish tree", "sea"))["fish"] > 0
    assert ove.TextClassifier(hash=64).fit(*texts).explain("fish", "sea")[0][0].startswith("feature ")


def test_several_labels_and_none(texts):
    strings, labels = texts
    lists = [[label, "outdoors"] if label != "town" else [label] for label in labels]
    lists[0] = []
    model = ove.TextClassifier(solver="batch", l2=0.1).fit(strings, lists)
    assert model.classes_.tolist() == ["outdoors", "sea", "town", "wood"] and model.score(strings[1:], lists[1:]) > 0.95


def test_learning_in_parts_keeps_the_vocabulary(texts):
    strings, labels = texts
    model = ove.TextClassifier(schedule=1)
    for _ in range(20):
        model.partial_fit(strings[:120], labels[:120], classes=["sea", "town", "wood"])
        model.partial_fit(strings[120:], labels[120:])
    assert model.score(strings, labels) > 0.95
    warm = ove.TextClassifier(warm_start=True).fit(strings, labels)
    features = warm.coef_.shape[1]
    warm.fit(["fish and lamp", "tree", "bell", "salt"], ["sea", "wood", "town", "sea"])
    assert warm.coef_.shape[1] == features


def test_with_scikit_learn(texts):
    strings, labels = np.array(texts[0], dtype=object), np.array(texts[1])
    assert cross_val_score(ove.TextClassifier(), strings, labels, cv=3).mean() > 0.9
    search = GridSearchCV(ove.TextClassifier(), {"ngrams": [1, 2]}, n_jobs=2, cv=2).fit(strings, labels)
    assert search.best_score_ > 0.9 and clone(search.best_estimator_).ngrams == search.best_params_["ngrams"]
    assert ove.TextClassifier().fit(pd.Series(strings), pd.Series(labels)).score(strings, labels) > 0.9


def test_input_that_is_no_texts(texts):
    strings, labels = texts
    with pytest.raises(ValueError, match="each text in `X` must be a string, got 7 in row 2"):
        ove.TextClassifier().fit([*strings[:2], 7, *strings[3:]], labels)
    with pytest.raises(ValueError, match="got None in row 1"):
        ove.TextClassifier().fit(*texts).predict(["fish", None])
    with pytest.raises(ValueError, match="`X` must be a list of texts, got 'fish'"):
        ove.TextClassifier().fit("fish", ["sea"])
    with pytest.raises(ValueError, match="`X` must have at least 1 text, got 0"):
        ove.TextClassifier().fit([], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ove.TextClassifier().fit(strings, labels[:-1])
    assert ove.TextClassifier().fit(*texts).predict_proba(["nothing known"]).sum() == pytest.approx(1)
