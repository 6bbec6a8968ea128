"""Models from files."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ove import _ove
from ove._classifier import OneVsEachClassifier
from ove._recommender import Recommender
from ove._settings import TEXT, params_of
from ove._text import TextClassifier
from ove._word_vectors import WordVectors


def load(
    path: str | os.PathLike[str], *, labels: Literal["int", "str"] | None = None, mapped: bool = False
) -> OneVsEachClassifier | TextClassifier | Recommender | WordVectors:
    """Reads a model that `save` or the command line wrote.

    Parameters
    ----------
    path : path of the file, or of the index of its shards
    labels : {"int", "str"}, optional
        The type of the labels. A file holds their names; if not given, names that are all whole numbers become numbers.
    mapped : bool
        Whether classifiers are mapped instead of read: processes that map the same file share its memory. The file is not
        checked as a whole, and must not be changed in place.

    Returns
    -------
    OneVsEachClassifier, TextClassifier, Recommender or WordVectors
        A `TextClassifier` if the model was trained on texts, a `Recommender` if on interactions, `WordVectors` if it is an
        embedding. Its parameters are the settings that the model was trained with.
    """
    model = _ove.Model.map(path) if mapped else _ove.Model.load(path)
    kinds = json.loads(model.card())
    if kinds.get("recommender") is not None:
        return Recommender.load(path)
    if kinds.get("embedding") is not None:
        return WordVectors.load(path)
    estimator: Any = OneVsEachClassifier()
    card = estimator._take(model, np.empty(0))
    classes = _labels(card["classes"], labels)
    if card.get("text") is not None:
        # Whether kinds of terms are kept apart follows from the other settings.
        text = {name: value for name, value in card["text"].items() if name in TEXT}
        estimator = TextClassifier(**{**text, "chars": text["chars"] and tuple(text["chars"])})
    else:
        estimator.n_features_in_ = model.features
        if card["feature_names"]:
            estimator.feature_names_in_ = np.array(card["feature_names"], dtype=object)
    estimator._take(model, classes)
    if card.get("text") is not None and card.get("label_names"):
        named = zip(classes.tolist(), card["label_names"], strict=True)
        estimator.label_names = {label: names for label, names in named if names}
    estimator.set_params(**params_of(estimator.settings_, classes))
    return estimator  # type: ignore[no-any-return]


def _labels(names: list[str], labels: Literal["int", "str"] | None) -> npt.NDArray[Any]:
    if labels not in (None, "int", "str"):
        raise ValueError(f"`labels` must be 'int', 'str' or None, got {labels!r}")
    others = [name for name in names if not re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name)]
    if labels == "int" and others:
        raise ValueError(f"`labels` must be 'str' for a model with the class {others[0]!r}, got 'int'")
    return np.array(names) if labels == "str" or others else np.array([int(name) for name in names])
