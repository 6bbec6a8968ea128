"""Settings: from the parameters of an estimator to the library, and back from a trained model."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ove import _ove

# The parameters that say how texts become rows.
TEXT: tuple[str, ...] = tuple(json.loads(_ove.defaults())["text"])

# The parameters of training that say what is not given of these.
OF_TEXTS: tuple[str, ...] = ("effort", "scores", "views")

# The weight of the name of a label in training.
NAME_WEIGHT: float = json.loads(_ove.defaults())["all"]["name_weight"]


def settings_of(params: Mapping[str, Any], classes: npt.NDArray[Any], **instead: Any) -> str:
    """The settings of training that these parameters give for these classes, as JSON.

    Every parameter is a setting of the library by its own name, except those that scikit-learn names otherwise. None
    stands for a setting that is not given.
    """
    settings = dict(params)
    for name in ("warm_start", "n_jobs", "verbose", "label_names", "name_weight", "vectors", *TEXT):
        settings.pop(name, None)
    settings["negatives"] = _negatives(settings["negatives"], settings.pop("classes"))
    settings["seed"] = _seed(settings.pop("random_state"))
    settings["class_weight"] = _class_weight(settings.get("class_weight"), classes)
    return as_json({**settings, **instead})


def as_json(settings: Mapping[str, Any]) -> str:
    """Settings as JSON; numbers may be NumPy's."""
    for name, value in settings.items():
        if isinstance(value, (float, np.floating)) and not np.isfinite(value):
            raise ValueError(f"`{name}` must be a finite number, got {value}")
    return json.dumps(settings, default=_plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def resolved(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a model's card as one dictionary of settings."""
    scores = dict(options["scores"])
    solver = scores.pop("solver", None) or {"kind": None}
    settings = {**options, "scores": scores.pop("kind"), "solver": solver["kind"], **scores, **solver}
    del settings["kind"]
    if isinstance(settings["class_weight"], dict):
        settings["class_weight"] = settings["class_weight"]["listed"]
    if settings.get("schedule") not in (None, "linear"):
        settings["schedule"] = float(settings["schedule"])
    return settings


def params_of(settings: Mapping[str, Any], classes: npt.NDArray[Any]) -> dict[str, Any]:
    """The parameters of an estimator that give these settings for these classes."""
    # How many cells weights share follows from `memory`, which a file does not keep.
    params = {name: value for name, value in settings.items() if name not in ("seed", "cells", "temperature")}
    # Only texts have views.
    if not params.get("views"):
        params.pop("views", None)
    params["random_state"] = settings["seed"]
    weight = settings["class_weight"]
    if weight == "equal":
        params["class_weight"] = None
    elif isinstance(weight, list):
        params["class_weight"] = dict(zip(classes.tolist(), weight, strict=True))
    return params


def threads_of(n_jobs: int | None) -> int:
    """Number of threads; 0 for one per core."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("`n_jobs` must be a number of threads, or -1 or None for one per core, got 0")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def _negatives(negatives: Any, classes: Any) -> Any:
    """The number of negatives, also under its former name."""
    if classes is None:
        return negatives
    if not isinstance(classes, (int, np.integer)):
        raise ValueError(
            f"`classes` must be left out, got {classes!r}: labels are learned from `y`, and `partial_fit` takes them; "
            "as a number it is the former name of `negatives`"
        )
    if negatives is not None:
        raise ValueError(f"`classes` must be left out beside `negatives`, whose former name it is, got {classes}")
    warnings.warn("`classes` is now called `negatives`", FutureWarning, stacklevel=5)
    return int(classes)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"`random_state` must be at least 0 and below 2**64, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _class_weight(weight: Any, classes: npt.NDArray[Any]) -> Any:
    if weight is None or isinstance(weight, str):
        return weight
    if not isinstance(weight, Mapping):
        raise ValueError(f"`class_weight` must be None, 'balanced' or a dict from labels to weights, got {weight!r}")
    # A part of the rows, as in cross-validation, may lack some.
    if weight and not set(classes.tolist()) & set(weight):
        raise ValueError(f"`class_weight` must have labels that occur, got only others, such as {next(iter(weight))!r}")
    weights = [float(weight.get(label, 1.0)) for label in classes.tolist()]
    if not np.isfinite(weights).all():
        raise ValueError(f"`class_weight` must have finite weights, got {weight!r}")
    return weights
