"""Plots, with matplotlib where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ove._targets import targets_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ove._base import Classifier

__all__ = ["history", "reliability"]


def history(model: Classifier, ax: Axes | None = None) -> Axes:
    """How the bound rose while a model was trained.

    Parameters
    ----------
    model : a fitted classifier, not a forest
    ax : matplotlib axes, optional

    Returns
    -------
    the axes
    """
    curve = model.history_
    if len(curve["updates"]) == 0:
        raise ValueError("the model has no history: a forest keeps none")
    ax = ax or _axes()
    ax.plot(curve["updates"], curve["bound"], marker="." if len(curve["updates"]) < 50 else None)
    batch = model.solver == "batch"
    ax.set(title="The bound while training", xlabel="evaluations" if batch else "rows visited", ylabel="bound, summed over rows")
    return ax


def reliability(model: Classifier, X: Any, y: Any, *, bins: int = 15, ax: Axes | None = None) -> Axes:
    """How often the most probable label is right, beside how probable the model says it is.

    Rows are put into bins of equal width by the probability of their best label; a point far below the diagonal is overconfidence. The
    expected calibration error, the mean distance from the diagonal, stands in the title; `ove evaluate` calls it ece.

    Parameters
    ----------
    model : a fitted classifier
    X, y : rows and their labels, as for `score`
    bins : int
    ax : matplotlib axes, optional

    Returns
    -------
    the axes
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}, but it is at least 1")
    labels, probabilities = model.top_k(X, k=1)
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    best = np.array([place[label] for label in labels[:, 0].tolist()])
    right, said = targets_of(y, model.classes_).hits(best), probabilities[:, 0]
    bin_of = np.minimum((said * bins).astype(int), bins - 1)
    rows = np.bincount(bin_of, minlength=bins)
    used = rows > 0
    mean = [np.bincount(bin_of, values, bins)[used] / rows[used] for values in (said, right)]
    error = (rows[used] * np.abs(mean[0] - mean[1])).sum() / len(said)
    ax = ax or _axes()
    ax.bar(np.arange(bins) / bins, rows / rows.max(), 1 / bins, align="edge", color="0.9", label="rows, beside the fullest bin")
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="as it should be")
    ax.plot(mean[0], mean[1], marker="o", label="this model")
    ax.set(title=f"Reliability, ECE {error:.3f}", xlabel="probability of the best label", ylabel="how often it is right")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(loc="best")
    return ax


def _axes() -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("ove.plot needs matplotlib: pip install ove[plot]") from error
    return plt.subplots()[1]
