"""The core against independent implementations: scikit-learn, SciPy, and the safetensors package."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression


def load(path):
    with safe_open(path, framework="np") as file:
        return file.get_tensor("weights"), file.get_tensor("bias"), file.metadata()


def train(ove_json, rows, tmp_path, *flags):
    model = tmp_path / "model"
    ove_json("train", rows[2], "-o", model, "--solver", "batch", "--tolerance", "1e-9", *flags)
    return model


def test_model_file_reads_with_the_safetensors_package(ove, ove_json, rows, tmp_path):
    x, y, path = rows
    model = train(ove_json, rows, tmp_path, "--l2", "1")
    weights, bias, metadata = load(model)
    assert weights.shape == (40, 5) and bias.shape == (5,) and weights.dtype == np.float32
    card = json.loads(metadata["ove"])
    assert card["classes"] == ["0", "1", "2", "3", "4"] and card["options"]["l2"] == 1.0 and card["trace"]

    lines = ove("predict", model, path, "--top", "5", "--json").splitlines()
    expected = softmax(x @ weights + bias, axis=1)
    for line, probabilities in zip(lines, expected, strict=True):
        prediction = json.loads(line)
        order = [int(label) for label in prediction["labels"]]
        np.testing.assert_allclose(prediction["probabilities"], probabilities[order], rtol=1e-5)
        assert sum(prediction["probabilities"]) == pytest.approx(1)


def test_softmax_is_logistic_regression(ove_json, rows, tmp_path):
    x, y, _ = rows
    model = train(ove_json, rows, tmp_path, "--objective", "softmax", "--l2", "2", "--no-penalty-on-bias")
    weights, bias, _ = load(model)
    reference = LogisticRegression(C=0.5, tol=1e-9, max_iter=10_000).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(softmax(x @ weights + bias, axis=1), reference.predict_proba(x), atol=2e-5)


def test_class_and_row_weights_are_those_of_logistic_regression(ove_json, rows, tmp_path):
    x, y, path = rows
    keep = (y != 0) | (np.arange(len(y)) % 4 == 0)
    x, y = x[keep], y[keep]
    weight = 0.5 + np.arange(len(y)) % 3
    lines = [line for line, kept in zip(path.read_text().splitlines(), keep) if kept]
    weighted = [line.replace(" ", f" weight:{w} ", 1) for line, w in zip(lines, weight)]
    (tmp_path / "few.svm").write_text("\n".join(lines))
    (tmp_path / "weighted.svm").write_text("\n".join(weighted))

    def check(name, flags, class_weight, sample_weight):
        model = train(ove_json, (x, y, tmp_path / name), tmp_path, "--objective", "softmax", "--l2", "2", "--no-penalty-on-bias", *flags)
        weights, bias, _ = load(model)
        reference = LogisticRegression(C=0.5, tol=1e-9, max_iter=10_000, class_weight=class_weight)
        reference.fit(x.astype(np.float64), y, sample_weight=sample_weight)
        np.testing.assert_allclose(softmax(x @ weights + bias, axis=1), reference.predict_proba(x), atol=2e-5)

    check("few.svm", ["--class-weight", "balanced"], "balanced", None)
    check("weighted.svm", [], None, weight)
    (tmp_path / "classes.txt").write_text("2\t3\n0 0.5\n")
    check("few.svm", ["--class-weight", tmp_path / "classes.txt"], {0: 0.5, 1: 1, 2: 3, 3: 1, 4: 1}, None)


def one_vs_each(f, y):
    """Value and gradient in the scores, straight from eq. 15 and 16."""
    own = np.arange(len(y)), y
    d = f - f[own][:, None]
    value = -log_expit(-d)
    value[own] = 0
    slope = expit(d)
    slope[own] = 0
    gradient = slope
    gradient[own] -= slope.sum(axis=1)
    return value.sum(), gradient


def bouchard(f, y):
    """Eq. 12 with α by SciPy's bounded search, row by row."""
    from scipy.optimize import brentq

    alpha = np.array([brentq(lambda a, row=row: expit(row - a).sum() - 1, row.min() - 50, row.max() + 50, xtol=1e-13) for row in f])
    z = f - alpha[:, None]
    own = np.arange(len(y)), y
    gradient = expit(z)
    gradient[own] -= 1
    return (-log_expit(-z)).sum() - z[own].sum(), gradient


