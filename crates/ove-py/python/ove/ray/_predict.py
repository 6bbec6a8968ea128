"""Prediction on a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ove._load import load
from ove._text import TextClassifier


def predict(
    model: str | os.PathLike[str],
    dataset: Any,
    *,
    column: str,
    k: int = 5,
    concurrency: int | tuple[int, int] | None = None,
    **how: Any,
) -> Any:
    """Adds the most probable labels to every row of a dataset of Ray Data.

    Parameters
    ----------
    model : path of a model file, or of the index of its shards
        Every node must see it. It is mapped, so that the workers of a node share its memory.
    dataset : ray.data.Dataset
    column : str
        The column of the texts; for a model of numbers, of the lists of all features.
    k : int
        Number of labels per row.
    concurrency : int or (int, int), optional
        Number of workers, or the least and the most; 1 if not given.
    **how
        Further arguments of `Dataset.map_batches`, such as `batch_size` and `num_cpus`.

    Returns
    -------
    ray.data.Dataset
        The dataset with the columns `labels` and `probabilities`, each with k of them per row, best first.
    """
    path = Path(model).absolute()
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if k < 1:
        raise ValueError(f"`k` must be at least 1, got {k}")
    if column not in dataset.columns():
        raise ValueError(f"`column` must be one of {', '.join(dataset.columns())}, got {column!r}")
    how = {"batch_format": "numpy", "num_cpus": 1, **how}
    arguments = (str(path), column, k)
    return dataset.map_batches(Predictor, fn_constructor_args=arguments, concurrency=concurrency or 1, **how)


class Predictor:
    """A worker that has a model."""

    def __init__(self, path: str, column: str, k: int) -> None:
        self.model: Any = load(path, labels="str", mapped=True)
        self.model.set_params(n_jobs=1)
        self.column, self.k = column, k

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch with labels and probabilities."""
        rows = batch[self.column]
        if isinstance(self.model, TextClassifier):
            rows = [str(text) for text in rows]
        else:
            rows = np.stack([np.asarray(row, dtype=np.float32) for row in rows])
        labels, probabilities = self.model.top_k(rows, k=self.k)
        return {**batch, "labels": labels.astype(str), "probabilities": probabilities}
