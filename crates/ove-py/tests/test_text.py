"""TextClassifier against the pipeline of scikit-learn that it replaces."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

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


def test_transform_is_the_vectorizer(texts):
    strings = [*texts[0], "Straße, naïve cafe\u0301s: x", "ΟΔΟΣ Москва 日本語", ""]
    labels = [*texts[1], "sea", "sea", "wood"]
    for settings, theirs in [
        ({"ngrams": 2}, TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=PATTERN)),
        ({"ngrams": 0, "chars": (3, 5)}, TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2)),
    ]:
        model = ove.TextClassifier(epochs=1, **settings).fit(strings, labels)
        expected, found = theirs.fit_transform(strings), model.transform(strings)
        columns = [theirs.vocabulary_[name.strip('"')] for name in model.get_feature_names_out()]
        assert found.shape == expected.shape and model.n_features_in_ == found.shape[1]
        np.testing.assert_allclose(found.toarray(), expected[:, columns].toarray(), atol=1e-6)
        assert [model.vocabulary_[name] for name in model.get_feature_names_out()] == list(range(found.shape[1]))


def test_words_and_characters_are_one_row_of_unit_length(texts):
    words = TfidfVectorizer(min_df=2, norm=None, token_pattern=PATTERN)
    chars = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=2, norm=None)
    expected = normalize(sp.hstack([words.fit_transform(texts[0]), chars.fit_transform(texts[0])]).tocsr())
    model = ove.TextClassifier(chars=(2, 4), epochs=1).fit(*texts)
    place = {name: column for column, name in enumerate(words.get_feature_names_out())}
    place |= {f'"{name}"': len(place) + column for column, name in enumerate(chars.get_feature_names_out())}
    columns = [place[name] for name in model.get_feature_names_out()]
    np.testing.assert_allclose(model.transform(texts[0]).toarray(), expected[:, columns].toarray(), atol=1e-6)
    assert any(name == '"fish"' for name, _ in model.explain("fish", "sea"))
    assert ove.TextClassifier(ngrams=0, chars=(2, 4)).fit(*texts).score(["fishy boats", "treee"], ["sea", "wood"]) == 1


def test_hashed_terms_have_no_vocabulary(texts):
    model = ove.TextClassifier(hash=64, chars=(3, 3), epochs=1).fit(*texts)
    assert model.get_feature_names_out()[63] == "feature 63" and model.n_features_in_ == 64
    assert not hasattr(model, "vocabulary_") and not hasattr(ove.TextClassifier(), "n_features_in_")


def test_tokens_are_terms_as_they_are(texts):
    tokens = [text.title().split() for text in texts[0]]
    model = ove.TextClassifier(tokens=True, epochs=20).fit(tokens, texts[1])
    assert "Fish" in model.vocabulary_ and "fish" not in model.vocabulary_
    assert model.predict([["Fish", "Salt"], ["Owl"]]).tolist() == ["sea", "wood"]
    assert (model.transform([["Fish", "Salt"]]) != model.transform(["Fish Salt"])).nnz == 0
    vectorizer = TfidfVectorizer(analyzer=list, min_df=2).fit(tokens)
    columns = [vectorizer.vocabulary_[name] for name in model.get_feature_names_out()]
    expected = vectorizer.transform(tokens)[:, columns]
    np.testing.assert_allclose(model.transform(tokens).toarray(), expected.toarray(), atol=1e-6)
    for wrong, words in [
        ([["a b"]], "each token in `X` must be a string without blanks, got 'a b' in row 0"),
        ([["a"], [7]], "each token in `X` must be a string without blanks, got 7 in row 1"),
        ([["a"], 7], "each text in `X` must be a list of tokens, got 7 in row 1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            model.predict(wrong)
    with pytest.raises(ValueError, match="in row 0; for lists of tokens, use `tokens=True`"):
        ove.TextClassifier().fit(tokens, texts[1])


def test_stems(texts, tmp_path):
    model = ove.TextClassifier(stem="english", epochs=20).fit(*texts)
    assert model.predict(["fishes boated", "mossy trees"]).tolist() == ["sea", "wood"]
    model.save(tmp_path / "model")
    again = ove.load(tmp_path / "model")
    assert again.stem == "english" and (again.predict(texts[0]) == model.predict(texts[0])).all()
    with pytest.raises(ValueError, match="`stem` must be one of auto, arabic, danish, .*, got "):
        ove.TextClassifier(stem="klingon").fit(*texts)


def test_names_of_labels_are_learned_and_kept(texts, tmp_path):
    names = {"sea": "ocean blue", "air": ["balloon flight", "sky"]}
    model = ove.TextClassifier(label_names=names, min_df=1, name_weight=2, epochs=60).fit(*texts)
    assert model.classes_.tolist() == ["sea", "town", "wood", "air"]
    assert model.predict(["balloon sky", "ocean"]).tolist() == ["air", "sea"]
    assert model.score(*texts) > 0.95
    model.save(tmp_path / "model")
    again = ove.load(tmp_path / "model")
    assert again.label_names == {"sea": ["ocean blue"], "air": ["balloon flight", "sky"]}
    assert again.label_names_ == model.label_names_ == {"sea": "ocean blue", "air": "balloon flight"}
    shown = ove.TextClassifier(label_names=names, name_weight=0, epochs=1).fit(*texts)
    assert shown.classes_.tolist() == ["sea", "town", "wood"] and shown.label_names_ == {"sea": "ocean blue"}
    for wrong, words in [
        ({"moon": "x"}, "`label_names` must have labels that occur, got only others, such as 'moon'"),
        ({"sea": " "}, "`label_names` must have a name or a list of names for a label, got ' '"),
        ({"sea": "x", 7: "y"}, "`label_names` must have labels of the same type as `y`, got 7"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ove.TextClassifier(label_names=wrong).fit(*texts)


def test_input_that_is_no_texts(texts):
    strings, labels = texts
    with pytest.raises(ValueError, match="each text in `X` must be a string, got 7 in row 2"):
        ove.TextClassifier().fit([*strings[:2], 7, *strings[3:]], labels)
    with pytest.raises(ValueError, match="got None in row 1"):
        ove.TextClassifier().fit(*texts).predict(["fish", None])
    with pytest.raises(ValueError, match="`X` must be a list of texts, got the one text 'fish'"):
        ove.TextClassifier().fit("fish", ["sea"])
    with pytest.raises(ValueError, match="`X` must have at least 1 text, got 0"):
        ove.TextClassifier().fit([], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ove.TextClassifier().fit(strings, labels[:-1])
    assert ove.TextClassifier().fit(*texts).predict_proba(["nothing known"]).sum() == pytest.approx(1)


def test_effort_and_views(texts, tmp_path):
    best = ove.TextClassifier(effort="best", scores="trees", epochs=2).fit(*texts)
    assert best.settings_["effort"] == "best"
    best.save(tmp_path / "best.model")
    again = ove.load(tmp_path / "best.model")
    assert again.effort == "best" and (again.predict(texts[0]) == best.predict(texts[0])).all()
    views = ["words", "chars"]
    model = ove.TextClassifier(views=views, chars=(3, 4), trees=2, epochs=2).fit(*texts)
    assert model.settings_["views"] == views
    model.save(tmp_path / "views.model")
    assert ove.load(tmp_path / "views.model").views == views
    with pytest.raises(ValueError, match="`effort` must be one of fast, default, best, got "):
        ove.TextClassifier(effort="most").fit(*texts)


def test_rows_of_transform_stand_for_texts(texts):
    strings, labels = texts
    model = ove.TextClassifier().fit(strings, labels)
    rows = model.transform([*strings, "xyzzy"])
    assert rows[-1].nnz == 0 and rows[:-1].getnnz(axis=1).min() > 0
    np.testing.assert_array_equal(model.predict_proba(rows[:-1]), model.predict_proba(strings))
    assert model.top_k(rows[:-1], k=1)[0].tolist() == model.top_k(strings, k=1)[0].tolist()
    with pytest.raises(ValueError, match=f"`X` must have {rows.shape[1]} columns, as `transform` gives, got 2"):
        model.predict(rows[:, :2])


@pytest.mark.parametrize("settings", [{}, {"hash": 500}, {"tokens": True}, {"scores": "linear"}])
def test_texts_that_come_one_by_one(texts, tmp_path, settings):
    strings, labels = [*texts[0], "two\tcolumns\nand two lines", "", "nothing at all"], [*texts[1], "sea", "wood", []]
    labels = [[label] if isinstance(label, str) else label for label in labels]
    usual = ove.TextClassifier(**settings).fit(strings, labels)
    streamed = ove.TextClassifier(**settings).fit((text for text in strings), labels, cache=tmp_path / "cache")
    np.testing.assert_array_equal(streamed.predict_proba(strings), usual.predict_proba(strings))
    # The same texts are not read again, others are.
    card = tmp_path / "cache" / "rows" / "card"
    made = card.stat().st_mtime_ns
    ove.TextClassifier(**settings).fit(iter(strings), labels, cache=tmp_path / "cache")
    assert card.stat().st_mtime_ns == made
    ove.TextClassifier(**settings).fit(iter(strings[1:]), labels[1:], cache=tmp_path / "cache")
    assert card.stat().st_mtime_ns > made
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ove.TextClassifier(**settings).fit(iter(strings), labels[:-3], cache=tmp_path / "cache")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["rows", "texts.tsv"]


def test_names_are_learnt_from_a_cache_too(texts, tmp_path):
    names = {"sea": "ocean", "wood": ["forest", "grove"], "hill": "mountain"}
    usual = ove.TextClassifier(label_names=names, min_df=1).fit(*texts)
    streamed = ove.TextClassifier(label_names=names, min_df=1).fit(iter(texts[0]), texts[1], cache=tmp_path)
    np.testing.assert_array_equal(streamed.predict_proba(["ocean", "grove"]), usual.predict_proba(["ocean", "grove"]))


def test_nothing_of_a_stream_that_breaks_is_kept(texts, tmp_path):
    with pytest.raises(ValueError, match="each text in `X` must be a string, got 7 in row 1"):
        ove.TextClassifier().fit(iter(["a text", 7]), ["a", "b"], cache=tmp_path)
    assert list(tmp_path.iterdir()) == []
    fitted = ove.TextClassifier(warm_start=True).fit(*texts)
    with pytest.raises(ValueError, match="`cache` must be left out"):
        fitted.fit(*texts, cache=tmp_path)


@pytest.mark.parametrize("settings", [{}, {"scores": "linear"}, {"hash": 500}, {"scores": "trees", "trees": 2}])
def test_learning_new_words_and_labels(texts, tmp_path, settings):
    ove.TextClassifier(**settings).fit(*texts).save(tmp_path / "model")
    model = ove.load(tmp_path / "model")
    known = model.n_features_in_
    new = ["scree summit ridge", "summit and cairn", "the ridge with scree", "cairn and scree and old ridge", "summit ridge"] * 4
    model.learn([*new, *texts[0][::4]], ["hill"] * 20 + texts[1][::4])
    assert sorted(model.classes_) == ["hill", "sea", "town", "wood"] and model.classes_[-1] == "hill"
    assert model.predict(["a ridge with a cairn"]).tolist() == ["hill"]
    assert model.score(*texts) > 0.9
    assert model.n_features_in_ == known + (0 if "hash" in settings else 4)
    model.save(tmp_path / "more")
    assert ove.load(tmp_path / "more").predict(["a ridge with a cairn"]).tolist() == ["hill"]