@pytest.mark.parametrize("name, objective", [("one-vs-each", one_vs_each), ("bouchard", bouchard)])
def test_bounds_have_the_maximum_that_scipy_finds(ove_json, rows, tmp_path, name, objective):
    x, y, _ = rows
    x = np.hstack([x.toarray().astype(np.float64), np.ones((len(y), 1))])

    def cost(w):
        w = w.reshape(41, 5)
        value, gradient = objective(x @ w, y)
        return value + 0.5 * (w**2).sum(), (x.T @ gradient + w).ravel()

    reference = minimize(cost, np.zeros(41 * 5), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-8, "ftol": 1e-15})
    weights, bias, _ = load(train(ove_json, rows, tmp_path, "--objective", name, "--l2", "1"))
    np.testing.assert_allclose(np.vstack([weights, bias]), reference.x.reshape(41, 5), atol=2e-5)


def test_evaluation_matches_scikit_learn(ove_json, rows, tmp_path):
    x, y, path = rows
    model = train(ove_json, rows, tmp_path, "--l2", "1")
    weights, bias, _ = load(model)
    log_p = log_softmax(x @ weights + bias, axis=1)
    got = ove_json("evaluate", model, path)
    assert got["nlpd"] == pytest.approx(-log_p[np.arange(len(y)), y].mean(), rel=1e-6)
    assert got["error"] == pytest.approx((log_p.argmax(axis=1) != y).mean())
    assert got["bound"] == pytest.approx(-one_vs_each(log_p.astype(np.float64), y)[0], rel=1e-5)
    top3 = np.argsort(-log_p, axis=1)[:, :3]
    assert got["precision_at_3"] == pytest.approx((top3 == y[:, None]).any(axis=1).mean() / 3)


TEXTS = [
    "The quick brown fox, the lazy dog & the café: 12 345 x_y",
    "Straße STRASSE strasse ΟΔΟΣ οδός Σ ΣΑΣ. Σ'ΑΣ",
    "İstanbul ISTANBUL ıstanbul cafe\u0301s cafe naïve naı\u0308ve",
    "quick Quick QUICK fox; a b c 1 22 _ __ x_y ½ ² ⅷⅷ",
    "日本語 テスト 한국어 Москва МОСКВА café CAFÉ",
    "",
    "the the the dog fox's don't e-mail e mail",
    "no\u00a0break wide\u3000space unit\x1fseparator next\x85line a\u2028b x",
]
# scikit-learn's default pattern with combining accents, which here belong to their words, made part of it.
PATTERN = r"[\w\u0300-\u036f]{2,}"


@pytest.mark.parametrize("flags, settings", [
    ([], {}),
    (["--ngrams", "2", "--min-df", "1"], {"ngram_range": (1, 2), "min_df": 1}),
    (["--ngrams", "3", "--min-df", "2", "--sublinear-tf"], {"ngram_range": (1, 3), "sublinear_tf": True}),
    (["--min-df", "1", "--no-idf"], {"min_df": 1, "use_idf": False}),
    (["--ngrams", "0", "--chars", "3-5"], {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    (
        ["--ngrams", "0", "--chars", "1-3", "--min-df", "1", "--sublinear-tf"],
        {"analyzer": "char_wb", "ngram_range": (1, 3), "min_df": 1, "sublinear_tf": True},
    ),
])
def test_texts_become_the_rows_of_scikit_learn(ove, tmp_path, flags, settings):
    (tmp_path / "texts.tsv").write_text("".join(f"{text}\t{n}\n" for n, text in enumerate(TEXTS)))
    ove("convert", tmp_path / "texts.tsv", "-o", tmp_path / "rows.xmc", *flags)
    ove("train", tmp_path / "texts.tsv", "-o", tmp_path / "model", *flags)
    with safe_open(tmp_path / "model", framework="np") as file:
        terms = file.get_tensor("terms").tobytes().decode().splitlines()

    vectorizer = TfidfVectorizer(token_pattern=PATTERN, **{"min_df": 2, **settings})
    expected = vectorizer.fit_transform(TEXTS)
    # N-grams of characters stand in quotation marks.
    plain = [term.strip('"') if "analyzer" in settings else term for term in terms]
    assert sorted(plain) == list(vectorizer.get_feature_names_out())
    frequencies = (expected > 0).sum(axis=0).A1[[vectorizer.vocabulary_[term] for term in plain]]
    assert list(zip(-frequencies, terms)) == sorted(zip(-frequencies, terms))

    lines = (tmp_path / "rows.xmc").read_text().split("\n", 1)
    assert lines[0] == f"{len(TEXTS)} {len(terms)} {len(TEXTS)}"
    (tmp_path / "rows.svm").write_text(lines[1])
    found, labels = load_svmlight_file(tmp_path / "rows.svm", n_features=len(terms), zero_based=True)
    assert list(labels) == list(range(len(TEXTS)))
    columns = [vectorizer.vocabulary_[term] for term in plain]
    np.testing.assert_allclose(found.toarray(), expected[:, columns].toarray(), atol=1e-6)
