"""One classifier of scikit-learn at its usual settings on a folder of `defaults.py`: precision@1 and seconds as JSON."""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

name, folder, ove = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
warnings.filterwarnings("ignore")
texts = [folder / "train.tsv", folder / "test.tsv"]
files = [folder / "train.svm", folder / "test.svm"]
if texts[0].exists() and not files[1].exists():
    numbered = [folder / "train.xmc", folder / "test.xmc"]
    outputs = ["--output", str(numbered[0]), "--test-output", str(numbered[1])]
    subprocess.check_call([ove, "convert", str(texts[0]), "--test", str(texts[1]), *outputs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for xmc, svm in zip(numbered, files):
        # Without the first line, which has the shape.
        subprocess.check_call(f"tail -n +2 {xmc} > {svm}", shell=True)
x, labels, x_test, labels_test = load_svmlight_files([str(file) for file in files], multilabel=True)
for part in (x, x_test):
    # scikit-learn 1.9 refuses the 64-bit indices that its own reader makes.
    part.indices, part.indptr = part.indices.astype(np.int32), part.indptr.astype(np.int32)
several = any(len(row) > 1 for row in labels)
estimator = {"LinearSVC": LinearSVC(), "LogisticRegression": LogisticRegression(), "SGDClassifier": SGDClassifier(random_state=0)}[name]
start = time.perf_counter()
if several:
    names = MultiLabelBinarizer()
    model = OneVsRestClassifier(estimator, n_jobs=2).fit(x, names.fit_transform(labels))
    best = names.classes_[model.decision_function(x_test).argmax(axis=1)]
else:
    model = estimator.fit(x, np.array([row[0] for row in labels]))
    best = model.predict(x_test)
seconds = time.perf_counter() - start
print(json.dumps({"precision": float(np.mean([b in row for b, row in zip(best, labels_test)])), "seconds": seconds}))
