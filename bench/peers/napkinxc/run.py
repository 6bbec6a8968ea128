"""napkinXC: a probabilistic label tree for several labels a row, hierarchical softmax for one."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from napkinxc.datasets import load_libsvm_file
from napkinxc.models import HSM, PLT


def model_of(options, folder):
    """The model object; the same options are needed to train and to load it."""
    kind = {"plt": PLT, "hsm": HSM}[options["model"]]
    return kind(folder, seed=0, **{name: value for name, value in options.items() if name != "model"})


def train(clock, options, train, folder):
    shutil.rmtree(folder, ignore_errors=True)
    with clock.phase("read"):
        x, y = load_libsvm_file(train, labels_format="list", sort_indices=True)
        if options["model"] == "hsm":
            y = [row[0] for row in y]
    with clock.phase("train"):  # the model is written while it is trained
        model_of(options, folder).fit(x, y)


def predict(clock, options, folder, test, out):
    model = model_of(options, folder)
    with clock.phase("load"):
        model.load()
    with clock.phase("read"):
        x, _ = load_libsvm_file(test, labels_format="list", sort_indices=True)
    with clock.phase("predict"):
        answers = model.predict_proba(x, top_k=common.TOP)
    common.write_top(out, answers)


def score(clock, options, folder, test, out):
    """Every label's probability, fifty rows at a time: napkinXC has no call for that of one label."""
    model = model_of(options, folder)
    model.load()
    x, y = load_libsvm_file(test, labels_format="list", sort_indices=True)
    log_p = []
    for start in range(0, x.shape[0], 50):
        answers = model.predict_proba(x[start : start + 50], top_k=common.shape_of(test)[2])
        log_p += [common.log(dict(row).get(own[0], 0.0)) for row, own in zip(answers, y[start : start + 50])]
    common.write_scores(out, log_p)


common.main(package="napkinxc", train=train, predict=predict, score=score)
