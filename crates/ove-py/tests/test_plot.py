"""The plots, read back from matplotlib."""

import sys

import numpy as np
import pytest

import ove

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_history(rows):
    model = ove.OneVsEachClassifier(solver="batch").fit(*rows)
    curve = ove.plot.history(model).lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), model.history_["bound"])
    with pytest.raises(ValueError, match="no history"):
        ove.plot.history(ove.OneVsEachClassifier(scores="trees").fit(*rows))


def test_reliability(rows, texts):
    x, y = rows
    model = ove.OneVsEachClassifier(solver="batch", l2=0.1).fit(x[:200], y[:200])
    figure, axes = matplotlib.pyplot.subplots()
    assert ove.plot.reliability(model, x[200:], y[200:], bins=10, ax=axes) is axes
    said, right = axes.lines[1].get_data()
    probabilities = model.predict_proba(x[200:]).max(axis=1)
    hits = model.predict(x[200:]) == y[200:]
    expected, error = [], 0
    for low in range(10):
        inside = np.minimum((probabilities * 10).astype(int), 9) == low
        if inside.any():
            expected.append((probabilities[inside].mean(), hits[inside].mean()))
            error += inside.mean() * abs(expected[-1][0] - expected[-1][1])
    np.testing.assert_allclose(np.transpose([said, right]), expected)
    assert f"ECE {error:.3f}" in axes.get_title()

    lists = [[label] for label in texts[1]]
    ove.plot.reliability(ove.TextClassifier().fit(texts[0], lists), texts[0], lists)
    with pytest.raises(ValueError, match="`bins` must be at least 1, got 0"):
        ove.plot.reliability(model, x, y, bins=0)
    matplotlib.pyplot.close("all")


def test_without_matplotlib(rows, monkeypatch):
    model = ove.OneVsEachClassifier().fit(*rows)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install ove\[plot\]"):
        ove.plot.history(model)
