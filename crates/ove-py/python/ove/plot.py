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
    """Plots the bound during training.

    Parameters
    ----------
    model : a fitted classifier with linear or factored scores
    ax : matplotlib axes, optional

    Returns
    -------
    the axes
    """
    curve = model.history_
    if len(curve["updates"]) == 0:
        raise ValueError("the model has no history: trees alone have no bound")
    ax = ax or _axes()
    ax.plot(curve["updates"], curve["bound"], marker="." if len(curve["updates"]) < 50 else None)
    updates = "evaluations" if model.settings_["solver"] == "batch" else "rows visited"
    ax.set(title="The bound during training", xlabel=updates, ylabel="bound, summed over rows")
    return ax


def reliability(model: Classifier, X: Any, y: Any, *, bins: int = 15, ax: Axes | None = None) -> Axes:
    """Plots how often the most probable label is correct against its probability.

    Rows are put into bins of equal width by the probability of their best label; a point far below the diagonal means
    overconfidence. The title gives the expected calibration error, the mean distance from the diagonal, which
    `ove evaluate` calls ece.

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
        raise ValueError(f"`bins` must be at least 1, got {bins}")
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
    shares = rows / rows.max()
    ax.bar(np.arange(bins) / bins, shares, 1 / bins, align="edge", color="0.9", label="rows, relative to the most")
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="calibrated")
    ax.plot(mean[0], mean[1], marker="o", label="this model")
    ax.set(xlabel="probability of the best label", ylabel="share that is correct", xlim=(0, 1), ylim=(0, 1.02))
    ax.set_title(f"Reliability, ECE {error:.3f}")
    ax.legend(loc="best")
    return ax


def _axes() -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("ove.plot needs matplotlib: pip install ove[plot]") from error
    return plt.subplots()[1]
