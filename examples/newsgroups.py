"""20 newsgroups, word counts: `OneVsEachClassifier` beside scikit-learn's `LogisticRegression`.

Both are estimators, so everything around them is the same: a table of models, one loop, scikit-learn's own measures. The softmax by batch is
the same model as `LogisticRegression`; the one-vs-each bound needs no normalising constant.

    python examples/newsgroups.py DATA            # the folder with train.data.gz and train.label.gz, test.data.gz and test.label.gz
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

import ove


def numbers(path):
    with gzip.open(path, "rt") as file:
        return np.fromstring(file.read(), dtype=np.int64, sep=" ")


def load(folder, part, features):
    """Lines `document word count`, all from 1, and a label a line."""
    document, word, count = numbers(folder / f"{part}.data.gz").reshape(-1, 3).T
    labels = numbers(folder / f"{part}.label.gz")
    known = word <= features
    entries = count[known].astype(np.float32), (document[known] - 1, word[known] - 1)
    return sp.csr_array(entries, shape=(len(labels), features)), labels


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--features", type=int, default=61188, help="the words with the smallest numbers")
    arguments.add_argument("--rows", type=int, help="every n-th training row, about so many")
    given = arguments.parse_args()
    x, y = load(given.data, "train", given.features)
    x_test, y_test = load(given.data, "test", given.features)
    if given.rows:
        step = max(1, x.shape[0] // given.rows)
        x, y = x[::step], y[::step]

    models = {
        "softmax by batch": ove.OneVsEachClassifier("softmax", solver="batch", l2=1, penalty_on_bias=False, tolerance=5e-5),
        "one-vs-each by batch": ove.OneVsEachClassifier(solver="batch", l2=1, tolerance=5e-5),
        "one-vs-each, stochastic": ove.OneVsEachClassifier(l2=1, epochs=20),
        "LogisticRegression": LogisticRegression(C=1, max_iter=10_000),
    }
    print(f"{x.shape[0]} rows, {x.shape[1]} features, {len(np.unique(y))} classes")
    print(f"{'':24} {'seconds':>8} {'accuracy':>9} {'log loss':>9}")
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(x, y)
        seconds = time.perf_counter() - start
        probabilities = model.predict_proba(x_test)
        accuracy = accuracy_score(y_test, model.classes_[probabilities.argmax(axis=1)])
        print(f"{name:24} {seconds:8.2f} {accuracy:9.4f} {log_loss(y_test, probabilities, labels=model.classes_):9.4f}")


if __name__ == "__main__":
    main()
