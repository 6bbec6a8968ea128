"""scikit-learn's linear classifiers, for one label a row and a few thousand classes at most."""

import pickle
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression, SGDClassifier


def train(clock, options, train, folder):
    warnings.filterwarnings("ignore")  # max_iter is meant to end it
    Path(folder).mkdir(exist_ok=True)
    threads, kind = options.pop("threads"), options.pop("model")
    model = LogisticRegression(**options) if kind == "logistic" else SGDClassifier(n_jobs=threads, random_state=0, **options)
    with clock.phase("read"):
        x, labels = common.read_xmc(train)
        y = np.array([row[0] for row in labels])
    with clock.phase("train"):
        model.fit(x, y)
    with clock.phase("save"), open(f"{folder}/model.pickle", "wb") as file:
        pickle.dump(model, file)


def loaded(folder):
    with open(f"{folder}/model.pickle", "rb") as file:
        return pickle.load(file)


def predict(clock, options, folder, test, out):
    with clock.phase("load"):
        model = loaded(folder)
    with clock.phase("read"):
        x, _ = common.read_xmc(test)
    with clock.phase("predict"):
        answers = [row for start in range(0, x.shape[0], 1000) for row in best(model, x[start : start + 1000])]
    common.write_top(out, answers)


def best(model, x):
    """The best five of each row."""
    scores = model.decision_function(x)
    top = np.argpartition(-scores, common.TOP, axis=1)[:, : common.TOP]
    for row, columns in zip(scores, top):
        yield [(model.classes_[c], row[c]) for c in columns[np.argsort(-row[columns])]]


def score(clock, options, folder, test, out):
    model = loaded(folder)
    x, labels = common.read_xmc(test)
    log_p = log_softmax(model.decision_function(x), axis=1)
    own = np.searchsorted(model.classes_, [row[0] for row in labels])
    common.write_scores(out, log_p[np.arange(len(own)), own])


common.main(package="scikit-learn", train=train, predict=predict, score=score)
