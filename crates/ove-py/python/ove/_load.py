"""Models from files."""

from __future__ import annotations

import os
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ove import _ove
from ove._classifier import OneVsEachClassifier
from ove._text import TextClassifier


def load(path: str | os.PathLike[str], *, labels: Literal["int", "str"] | None = None) -> OneVsEachClassifier | TextClassifier:
    """Reads a model that `save` or the command line wrote.

    Parameters
    ----------
    path : path of the file
    labels : {"int", "str"}, optional
        What labels become. A file holds their names; if not given, names that are all whole numbers become numbers.

    Returns
    -------
    OneVsEachClassifier or TextClassifier
        The latter if the model was trained on texts. Its parameters are those that the model was trained with.
    """
    model = _ove.Model.load(path)
    estimator: Any = OneVsEachClassifier()
    card = estimator._take(model, np.empty(0))
    classes = _labels(card["classes"], labels)
    if card.get("text") is not None:
        estimator = TextClassifier(**card["text"])
    else:
        estimator.n_features_in_ = model.features
        if card["feature_names"]:
            estimator.feature_names_in_ = np.array(card["feature_names"], dtype=object)
    estimator.set_params(**_params(card["options"], classes))
    estimator._take(model, classes)
    return estimator  # type: ignore[no-any-return]


def _labels(names: list[str], labels: Literal["int", "str"] | None) -> npt.NDArray[Any]:
    if labels not in (None, "int", "str"):
        raise ValueError(f"labels is {labels!r}, but it is 'int', 'str' or None")
    others = [name for name in names if not re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name)]
    if labels == "int" and others:
        raise ValueError(f"labels is 'int', but the model has the class {others[0]!r}")
    return np.array(names) if labels == "str" or others else np.array([int(name) for name in names])


def _params(options: dict[str, Any], classes: npt.NDArray[Any]) -> dict[str, Any]:
    """The parameters of an estimator that the settings of a model say."""
    params = {name: value for name, value in options.items() if name not in ("seed", "cells", "class_weight", "schedule")}
    params["random_state"] = options["seed"]
    if "trees" in options:
        params["solver"] = "forest"
    if isinstance(options.get("schedule"), dict):
        params["schedule"] = options["schedule"]["geometric"]
    weight = options["class_weight"]
    params["class_weight"] = None if weight == "equal" else weight
    if isinstance(weight, dict):
        params["class_weight"] = dict(zip(classes.tolist(), weight["listed"], strict=True))
    return params
