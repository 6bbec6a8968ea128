"""The classifier of texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ove import _ove
from ove._base import Classifier
from ove._classifier import Effort, Objective, Sampler, ScoreKind, Solver, Step
from ove._progress import Callback
from ove._rows import sparse_parts
from ove._settings import NAME_WEIGHT, OF_TEXTS, TEXT, as_json, threads_of
from ove._spool import spooled
from ove._targets import Examples
from ove._types import Matrix
from ove._word_vectors import WordVectors


class TextClassifier(Classifier):
    """A softmax model for texts: words and n-grams weighted by tf-idf, as by scikit-learn's `TfidfVectorizer`.

    X is a list of strings, or an array or a column of them: a series of pandas or polars, an array of pyarrow. For
    prediction it may also be rows that `transform` made, in which a text without any known term is an empty row. Of a
    table of such columns, each row is one text, its columns joined as by `ove train --text title,description`. With
    `tokens=True`, X has lists of strings.

    Parameters
    ----------
    ngrams : int, default 1
        The longest n-gram of words: 1 for words alone, 2 for pairs of neighbours too, 0 for `chars` alone. With
        `effort="best"`, 2 by default.
    chars : (int, int), optional
        The shortest and the longest n-gram of characters within words, such as (3, 5): the terms of `TfidfVectorizer`
        with `analyzer="char_wb"`. For names, misspellings, and languages that join words.
    stem : str, optional
        The language, such as "english", whose stems stand for the words, by its Snowball stemmer; "auto" finds the
        language by its most frequent words. With `views` or `effort="best"`, stems stand beside the words.
    tokens : bool, default False
        Texts are lists of tokens (or strings of tokens separated by blanks), which are terms as they are: words are not
        searched for, and nothing is put into lower case.
    min_df : int, default 2
        Number of texts that a term must occur in; not for hashed features.
    hash : int, optional
        Number terms by their hash, below this, and keep no vocabulary.
    sublinear_tf : bool, default False
        Count a term 1 + ln(count) times.
    idf : bool, default True
        Weight a term by its inverse document frequency.
    label_names : dict, optional
        The name of each label, or a list of names of which the first is shown, for people. The model also learns from
        them: each name is a text of its label, so that a label can be predicted without a text of its own.
    name_weight : float, default 1
        The weight of a name in training, where a text has weight 1; 0 only keeps the names in the model.
    effort : {"fast", "default", "best"}, default "default"
        How much work training may take. "fast" trains three trees alone and compares nothing. "best" trains nine trees
        with a second stage on different views of the texts: words and pairs, stems, and for short texts n-grams of
        characters; views and epochs are chosen on held-out rows.
    views : list of str, optional
        Trees: kinds of terms that they see, one tree after the other, such as ["words+ngrams", "stems", "chars"], of
        those that `ngrams`, `stem` and `chars` give. By default all kinds for all trees.
    vectors : WordVectors or path, optional
        Vectors of words as the start of factored scores: fitted, or a file that `WordVectors.load` reads. A term that is
        one of the words starts at its vector, the others start at random. They give `scores` and `rank`.
    objective, scores, rank, trees, rivals, leaves, solver, negatives, sampler, epochs, learning_rate, l2, penalty_on_bias, \
