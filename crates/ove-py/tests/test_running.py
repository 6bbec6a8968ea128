"""What happens while training runs: signals, other threads, progress, memory."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import ove


STOPPED = {
    "stochastic": {"epochs": 100_000},
    "batch": {"solver": "batch", "tolerance": 1e-300, "iterations": 10**9},
    "factored": {"scores": "factored", "epochs": 100_000},
    "trees": {"scores": "trees", "epochs": 100_000},
}


def endless(kind):
    """A run that would take minutes, and its rows."""
    random = np.random.default_rng(0)
    indices = random.integers(0, 100, (10_000, 20), dtype=np.int32) + 100 * np.arange(20, dtype=np.int32)
    offsets = 20 * np.arange(10_001, dtype=np.int32)
    x = sp.csr_array((random.random(200_000, dtype=np.float32), indices.ravel(), offsets), shape=(10_000, 2000))
    y = random.integers(0, 20, x.shape[0])
    return ove.OneVsEachClassifier(**STOPPED[kind]), x, y


@pytest.fixture
def heeds_ctrl_c():
    """What runs in the background of a script begins with Ctrl-C ignored, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("kind", STOPPED)
def test_ctrl_c_stops_within_half_a_second(kind):
    model, x, y = endless(kind)
    sent = []

    def interrupt():
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert time.monotonic() - sent[0] < 0.5
    assert not hasattr(model, "classes_")


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_stops_the_preparation_of_trees():
    """Of 27,000 classes, for which it takes seconds."""
    random = np.random.default_rng(0)
    count, classes, width = 400_000, 27_000, 10
    indices = random.integers(0, 10_000, (count, width), dtype=np.int32) + 10_000 * np.arange(width, dtype=np.int32)
    offsets = width * np.arange(count + 1, dtype=np.int32)
    values = random.random(count * width, dtype=np.float32)
    x = sp.csr_array((values, indices.ravel(), offsets), shape=(count, 100_000))
    y = random.integers(0, classes, count)
    model, sent = ove.OneVsEachClassifier(scores="trees", epochs=1), []

    def interrupt():
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    original = ove._ove.train

    # The clock runs once scikit-learn has checked the rows.
    def train(*arguments):
        thread.start()
        return original(*arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("ove._ove.train", train)
        model.fit(x, y)
    took = time.monotonic() - sent[0]
    assert took < 1, took


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_rows_that_are_changed_meanwhile_are_an_error(form):
    model, x, y = endless("stochastic")
    model.set_params(epochs=300)
    x = x if form == "sparse" else x.toarray()

    def change():
        time.sleep(0.3)
        if form == "sparse":
            x.indices[:] = 2**30
        else:
            x[:] = np.nan

    thread = threading.Thread(target=change)
    thread.start()
    with pytest.raises(ValueError, match="^`X` was changed by another thread while it was read$"):
        model.fit(x, y)
    thread.join()
    assert not hasattr(model, "classes_")


def test_other_threads_run_meanwhile():
    model, x, y = endless("stochastic")
    model.set_params(epochs=20)
    ticks, going = 0, threading.Event()

    def train():
        model.fit(x, y)
        going.set()

    thread = threading.Thread(target=train)
    started = time.monotonic()
    thread.start()
    while not going.wait(0.005):
        ticks += 1
    assert ticks > (time.monotonic() - started) / 0.005 / 4


def test_two_fits_at_once_do_not_mix(rows):
    x, y = rows
    models = [ove.OneVsEachClassifier(epochs=300, random_state=seed) for seed in (0, 0, 1)]
    threads = [threading.Thread(target=model.fit, args=(x, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert not np.array_equal(models[0].coef_, models[2].coef_)


def test_an_exception_of_the_progress_line_ends_the_run(monkeypatch):
    from contextlib import contextmanager

    @contextmanager
    def broken(verbose, rows):
        def tell(done, bound, run):
            if run:  # the settings are chosen
                raise RuntimeError(f"{done} {bound}")

        yield tell

    monkeypatch.setattr("ove._progress.progress_line", broken)
    model, x, y = endless("stochastic")
    with pytest.raises(RuntimeError, match=r"^\S+ -\d+"):
        model.fit(x, y)


def test_verbose_shows_a_line(capsys):
    pytest.importorskip("tqdm")
    model, x, y = endless("stochastic")
    model.set_params(epochs=20, verbose=1).fit(x, y)
    shown = capsys.readouterr().err
    assert "training" in shown and "100%" in shown and "bound -" in shown and "per row" in shown
    model.set_params(epochs=1, verbose=0).fit(x, y)
    assert capsys.readouterr().err == ""


def test_verbose_without_tqdm_is_silent(rows, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ove.OneVsEachClassifier(verbose=1).fit(*rows)
    assert capsys.readouterr().err == ""


def test_a_run_that_diverges_says_so(rows):
    x, y = rows
    with pytest.raises(FloatingPointError, match="training diverged in epoch 1 at the learning rate 1.*; try"):
        ove.OneVsEachClassifier(step="sgd", learning_rate=1e38, epochs=3).fit(x * np.float32(1e10), y)


GROWTH = """
import sys, numpy as np, scipy.sparse as sp, ove
def status(name):
    line = next(line for line in open("/proc/self/status") if line.startswith(name))
    return int(line.split()[1]) * 1024
rows, entries, features, classes = int(sys.argv[1]), 100, 50_000, 20
random = np.random.default_rng(0)
indices = np.empty((rows, entries), dtype=np.int32)
for part in np.array_split(indices, 50):
    part[:] = random.integers(0, features // entries, part.shape) + np.arange(entries) * (features // entries)
data = random.random(rows * entries, dtype=np.float32)
x = sp.csr_array((data, indices.ravel(), np.arange(rows + 1, dtype=np.int32) * entries), shape=(rows, features))
assert x.has_canonical_format and np.shares_memory(x.data, data)
y = random.integers(0, classes, rows)
ove.OneVsEachClassifier(epochs=1).fit(x[:1000], y[:1000])
size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew from what is held now
before = status("VmRSS")
assert status("VmHWM") < before + 1e7
ove.OneVsEachClassifier(epochs=1, step="sgd").fit(x, y)
print(size, status("VmHWM") - before, features * classes * 4)
"""


def growth(rows):
    """Bytes of the data, by how many the peak grew while fitting, and bytes of the weights."""
    done = subprocess.run([sys.executable, "-c", GROWTH, str(rows)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak of the process")
def test_rows_are_not_copied():
    size, grown, weights = growth(400_000)
    assert size > 300e6
    assert grown < 2 * weights + 0.1 * size, f"{size / 1e6:.0f} MB of rows, {grown / 1e6:.0f} MB more while fitting"


@pytest.mark.parametrize("kind", STOPPED)
def test_a_callback_sees_progress_and_ends_training_with_the_model_so_far(kind):
    model, x, y = endless(kind)
    train = model.fit
    if kind == "trees":  # which are first calibrated with as many epochs, unless they go on
        model.set_params(epochs=1).fit(x[:500], y[:500]).set_params(epochs=100_000)
        train = model.learn
    seen = []

    def enough(progress):
        seen.append(progress)
        return progress.updates == 0

    train(x, y, callback=enough)
    last = seen[-1]
    assert isinstance(last, ove.Progress) and last.stage == "training" and last.updates > 0 and 0 < last.done < 1
    assert (last.bound is None) == (kind == "trees")
    assert set(model.predict(x)) <= set(range(20)) and not json.loads(model._model.card())["finished"]


def test_a_callback_that_raises_leaves_no_model():
    model, x, y = endless("stochastic")

    def broken(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        model.fit(x, y, callback=broken)
    assert not hasattr(model, "classes_")


def test_a_choice_that_is_stopped_leaves_no_model():
    model, x, y = endless("trees")
    model.set_params(scores=None, epochs=None)
    with pytest.raises(RuntimeError, match="stopped before there was a model"):
        model.fit(x, y, callback=lambda progress: progress.stage != "choosing")
    assert not hasattr(model, "classes_")


def test_every_run_is_told_of(rows):
    x, y = rows
    seen = []
    ove.OneVsEachClassifier(scores="linear", epochs=1, learning_rate=0.1).fit(x[:20], y[:20], callback=seen.append)
    assert seen[-1].stage == "training" and seen[-1].done == 1 and seen[-1].epochs == 1 and seen[-1].updates == 20
