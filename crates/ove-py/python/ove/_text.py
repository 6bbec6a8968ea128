"""The classifier of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from ove import _ove
from ove._base import Classifier
from ove._classifier import Objective, Sampler, Solver
from ove._settings import threads_of
from ove._types import Matrix


class TextClassifier(Classifier):
    """A softmax model for texts: words and n-grams weighed by tf-idf, with the numbers of scikit-learn's `TfidfVectorizer`.

    X is a list of strings, or an array or series of them.

    Parameters
    ----------
    ngrams : int
        The longest n-gram: 1 for words alone, 2 for pairs of neighbours too.
    min_df : int
        In how many texts a term has to stand; not for hashed features.
    hash : int, optional
        Number terms by their hash, below this, and keep no vocabulary.
    sublinear_tf : bool
        Count a term 1 + ln(count) times.
    idf : bool
        Weigh a term by its inverse document frequency.
    objective, solver, classes, sampler, epochs, learning_rate, l2, penalty_on_bias, merge, power, batch, step, schedule, tolerance, \
iterations, trees, memory, calibrate, class_weight, warm_start, random_state, n_jobs, verbose :
        As in `OneVsEachClassifier`. What goes on from an earlier fit keeps its vocabulary.

    Attributes
    ----------
    classes_, coef_, intercept_, bound_, history_ :
        As in `OneVsEachClassifier`.

    Examples
    --------
    >>> import ove
    >>> model = ove.TextClassifier(min_df=1).fit(["a cat sat", "the dog barked", "my cat purred"], ["cat", "dog", "cat"])
    >>> model.predict(["Cat!"]).tolist()
    ['cat']
    >>> [word for word, weight in model.explain("a cat barked", "dog") if weight > 0]
    ['barked']
    """

    def __init__(
        self,
        *,
        ngrams: int = 1,
        min_df: int = 2,
        hash: int | None = None,
        sublinear_tf: bool = False,
        idf: bool = True,
        objective: Objective | None = None,
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
        self.ngrams = ngrams
        self.min_df = min_df
        self.hash = hash
        self.sublinear_tf = sublinear_tf
        self.idf = idf
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

    def explain(self, text: str, label: Any) -> list[tuple[str, float]]:
        """Which words of a text speak for a label, and how much: weight times value, the strongest first, for or against.

        The bias of the label and these numbers sum to its score. Of a forest they are means over its trees.
        """
        rows, _ = self._rows([text])
        places = np.flatnonzero(self.classes_ == label)
        if len(places) == 0:
            raise ValueError(f"label is {label!r}, but the model has no such class")
        spoken = self._model.explain(rows, int(places[0]))
        words = [(name if name is not None else f"feature {feature}", weight) for feature, name, weight in spoken]
        return sorted(words, key=lambda word: (-abs(word[1]), word[0]))

    def _read(self, X: Any, *, fitting: bool) -> tuple[Matrix, int]:
        texts = _texts(X)
        threads = threads_of(self.n_jobs)
        if fitting:
            rows = _ove.fit_text(
                texts,
                ngrams=self.ngrams,
                min_df=self.min_df,
                hash=self.hash,
                sublinear_tf=self.sublinear_tf,
                idf=self.idf,
                threads=threads,
            )
        else:
            rows = self._model.text_rows(texts, threads)
        return rows, len(texts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags


def _texts(X: Any) -> list[str]:
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise ValueError(f"X is {X!r}, but it is a list of texts")
    texts = list(X)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"row {n}: {text!r}, but a text is a string")
    if not texts:
        raise ValueError("X has no texts, but there has to be at least one")
    return texts