merge, power, batch, step, schedule, tolerance, iterations, memory, calibrate, class_weight, warm_start, random_state, \
n_jobs, verbose, classes :
        As in `OneVsEachClassifier`. A fit that starts from an earlier one keeps its vocabulary.

    Attributes
    ----------
    classes_, coef_, intercept_, settings_, bound_, history_ :
        As in `OneVsEachClassifier`.
    vocabulary_ : dict
        The column of each term in `transform`; hashed features have none. N-grams of characters stand in quotation
        marks, with a blank at the boundary of a word.
    n_features_in_ : int
        Number of terms, or of hashed features.
    label_names_ : dict
        The name of each label that has one.

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
        chars: tuple[int, int] | None = None,
        min_df: int | None = None,
        hash: int | None = None,
        stem: str | None = None,
        tokens: bool | None = None,
        sublinear_tf: bool | None = None,
        idf: bool | None = None,
        label_names: Mapping[Any, str | Sequence[str]] | None = None,
        name_weight: float | None = None,
        objective: Objective | None = None,
        scores: ScoreKind | None = None,
        effort: Effort | None = None,
        rank: int | None = None,
        trees: int | None = None,
        rivals: int | None = None,
        leaves: int | None = None,
        views: Sequence[str] | None = None,
        vectors: WordVectors | str | os.PathLike[str] | None = None,
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
        self.chars = chars
        self.min_df = min_df
        self.hash = hash
        self.stem = stem
        self.tokens = tokens
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.label_names = label_names
        self.name_weight = name_weight
        self.objective = objective
        self.scores = scores
        self.effort = effort
        self.rank = rank
        self.trees = trees
        self.rivals = rivals
        self.leaves = leaves
        self.views = views
        self.vectors = vectors
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tune_on: tuple[Any, Any] | None = None,
        callback: Callback | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Trains on texts X with labels y.

        Parameters
        ----------
        X : texts, as the class says
            With `cache`, any iterable of texts, such as a generator, which are taken one by one.
        y, sample_weight, tune_on, callback : as in `OneVsEachClassifier.fit`
        cache : path, optional
            Folder in which the texts and their rows stay, as with `--cache` of the command line, so that they may be
            larger than memory; a later fit to the same texts does not read them again. The folder must be new, or
            have been the cache of an earlier fit. Not with `warm_start`.

        Returns
        -------
        self
        """
        if cache is not None and self.warm_start and hasattr(self, "_model"):
            raise ValueError("`cache` must be left out where `warm_start` goes on from an earlier fit")
        return self._fit(X, y, sample_weight, tune_on, callback, cache)

    def transform(self, X: Any) -> sp.csr_matrix:
        """The rows that the model makes of texts: one row per text, one column per term, as by `TfidfVectorizer`."""
        check_is_fitted(self)
        rows = self._model.text_rows(self._texts(X), threads_of(self.n_jobs))
        offsets, indices, values = rows.parts()
        return sp.csr_matrix((values, indices, offsets), shape=(len(rows), rows.features))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The terms, in the order of the columns of `transform`; hashed features are named by their number."""
        check_is_fitted(self)
        names = self._model.feature_names() or [f"feature {feature}" for feature in range(self._model.features)]
        return np.array(names, dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term in `transform`."""
        names = self._model.feature_names()
        if not names:
            raise AttributeError("TextClassifier has no vocabulary_: its features are hashed")
        return {name: column for column, name in enumerate(names)}

    @property
    def n_features_in_(self) -> int:
        """Number of terms, or of hashed features."""
        return self._model.features

    def explain(self, text: str, label: Any) -> list[tuple[str, float]]:
        """What each word of a text adds to the score of a label: weight times value, the largest first.

        These numbers and the bias of the label sum to its score; for trees they are means over the trees, and those of the second
        stage.
        """
        found = self._contributions([text], label)
        return [(f"feature {feature}" if name is None else name, weight) for feature, name, weight in found]

    def _read(self, X: Any, *, fitting: bool, like: Matrix | None = None) -> tuple[Matrix, int]:
        if sp.issparse(X) and not fitting:
            return self._rows_of_terms(X)
        texts = self._texts(X)
        threads = threads_of(self.n_jobs)
        if fitting:
            rows = _ove.fit_text(texts, self._text_settings(), threads)
        elif isinstance(like, _ove.TextRows):
            rows = like.like(texts, threads)
        else:
            rows = self._model.text_rows(texts, threads)
        return rows, len(texts)

    def _read_on_disk(self, X: Any, folder: str | os.PathLike[str]) -> tuple[Matrix, int]:
        settings = self._text_settings()
        texts = (_joined(tokens, n) for n, tokens in enumerate(X)) if self.tokens else X
        path, count = spooled(texts, folder)
        rows = _ove.fit_text_on_disk(path, os.path.join(folder, "rows"), settings, threads_of(self.n_jobs))
        return rows, count

    def _read_more(self, X: Any) -> tuple[Matrix, int]:
        texts = self._texts(X)
        return self._model.more_text_rows(texts, threads_of(self.n_jobs)), len(texts)

    def _rows_of_terms(self, X: Any) -> tuple[Matrix, int]:
        """Rows that `transform` made."""
        if X.shape[1] != self._model.features:
            raise ValueError(f"`X` must have {self._model.features} columns, as `transform` gives, got {X.shape[1]}")
        return sparse_parts(sp.csr_array(X, dtype=np.float32)), X.shape[0]

    def _text_settings(self) -> str:
        if isinstance(self.ngrams, (tuple, list)):
            longest = max(self.ngrams, default=1)
            raise ValueError(
                f"`ngrams` must be the length of the longest n-gram, got {self.ngrams!r}; "
                f"{longest} is what scikit-learn's ngram_range=(1, {longest}) gives"
            )
        settings = {name: getattr(self, name) for name in (*TEXT, *OF_TEXTS)}
        if self.vectors is not None:
            settings["scores"] = settings["scores"] or "factored"
        return as_json(settings)

    def _texts(self, X: Any) -> list[str]:
        return [_joined(tokens, n) for n, tokens in enumerate(_listed(X))] if self.tokens else _texts(X)

    def _word_vectors(self) -> _ove.WordVectors | None:
        if self.vectors is None:
            return None
        if not isinstance(self.vectors, (WordVectors, str, os.PathLike)):
            raise ValueError(f"`vectors` must be WordVectors or the path of a file, got {self.vectors!r}")
        loaded = self.vectors if isinstance(self.vectors, WordVectors) else WordVectors.load(self.vectors)
        check_is_fitted(loaded, "_vectors")
        return loaded._vectors

    def __sklearn_clone__(self) -> TextClassifier:
        # Vectors are given, not fitted by this estimator: they stay as they are.
        params = self.get_params(deep=False)
        given = params.pop("vectors")
        return type(self)(vectors=given, **{name: clone(value, safe=False) for name, value in params.items()})

    def _label_names(self, classes: npt.NDArray[Any]) -> list[list[str]]:
        if not self.label_names:
            return []
        return [_names(self.label_names.get(label, [])) for label in classes.tolist()]

    def _with_label_names(self, examples: Examples) -> Examples:
        if not self.label_names:
            return examples
        known = set(examples.targets.classes.tolist())
        if not known & set(self.label_names):
            other = next(iter(self.label_names))
            raise ValueError(f"`label_names` must have labels that occur, got only others, such as {other!r}")
        weight = NAME_WEIGHT if self.name_weight is None else self.name_weight
        if not weight:
            return examples
        names = [(label, name) for label, names in self.label_names.items() for name in _names(names)]
        listed = examples.X if examples.cache is not None else _listed(examples.X)
        texts = chain(listed, (name for _, name in names))
        weights = np.ones(len(examples.targets)) if examples.weights is None else examples.weights
        return Examples(
            texts,
            examples.targets.followed_by([label for label, _ in names]),
            np.append(weights, np.full(len(names), float(weight))),
            name_rows=len(names),
            cache=examples.cache,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags


def _listed(X: Any) -> list[Any]:
    if isinstance(X, str):
        raise ValueError(f"`X` must be a list of texts, got the one text {X!r}; pass [{X!r}]")
    if not hasattr(X, "to_pylist") and (not isinstance(X, Iterable) or isinstance(X, Mapping)):
        raise ValueError(f"`X` must be a list of texts, got {X!r}")
    shape = getattr(X, "shape", ())
    if len(shape) > 1:
        columns = [str(column) for column in getattr(X, "columns", [])]
        hint = f"; pass one column, such as X[{columns[0]!r}]" if columns else ""
        raise ValueError(f"`X` must be a list or one column of texts, got a table of shape {shape}{hint}")
    # The elements of pyarrow's arrays are not strings.
    return X.to_pylist() if hasattr(X, "to_pylist") else list(X)


def _texts(X: Any) -> list[str]:
    columns = _columns(X)
    if columns is None:
        texts = _strings(_listed(X), "`X`")
    else:
        joined = [_strings(_listed(column), f"the column {name!r} of `X`") for name, column in columns]
        texts = ["\n".join(row) for row in zip(*joined, strict=True)]
    if not texts:
        raise ValueError("`X` must have at least 1 text, got 0")
    return texts


def _columns(X: Any) -> list[tuple[str, Any]] | None:
    """The columns of a table by name; None if it is no table."""
    if hasattr(X, "column_names"):  # pyarrow
        return list(zip(X.column_names, X.columns, strict=True))
    if hasattr(X, "collect_schema") and not hasattr(X, "to_numpy"):  # a query of polars
        raise ValueError("`X` must be a table or a column, got a query that was not run; pass X.collect()")
    if not hasattr(X, "columns"):
        return None
    if len(set(X.columns)) < len(X.columns):
        raise ValueError(f"`X` must have columns of different names, got {list(X.columns)}")
    return [(str(name), X[name]) for name in X.columns]  # pandas, polars


def _strings(texts: list[Any], what: str) -> list[str]:
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            missing = "; replace missing texts by ''" if text is None or text != text else ""
            hint = "; for lists of tokens, use `tokens=True`" if isinstance(text, (list, tuple)) else missing
            raise ValueError(f"each text in {what} must be a string, got {text!r} in row {n}{hint}")
    return texts


def _joined(tokens: Any, n: int) -> str:
    """Tokens as the library takes them, separated by blanks."""
    if isinstance(tokens, str):
        return tokens
    if not isinstance(tokens, Iterable):
        raise ValueError(f"each text in `X` must be a list of tokens, got {tokens!r} in row {n}")
    tokens = list(tokens)
    for token in tokens:
        if not isinstance(token, str) or token.split() != [token]:
            raise ValueError(f"each token in `X` must be a string without blanks, got {token!r} in row {n}")
    return " ".join(tokens)


def _names(names: str | Sequence[str]) -> list[str]:
    """One or several names of a label."""
    listed = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) and name.strip() for name in listed):
        raise ValueError(f"`label_names` must have a name or a list of names for a label, got {names!r}")
    return listed
