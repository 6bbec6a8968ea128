"""The classifier of rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples

from ove._base import Classifier
from ove._rows import rows_of
from ove._types import Matrix

Objective = Literal["one-vs-each", "merged", "softmax", "bouchard", "sampled-softmax", "normalised"]
Effort = Literal["fast", "default", "best"]
ScoreKind = Literal["linear", "factored", "trees"]
Solver = Literal["stochastic", "batch", "forest"]
Sampler = Literal["systematic", "uniform", "frequency", "rivals"]
Step = Literal["adagrad", "sgd"]


class OneVsEachClassifier(Classifier):
    """A softmax model for rows of numbers, sparse or dense.

    Parameters have the names and defaults of the command line. None stands for the default, or for a choice by the
    data. A parameter that the chosen scores or solver do not use raises a ValueError in `fit`.

    Parameters
    ----------
    objective : {"one-vs-each", "merged", "softmax", "bouchard", "sampled-softmax", "normalised"}, \
default "one-vs-each"; factored "sampled-softmax"
        The objective to maximise: the bound of the paper, a tighter bound, the exact log probability, Bouchard's bound,
        the softmax over the label and sampled negatives, which is not a bound, or a bound that one number per label
        makes tight. The second stage of trees has `merged`, or `one-vs-each`.
    scores : {"linear", "factored", "trees"}, optional
        Score function: a weight per feature and class; a vector per feature and per class, so that memory grows with
        their number and not with the product; or trees over the classes. If not given, what makes the fewest errors on
        held-out rows: trees, or for rows of numbers linear scores; only trees from 100 classes on. If `epochs` or
        `learning_rate` is given, linear scores below 100 classes.
    effort : {"fast", "default", "best"}, default "default"
        How much work training may take: "fast" trains three trees alone and compares nothing; "best" trains nine trees
        with a second stage, and chooses epochs on held-out rows.
    rank : int, default 64
        Factored: length of the vectors.
    trees : int, default 3
        Trees: number of trees in the ensemble.
    rivals : int, default 20
        Trees: number of their best classes per row that are the rivals of its labels in a second stage, which ranks these
        classes again; 0 for trees alone. It is dropped where it does not help on held-out rows, and needs 5,000 rows.
    leaves : int, optional
        Trees: number of leaves of each tree, about √K if not given; 1 is a single node over all classes.
    solver : {"stochastic", "batch"}, default "stochastic"
        Linear: stochastic gradients with sampled negatives, or L-BFGS on all rows. "forest" is another name of
        `scores="trees"`.
    negatives : int, default 5; factored 50
        Stochastic: number of negatives (classes that are not labels of the row) sampled per row.
    sampler : {"systematic", "uniform", "frequency", "rivals"}, default "systematic"; factored "frequency"
        Stochastic: how negatives are drawn: each equally likely, with all visited in turn; a simple random subset; by
        frequency; or from training rows that share a feature with the row.
    epochs : int, optional
        Stochastic and trees: number of epochs, passes over all rows. If not given, chosen on held-out rows; 5 if only
        `learning_rate` is given.
    learning_rate : float, optional
        Stochastic and trees: the step for one row and one visited class. If not given, chosen on held-out rows, and 0.7
        for trees. With fewer than 1,000 rows or a single epoch, 1 / mean ‖x‖₁ for factored scores and, for linear ones,
        0.1, or less where that diverges.
    l2 : float, default 0; trees 0.2
        λ of the penalty λ/2·‖w‖² on the sum over all rows (over the rows of a node, for trees); 1 for the batch
        solver. It is 1/C of scikit-learn's `LogisticRegression`.
    penalty_on_bias : bool, default True
        Linear and factored: whether the bias is penalised like a weight. In scikit-learn it is not.
    merge : int, default 10
        Merged objective: number of the most frequent classes that share one logarithm; with the rivals sampler, the
        drawn classes share it instead.
    power : float, default 0.75
        Frequency sampler: the exponent of the class counts.
    batch : int, default 256
        Stochastic: number of rows per batch, between two updates of the weights.
    step : {"adagrad", "sgd"}, default "adagrad"
        Stochastic: the step rule.
    schedule : "linear" or float, default "linear"
        Stochastic: learning rate schedule: linear decay to zero, or a factor per epoch (1: constant).
    tolerance : float, default 1e-5
        Batch: stop when the gradient is this small relative to the first one.
    iterations : int, default 2000
        Batch: maximum number of iterations.
    memory : int or str, default "8GB"
        Maximum memory of the weights, in bytes or as in "8GB". Linear weights of the stochastic solver share it where
        there are too many; the model then has no `coef_`.
    calibrate : bool, default False
        Linear and factored: fit a temperature of the probabilities on held-out rows, a twentieth of all. Always done
        where these rows choose `epochs` and `learning_rate`.
    class_weight : None, "balanced" or dict
        Weight of the labels of each class.
    warm_start : bool
        Whether `fit` starts from the weights of the last fit, which requires the same classes and features. Parameters
        that are None then keep the settings of the last fit. Not for trees.
    random_state : int, RandomState or None
        Seed of all random numbers. The same seed gives the same bits with any number of threads.
    n_jobs : int, optional
        Number of threads; one per core if None or -1.
    verbose : int
        Whether to show a progress bar, if tqdm is installed.
    classes : int, optional
        Deprecated: the former name of `negatives`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (n_classes, n_features)
        The weights; only for linear scores.
    intercept_ : array of shape (n_classes,)
        The biases; only for linear scores.
    threshold_ : float or None
        The probability from which on `predict` returns a label, if rows had several labels in training.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Their names, if X was a data frame.
    settings_ : dict
        The settings that the model was trained with, including those that were chosen for it.
    bound_ : float or None
        The last value of the objective, summed over all rows, without the penalty: exact for the batch solver and the
        second stage of trees, an estimate for the stochastic one. For sampled-softmax it is not a bound. None for trees
        alone.
    history_ : dict of arrays
        The bound during training: `updates` and `bound`.

    Notes
    -----
    Rows are read without a copy if they are a C-ordered array or a CSR matrix of 32-bit floats, with sorted 32-bit
    indices. 64-bit floats or indices, another order and another sparse format each cost one copy. The batch solver
    keeps a transposed copy of the rows.

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
        scores: ScoreKind | None = None,
        effort: Effort | None = None,
        rank: int | None = None,
        trees: int | None = None,
        rivals: int | None = None,
        leaves: int | None = None,
        solver: Solver | None = None,
        negatives: int | None = None,
        sampler: Sampler | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        penalty_on_bias: bool | None = None,
        merge: int | None = None,
        power: float | None = None,
        batch: int | None = None,
        step: Step | None = None,
        schedule: Literal["linear"] | float | None = None,
        tolerance: float | None = None,
        iterations: int | None = None,
        memory: int | str | None = None,
        calibrate: bool | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        classes: int | None = None,
    ) -> None:
        self.objective = objective
        self.scores = scores
        self.effort = effort
        self.rank = rank
        self.trees = trees
        self.rivals = rivals
        self.leaves = leaves
        self.solver = solver
        self.negatives = negatives
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
        self.memory = memory
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.classes = classes

    def explain(self, x: Any, label: Any) -> list[tuple[Any, float]]:
        """What each feature of one row adds to the score of a label: weight times value, the largest first.

        These numbers and the bias of the label sum to its score; for trees they are means over the trees, and those of the second
        stage.

        Parameters
        ----------
        x : array of shape (n_features,) or (1, n_features), sparse or dense
        label : a label of the model

        Returns
        -------
        list of pairs
            The name of a feature, or its number where it has none, and its contribution. Features that add nothing are
            left out.
        """
        if not hasattr(x, "shape"):
            x = np.asarray(x)
        if len(x.shape) == 1 and not sp.issparse(x):
            x = np.asarray(x).reshape(1, -1)
        if _num_samples(x) != 1:
            raise ValueError(f"`x` must be one row, got {_num_samples(x)}")
        found = self._contributions(x, label)
        return [(feature if name is None else name, weight) for feature, name, weight in found]

    def _read(self, X: Any, *, fitting: bool, like: Matrix | None = None) -> tuple[Matrix, int]:
        return rows_of(self, X, reset=fitting)

    def _feature_names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", []))
