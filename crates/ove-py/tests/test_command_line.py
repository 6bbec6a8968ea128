"""The command line and Python make the same model of the same data, byte by byte."""

import os
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import ove

pytestmark = pytest.mark.skipif("OVE" not in os.environ, reason="OVE does not name the program of the command line")

SETTINGS = {
    "stochastic": {},
    "stochastic, with settings": {
        "objective": "merged",
        "sampler": "rivals",
        "epochs": 3,
        "schedule": 0.5,
        "penalty_on_bias": False,
        "class_weight": "balanced",
        "random_state": 7,
    },
    "stochastic, shared memory": {"memory": "2KB", "epochs": 2},
    "batch": {"solver": "batch", "l2": 0.1, "calibrate": True},
    "factored": {"scores": "factored", "rank": 8},
    "trees": {"scores": "trees", "trees": 2},
}

rng = np.random.default_rng(0)


def numbers():
    """Rows as arrays and as the lines of a file."""
    x = sp.random(1200, 40, density=0.2, random_state=0, format="csr", dtype=np.float32)
    x.sort_indices()
    scores = x @ (3 * rng.normal(size=(40, 12))) + rng.gumbel(size=(1200, 12))
    order = np.argsort(-scores, axis=1)
    lines = [" ".join(f"{d}:{float(v)!r}" for d, v in zip(row.indices, row.data)) for row in x]
    return x, lines, order


def sentences():
    words = rng.integers(0, 60, (1200, 4))
    texts = [" ".join(f"word{word}" for word in row) for row in words]
    return texts, words % 12


def one_label():
    x, lines, order = numbers()
    return ove.OneVsEachClassifier, x, order[:, 0], [f"{k} {line}" for k, line in zip(order[:, 0], lines)]


def several_labels():
    x, lines, order = numbers()
    labels = [[f"c{k:02}" for k in row[: 1 + n % 3]] for n, row in enumerate(order)]
    return ove.OneVsEachClassifier, x, labels, [f"{','.join(own)} {line}" for own, line in zip(labels, lines)]


def texts_with_one_label():
    texts, classes = sentences()
    labels = [f"c{k:02}" for k in classes[:, 0]]
    return ove.TextClassifier, texts, labels, [f"{text}\t{label}" for text, label in zip(texts, labels)]


def texts_with_several_labels():
    texts, classes = sentences()
    labels = [[f"c{k:02}" for k in dict.fromkeys(row[:2].tolist())] for row in classes]
    return ove.TextClassifier, texts, labels, [f"{text}\t{' '.join(own)}" for text, own in zip(texts, labels)]


DATA = [one_label, several_labels, texts_with_one_label, texts_with_several_labels]


def flags(settings):
    """Settings as the command line takes them."""
    for name, value in settings.items():
        flag = "--" + {"random_state": "seed"}.get(name, name.replace("_", "-"))
        if name == "penalty_on_bias":
            yield "--no-penalty-on-bias"
        elif value is True:
            yield flag
        else:
            yield from (flag, str(value))


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_model_as_by_the_command_line(data, name, tmp_path):
    estimator, x, y, lines = data()
    file = tmp_path / ("data.tsv" if estimator is ove.TextClassifier else "data.svm")
    file.write_text("".join(f"{line}\n" for line in lines))
    form = ["--format", "tsv"] if file.suffix == ".tsv" else []
    command = [os.environ["OVE"], "train", file, "-o", tmp_path / "theirs", "--no-examples", *form, *flags(SETTINGS[name])]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    estimator(**SETTINGS[name]).fit(x, y).save(tmp_path / "ours")
    ours, theirs = ((tmp_path / name).read_bytes() for name in ("ours", "theirs"))
    if ours != theirs:
        cards = [ove._ove.Model.load(tmp_path / name).card() for name in ("ours", "theirs")]
        assert cards[0] == cards[1]
        pytest.fail("the weights differ")
