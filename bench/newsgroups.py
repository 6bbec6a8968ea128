"""20 newsgroups, raw counts, λ = 1: `ove` beside scikit-learn's LogisticRegression, in one run.

Both maximise the same penalised likelihood (the intercept is not penalised) and are judged on the test rows by their exact nlpd. Each is
run at several tolerances; its time is that of the loosest tolerance whose nlpd is within 1e-3 of the value at convergence.

    OVE=target/release/ove OVE_DATA=../shared/data python bench/newsgroups.py
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

DATA = Path(os.environ.get("OVE_DATA", "../shared/data")) / "20news"
OVE = os.environ.get("OVE", "target/release/ove")
NEAR = 1e-3


def load(part):
    triples = np.loadtxt(gzip.open(DATA / f"{part}.data.gz"), dtype=np.int64)
    labels = np.loadtxt(gzip.open(DATA / f"{part}.label.gz"), dtype=np.int64)
    counts = triples[:, 2].astype(np.float64)
    return sp.csr_matrix((counts, (triples[:, 0] - 1, triples[:, 1] - 1)), shape=(len(labels), 61188)), labels


def by_ove(tolerance):
    with tempfile.TemporaryDirectory() as folder:
        command = [OVE, "train", DATA / "train.data.gz", "-o", f"{folder}/model", "--valid", DATA / "test.data.gz"]
        flags = "--objective softmax --solver batch --l2 1 --no-penalty-on-bias --json --tolerance"
        done = subprocess.run([*command, *flags.split(), str(tolerance)], capture_output=True, check=True)
    result = json.loads(done.stdout)
    return result["train_seconds"], result["nlpd"], result["error"]


def by_scikit_learn(tolerance, train, test):
    (x, y), (x_test, y_test) = train, test
    model = LogisticRegression(C=1, solver="lbfgs", tol=tolerance, max_iter=10_000)
    start = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - start
    log_p = log_softmax(model.decision_function(x_test), axis=1)
    own = np.searchsorted(model.classes_, y_test)
    return seconds, -log_p[np.arange(len(own)), own].mean(), (log_p.argmax(axis=1) != own).mean()


def main():
    if not DATA.exists():
        sys.exit(f"skipped: {DATA} is not there")
    warnings.filterwarnings("ignore")
    train, test = load("train"), load("test")
    runs = {
        "ove": [(t, *by_ove(t)) for t in (1e-4, 5e-5, 2e-5, 1e-6)],
        f"scikit-learn {sklearn.__version__}": [(t, *by_scikit_learn(t, train, test)) for t in (1e-4, 1e-5)],
    }
    converged = runs["ove"][-1][2]
    times = {}
    print(f"{'':24} {'tolerance':>10} {'seconds':>8} {'nlpd':>8} {'error':>8}")
    for name, results in runs.items():
        for tolerance, seconds, nlpd, error in results:
            reached = abs(nlpd - converged) < NEAR
            if reached and name not in times:
                times[name] = seconds
            print(f"{name:24} {tolerance:10.0e} {seconds:8.2f} {nlpd:8.4f} {error:8.4f} {'*' if reached else ''}")
    print(f"* within {NEAR} of the nlpd at convergence, {converged:.4f}")
    if len(times) == 2:
        ours, theirs = times.values()
        print(f"ove is {theirs / ours:.1f} times as fast at the same nlpd")


main()
