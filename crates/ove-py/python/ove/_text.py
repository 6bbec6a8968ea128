"""The classifier of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ove import _ove
from ove._base import Classifier
from ove._classifier import Objective, Sampler, ScoreKind, Solver, Step
from ove._settings import TEXT, as_json, threads_of
from ove._types import Matrix


class TextClassifier(Classifier):
    """A softmax model for texts: words and n-grams weighted by tf-idf, as by scikit-learn's `TfidfVectorizer`.

    X is a list of strings, or an array or a column of them: a series of pandas or polars, an array of pyarrow. Of a
    table of such columns, each row is one text, its columns joined as by `ove train --text title,description`.

    Parameters
    ----------
    ngrams : int, default 1
        The longest n-gram: 1 for words alone, 2 for pairs of neighbours too.
    min_df : int, default 2
        Number of texts that a term must occur in; not for hashed features.
    hash : int, optional
        Number terms by their hash, below this, and keep no vocabulary.
    sublinear_tf : bool, default False
        Count a term 1 + ln(count) times.
    idf : bool, default True
        Weight a term by its inverse document frequency.
    objective, scores, rank, trees, solver, negatives, sampler, epochs, learning_rate, l2, penalty_on_bias, merge, \
power, batch, step, schedule, tolerance, iterations, memory, calibrate, class_weight, warm_start, random_state, \
n_jobs, verbose, classes :
        As in `OneVsEachClassifier`. A fit that starts from an earlier one keeps its vocabulary.

    Attributes
    ----------
    classes_, coef_, intercept_, settings_, bound_, history_ :
        As in `OneVsEachClassifier`.

    Examples
    --------
    >>> import ove
    >>> texts = ["a cat sat", "the dog barked", "my cat purred"]
    >>> model = ove.TextClassifier(min_df=1).fit(texts, ["cat", "dog", "cat"])
    >>> model.predict(["Cat!"]).tolist()
    ['cat']
    >>> [word for word, weight in model.explain("a cat barked", "dog") if weight > 0]
    ['barked']
    """

    def __init__(
        self,
        *,
        ngrams: int | None = None,
        min_df: int | None = None,
        hash: int | None = None,
        sublinear_tf: bool | None = None,
        idf: bool | None = None,
        objective: Objective | None = None,
        scores: ScoreKind | None = None,
        rank: int | None = None,
        trees: int | None = None,
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
        self.ngrams = ngrams
        self.min_df = min_df
        self.hash = hash
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.objective = objective
        self.scores = scores
        self.rank = rank
        self.trees = trees
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

    def explain(self, text: str, label: Any) -> list[tuple[str, float]]:
        """What each word of a text adds to the score of a label: weight times value, the largest first.

        These numbers and the bias of the label sum to its score; for trees they are means over the trees.
        """
        found = self._contributions([text], label)
        return [(f"feature {feature}" if name is None else name, weight) for feature, name, weight in found]

    def _read(self, X: Any, *, fitting: bool, like: Matrix | None = None) -> tuple[Matrix, int]:
        texts = _texts(X)
        threads = threads_of(self.n_jobs)
        if fitting:
            if isinstance(self.ngrams, (tuple, list)):
                longest = max(self.ngrams, default=1)
                raise ValueError(
                    f"`ngrams` must be the length of the longest n-gram, got {self.ngrams!r}; "
                    f"{longest} is what scikit-learn's ngram_range=(1, {longest}) gives"
                )
            rows = _ove.fit_text(texts, as_json({name: getattr(self, name) for name in TEXT}), threads)
        elif like is not None and hasattr(like, "like"):
            rows = like.like(texts, threads)
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
    if isinstance(X, str):
        raise ValueError(f"`X` must be a list of texts, got the one text {X!r}; pass [{X!r}]")
    if not hasattr(X, "to_pylist") and (not isinstance(X, Iterable) or isinstance(X, Mapping)):
        raise ValueError(f"`X` must be a list of texts, got {X!r}")
    columns = _columns(X)
    if columns is None and len(getattr(X, "shape", ())) > 1:
        raise ValueError(f"`X` must be a list, or a table with named columns of texts, got an array of shape {X.shape}")
    if columns is None:
        texts = _strings(X, "`X`")
    else:
        joined = [_strings(column, f"the column {name!r} of `X`") for name, column in columns]
        texts = ["\n".join(row) for row in zip(*joined, strict=True)]
    if not texts:
        raise ValueError("`X` must have at least 1 text, got 0")
    return texts


def _columns(X: Any) -> list[tuple[str, Any]] | None:
    """The columns of a table by name; None if it is no table."""
    if hasattr(X, "column_names"):  # pyarrow
        return list(zip(X.column_names, X.columns, strict=True))
    if not hasattr(X, "columns"):
        return None
    if len(set(X.columns)) < len(X.columns):
        raise ValueError(f"`X` must have columns of different names, got {list(X.columns)}")
    return [(str(name), X[name]) for name in X.columns]  # pandas, polars


def _strings(column: Any, what: str) -> list[str]:
    # The elements of pyarrow's arrays are not strings.
    texts = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            missing = "; replace missing texts by ''" if text is None or text != text else ""
            raise ValueError(f"each text in {what} must be a string, got {text!r} in row {n}{missing}")
    return texts
