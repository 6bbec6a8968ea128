"""Keywords of the estimators as the core takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ove._types import Keywords


def keywords_of(params: Mapping[str, Any], classes: npt.NDArray[Any], **instead: Any) -> Keywords:
    """The settings that these parameters of an estimator say for these classes."""
    chosen = {**USUAL, **params, **instead}
    return {
        "objective": chosen["objective"],
        "solver": chosen["solver"],
        "l2": chosen["l2"],
        "penalty_on_bias": bool(chosen["penalty_on_bias"]),
        "merge": chosen["merge"],
        "class_weight": _class_weight(chosen["class_weight"], classes),
        "classes": chosen["classes"],
        "sampler": chosen["sampler"],
        "power": chosen["power"],
        "batch": chosen["batch"],
        "epochs": chosen["epochs"],
        "step": chosen["step"],
        "learning_rate": chosen["learning_rate"],
        "schedule": str(chosen["schedule"]),
        "tolerance": chosen["tolerance"],
        "iterations": chosen["iterations"],
        "trees": chosen["trees"],
        "memory": str(chosen["memory"]),
        "calibrate": bool(chosen["calibrate"]),
        "seed": _seed(chosen["random_state"]),
        "threads": threads_of(chosen["n_jobs"]),
    }


USUAL: Mapping[str, Any] = {
    "objective": None,
    "solver": None,
    "l2": None,
    "penalty_on_bias": True,
    "merge": 10,
    "class_weight": None,
    "classes": None,
    "sampler": None,
    "power": 0.75,
    "batch": 256,
    "epochs": None,
    "step": "adagrad",
    "learning_rate": None,
    "schedule": "linear",
    "tolerance": 1e-5,
    "iterations": 2000,
    "trees": None,
    "memory": "8GB",
    "calibrate": False,
}


def threads_of(n_jobs: int | None) -> int:
    """How many threads; 0 for one a core."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, but it is a number of threads, or -1 or None for one a core")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state is {random_state}, but a seed is not negative")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _class_weight(weight: Any, classes: npt.NDArray[Any]) -> Any:
    if weight is None or isinstance(weight, str):
        return weight
    if not isinstance(weight, Mapping):
        raise ValueError(f"class_weight is {weight!r}, but it is None, 'balanced' or a dictionary from labels to weights")
    # A part of the rows, as in cross-validation, may lack some.
    if weight and not set(classes.tolist()) & set(weight):
        raise ValueError(f"class_weight has the label {next(iter(weight))!r} and others, but no row has any of them")
    return [float(weight.get(label, 1.0)) for label in classes.tolist()]
