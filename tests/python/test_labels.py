"""Several labels a row against brute force from dense scores: the maximum of training, and every measure of evaluation."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, logsumexp
from test_references import load

CLASSES = 12


def write_libsvm(path, x, labels):
    x = sp.csr_matrix(x)
    with open(path, "w") as file:
        for n, own in enumerate(labels):
            entries = slice(x.indptr[n], x.indptr[n + 1])
            pairs = (f"{d}:{float(v)!r}" for d, v in zip(x.indices[entries], x.data[entries]))
            file.write(" ".join([",".join(map(str, own)), *pairs]) + "\n")


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """Rows with one to four of twelve labels, for training; and for testing, where some have labels 12 and 13 too."""
    random = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("tagged")
    truth = random.normal(size=(30, CLASSES)) * 2

    def make(rows, name, new):
        x = sp.random(rows, 30, density=0.2, random_state=len(name), format="csr", dtype=np.float32)
        x.sort_indices()
        order = np.argsort(-(x @ truth + random.gumbel(size=(rows, CLASSES))), axis=1)
        labels = [list(map(int, order[n, : 1 + n % 4])) for n in range(rows)]
        for n in new:
            labels[n].insert(n % 2, 12 + n % 3 % 2)
        labels[-1] = [13] if new else labels[-1]
        write_libsvm(folder / name, x, labels)
        return x.toarray().astype(np.float64), labels, folder / name

    return make(250, "train.svm", []), make(120, "test.svm", range(0, 120, 7))


def one_vs_each(f, labels, weights):
    """Σ_y c_y Σ_{m ∉ Y} log σ(f_y − f_m) over rows, and its gradient in the scores."""
    value, gradient = 0.0, np.zeros_like(f)
    for n, own in enumerate(labels):
        others = [m for m in range(f.shape[1]) if m not in own]
        for y in own:
            value += weights[y] * log_expit(f[n, y] - f[n, others]).sum()
            slope = weights[y] * expit(f[n, others] - f[n, y])
            gradient[n, others] -= slope
            gradient[n, y] += slope.sum()
    return value, gradient


@pytest.mark.parametrize("balanced", [False, True])
def test_training_has_the_maximum_that_scipy_finds(ove_json, tagged, tmp_path, balanced):
    x, labels, path = tagged[0]
    x = np.hstack([x, np.ones((len(labels), 1))])
    counts = np.bincount(np.concatenate(labels), minlength=CLASSES)
    weights = counts.sum() / (CLASSES * counts) if balanced else np.ones(CLASSES)

    def cost(w):
        w = w.reshape(-1, CLASSES)
        value, gradient = one_vs_each(x @ w, labels, weights)
        return 0.5 * (w**2).sum() - value, (w - x.T @ gradient).ravel()

    reference = minimize(cost, np.zeros(31 * CLASSES), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-15})
    flags = ["--class-weight", "balanced"] if balanced else []
    ove_json("train", path, "-o", tmp_path / "m", "--solver", "batch", "--tolerance", "1e-9", "--l2", "1", *flags)
    found, bias, _ = load(tmp_path / "m")
    np.testing.assert_allclose(np.vstack([found, bias]), reference.x.reshape(31, CLASSES), atol=2e-5)


def by_brute_force(f, labels, counts, rows, logistic):
    """Every measure from its definition; classes beyond the columns of f were never seen.

    With several labels per row, the probability that a class is one of them is a logistic function of its log softmax.
    """
    c = (np.log(rows) - 1) * 2.5**0.55
    inverse = 1 + c * (np.concatenate([counts, [0, 0]]) + 1.5) ** -0.55
    known = [[y for y in own if y < CLASSES] for own in labels]
    order = np.argsort(-f, axis=1, kind="stable")
    hits = [[int(m) in own for m in order[n, :5]] for n, own in enumerate(labels)]
    log_p = log_expit(logistic["intercept"] + logistic["slope"] * log_softmax(f, axis=1))
    discount = 1 / np.log2(np.arange(2, 7))
    best = [np.sort(inverse[own])[::-1] for own in labels]
    reached = [inverse[order[n, :5]] * hits[n] for n in range(len(labels))]
    bound, _ = one_vs_each(f, known, np.ones(CLASSES))
    outside = [[m for m in range(CLASSES) if m not in own] for own in known]
    exact = sum(f[n, y] - logsumexp(f[n, [y, *outside[n]]]) for n, own in enumerate(known) for y in own)
    measures = {
        "error": 1 - np.mean([row[0] for row in hits]),
        "nlpd": -np.mean([log_p[n, y] for n, own in enumerate(known) for y in own]),
        "bound": bound,
        "gap": exact - bound,
        "labels": sum(map(len, known)),
        "unknown_rows": sum(not own for own in known),
    }
    for k in [1, 3, 5]:
        measures[f"precision_at_{k}"] = np.mean([sum(row[:k]) / k for row in hits])
        measures[f"psp_at_{k}"] = sum(row[:k].sum() for row in reached) / sum(row[:k].sum() for row in best)
    for k in [3, 5]:
        gains = [discount[:k][row[:k]].sum() / discount[: min(k, len(own))].sum() for row, own in zip(hits, labels)]
        measures[f"ndcg_at_{k}"] = np.mean(gains)
    return measures


def test_evaluation_matches_brute_force(ove_json, tagged, tmp_path):
    (_, train_labels, train), (x, labels, test) = tagged
    ove_json("train", train, "-o", tmp_path / "m", "--solver", "batch", "--l2", "1")
    weights, bias, metadata = load(tmp_path / "m")
    logistic = json.loads(metadata["ove"])["logistic"]
    # Classes are sorted as numbers, so column k of the weights is class k.
    counts = np.bincount(np.concatenate(train_labels), minlength=CLASSES)
    expected = by_brute_force(x @ weights + bias, labels, counts, len(train_labels), logistic)
    found = ove_json("evaluate", tmp_path / "m", test)
    assert expected["unknown_rows"] > 0 and 0 < expected["error"] < 1
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5), name
