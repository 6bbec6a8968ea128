"""Models as files and pickles, within Python and beside the command line."""

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import ove

CLASSIFIERS = {
    # Not the default: the settings in its file name what was chosen, and fit that without a comparison.
    "stochastic": ove.OneVsEachClassifier(scores="linear"),
    "batch": ove.OneVsEachClassifier(solver="batch", class_weight={2: 3.0}),
    "factored": ove.OneVsEachClassifier(scores="factored", rank=8, schedule=0.5, epochs=8),
    "trees": ove.OneVsEachClassifier(scores="trees", trees=2),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_file_brings_everything_back(rows, tmp_path, name):
    x, y = rows
    model = CLASSIFIERS[name].fit(x, y)
    model.save(tmp_path / "model")
    back = ove.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(back.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(back.predict(x), model.predict(x))
    assert back.classes_.dtype == model.classes_.dtype and back.n_features_in_ == 40
    assert back.bound_ == model.bound_ and back.settings_ == model.settings_
    again = back.fit(x, y)
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_labels_come_back_as_numbers_or_strings(rows, tmp_path):
    x, y = rows
    ove.OneVsEachClassifier().fit(x, [f"{k}" for k in y]).save(tmp_path / "model")
    assert ove.load(tmp_path / "model").classes_.tolist() == [0, 1, 2, 3, 4]
    assert ove.load(tmp_path / "model", labels="str").classes_.tolist() == ["0", "1", "2", "3", "4"]
    ove.OneVsEachClassifier().fit(x, [f"0{k}" for k in y]).save(tmp_path / "model")
    assert ove.load(tmp_path / "model").classes_.tolist() == ["00", "01", "02", "03", "04"]
    with pytest.raises(ValueError, match="the class '00'"):
        ove.load(tmp_path / "model", labels="int")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_pickle_predicts_in_another_process(rows, tmp_path, name):
    x, y = rows
    model = clone(CLASSIFIERS[name]).set_params(class_weight=None).fit(x, np.array([f"class {k}" for k in y]))
    with open(tmp_path / "model.pickle", "wb") as file:
        pickle.dump((model, x), file)
    joblib.dump(model, tmp_path / "model.joblib")
    program = """
import pickle, sys, joblib, numpy as np
model, x = pickle.load(open(sys.argv[1] + "/model.pickle", "rb"))
same = joblib.load(sys.argv[1] + "/model.joblib")
assert (model.predict_proba(x) == same.predict_proba(x)).all()
np.save(sys.argv[1] + "/labels.npy", model.predict(x))
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.predict(x))


def test_errors_of_files(rows, tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        ove.load(tmp_path / "absent")
    assert raised.value.errno == errno.ENOENT and Path(raised.value.filename) == tmp_path / "absent"
    (tmp_path / "noise").write_bytes(b"this is no model, whatever it is" * 9)
    with pytest.raises(ValueError, match="noise: not a usable model"):
        ove.load(tmp_path / "noise")
    model = ove.OneVsEachClassifier().fit(*rows)
    with pytest.raises(OSError) as raised:
        model.save(tmp_path / "no" / "folder")
    assert Path(raised.value.filename) == tmp_path / "no" / "folder"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["noise"]


@pytest.mark.skipif("OVE" not in os.environ, reason="the command line is not there: OVE names it")
def test_the_command_line_uses_the_same_files(rows, texts, tmp_path):
    def run(*arguments, given=None):
        command = [os.environ["OVE"], *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, input=given, check=True).stdout

    x, y = rows
    with open(tmp_path / "rows.svm", "w") as file:
        for n in range(x.shape[0]):
            entries = zip(x[n].indices, x[n].data)
            file.write(" ".join([str(y[n]), *(f"{d}:{float(v)!r}" for d, v in entries)]) + "\n")
    flags = ["--objective", "softmax", "--solver", "batch", "--l2", "1"]
    run("train", tmp_path / "rows.svm", "-o", tmp_path / "theirs", *flags)
    theirs = ove.load(tmp_path / "theirs")
    ours = ove.OneVsEachClassifier("softmax", solver="batch", l2=1).fit(x, y)
    np.testing.assert_array_equal(theirs.classes_, ours.classes_)
    np.testing.assert_allclose(theirs.predict_proba(x), ours.predict_proba(x), atol=1e-3)
    assert theirs.get_params()["l2"] == 1 and theirs.objective == "softmax"

    ove.TextClassifier().fit(*texts).save(tmp_path / "texts")
    line = run("predict", tmp_path / "texts", "-", "--top", 1, given="a boat on the tide\n")
    label, probability = line.strip().split("\t")
    best, probabilities = ove.load(tmp_path / "texts").top_k(["a boat on the tide"], k=1)
    assert label == best[0, 0] == "sea" and float(probability) == pytest.approx(probabilities[0, 0], abs=1e-6)
