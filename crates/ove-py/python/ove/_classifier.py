"""The classifier of rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ove._base import Classifier
from ove._rows import rows_of
from ove._types import Matrix

Objective = Literal["one-vs-each", "merged", "softmax", "bouchard"]
Solver = Literal["stochastic", "batch", "forest"]
Sampler = Literal["uniform", "frequency", "rivals"]


class OneVsEachClassifier(Classifier):
    """A softmax model for rows of numbers, sparse or dense.

    The keywords are those of the command line, and so are their defaults. `None` leaves a choice to the data or the solver.

    Parameters
    ----------
    objective : {"one-vs-each", "merged", "softmax", "bouchard"}, optional
        What is maximised: the bound of the paper, a tighter one, the exact log probability, or Bouchard's bound.
    solver : {"stochastic", "batch", "forest"}, optional
        Subsampled rows and classes, L-BFGS on the full sum, or trees over the classes. If not given: a forest from 100 classes on,
        unless an objective, classes or a sampler are given; else stochastic.
    classes : int, optional
        Stochastic: how many remaining classes a row visits. 5 if not given.
    sampler : {"uniform", "frequency", "rivals"}, optional
        Stochastic: how they are drawn: all alike, the frequent ones more often, or those of rows that share a feature.
    epochs : int, optional
        Stochastic and forest: how often each row is visited. If not given, as often as rows that are held out gain by it: the stochastic
        solver stops when they no longer do, and a forest tries some of its leaves first.
    learning_rate : float, optional
        Stochastic and forest: the step for one row and one visited class. If not given: 0.1, of a forest 0.7, or less
        where that diverges; where epochs are not given either, the rate that held-out rows prefer.
    l2 : float, optional
        λ of the penalty λ/2·‖w‖² on the sum over all rows (of a forest, on those of a node). 0 if not given, of a forest 0.2. It is
        1/C of scikit-learn's `LogisticRegression`.
    penalty_on_bias : bool
        Whether the bias is penalised like a weight. In scikit-learn it is not.
    merge : int
        Merged objective: how many of the most frequent classes share one logarithm; with the rivals sampler, the drawn ones do instead.
    power : float
        Frequency sampler: the power of a class's count.
    batch : int
        Stochastic: how many rows see the same weights before these move.
    step : {"adagrad", "sgd"}
        Stochastic: how a gradient moves a weight.
    schedule : "linear" or float
        Stochastic: how the rate falls: in a line to zero, or by a factor an epoch (1: constant).
    tolerance : float
        Batch: stop when the gradient is this small beside the first one.
    iterations : int
        Batch: stop after so many iterations at the latest.
    trees : int, optional
        Forest: how many trees vote, 3 if not given. With it, a forest is grown however few classes there are.
    memory : int or str
        How much memory the weights may take, in bytes or as in "8GB". The stochastic solver lets them share it where there are too many;
        they then have no `coef_`.
    calibrate : bool
        Linear models: hold out a twentieth of the rows and fit a temperature on them, so that probabilities are as sure as they may be. Done in
        any case where the stochastic solver chooses epochs and rate.
    class_weight : None, "balanced" or dict
        How often the labels of each class count.
    warm_start : bool
        Whether `fit` goes on from the weights of the last one, which needs the same classes and features; not for a forest.
    random_state : int, RandomState or None
        Seed of everything random: same seed, same bits, for any number of threads.
    n_jobs : int, optional
        Threads; one a core if None or -1. They change no bit of the result.
    verbose : int
        Whether a line shows the progress, if tqdm is installed.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (n_classes, n_features)
        The weights; not of a forest.
    intercept_ : array of shape (n_classes,)
        The biases; not of a forest.
    n_features_in_ : int
        How many features a row has.
    feature_names_in_ : array of shape (n_features,)
        Their names, if X was a data frame.
    bound_ : float or None
        The objective that training reached, summed over all rows, without the penalty: exact from the batch solver, an unbiased estimate
        from the stochastic one. None for a forest.
    history_ : dict of arrays
        How the bound rose: `updates` and `bound`.

    Notes
    -----
    Rows are read where they are if they are a C-ordered array or a CSR matrix of 32-bit floats, with sorted 32-bit indices. 64-bit
    floats or indices, another order and another sparse format each cost one copy. The batch solver keeps a transposed copy of the rows.

    Examples
    --------
    >>> import numpy as np, ove
    >>> X = np.array([[0, 1], [0, 2], [1, 0], [2, 0]], dtype=np.float32)
    >>> model = ove.OneVsEachClassifier(solver="batch", l2=0.1).fit(X, ["up", "up", "right", "right"])
    >>> model.predict([[3, 1]]).tolist()
    ['right']
    """

    def __init__(
        self,
        objective: Objective | None = None,
        *,
        solver: Solver | None = None,
        classes: int | None = None,
        sampler: Sampler | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        penalty_on_bias: bool = True,
        merge: int = 10,
        power: float = 0.75,
        batch: int = 256,
        step: Literal["adagrad", "sgd"] = "adagrad",
        schedule: Literal["linear"] | float = "linear",
        tolerance: float = 1e-5,
        iterations: int = 2000,
        trees: int | None = None,
        memory: int | str = "8GB",
        calibrate: bool = False,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.objective = objective
        self.solver = solver
        self.classes = classes
        self.sampler = sampler
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.l2 = l2
        self.penalty_on_bias = penalty_on_bias
        self.merge = merge
        self.power = power
        self.batch = batch
        self.step = step
        self.schedule = schedule
        self.tolerance = tolerance
        self.iterations = iterations
        self.trees = trees
        self.memory = memory
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _read(self, X: Any, *, fitting: bool) -> tuple[Matrix, int]:
        return rows_of(self, X, reset=fitting)

    def _feature_names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", []))
