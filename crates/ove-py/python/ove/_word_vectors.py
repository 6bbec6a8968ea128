"""Vectors of words, or of any symbols."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ove import _ove
from ove._progress import progress_line
from ove._settings import _seed, as_json, threads_of

Similar = list[tuple[str, float]]


class WordVectors(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns vectors from which a word predicts the words around it, so that similar words have similar vectors.

    Methods have the names of gensim's `KeyedVectors`. Words may be any symbols: products of baskets, nodes of walks.

    Parameters
    ----------
    rank : int, default 100
        Length of the vectors.
    window : int, default 5
        Largest distance between neighbours; that of each word is drawn from 1 to this.
    min_count : int, default 5
        Words with fewer occurrences are left out.
    sample : float, default 0.001
        Words with a larger share of the text are subsampled, as in word2vec; 0 keeps all.
    negatives : int, default 5
        Number of negatives that each neighbour is compared with.
    objective : {"sampled-softmax", "one-vs-each", "normalised", "negative-sampling"}, default "sampled-softmax"
        What is maximised per neighbour; the last one is that of word2vec.
    subwords : (int, int), optional
        Lengths of the n-grams of characters that also get vectors, such as (3, 6); they give vectors to unknown words.
    buckets : int, default 2000000
        Number of buckets that n-grams are hashed into.
    cbow : bool, default False
        Whether the mean of the neighbours predicts the word, instead of the word its neighbours.
    epochs : int, default 5
        Number of passes over the text.
    learning_rate : float, default 0.05
        At the start; it falls to zero.
    memory : str or int, optional
        How much counts and vectors may take, such as "4GB"; if not given, half of the machine's memory.
    random_state : int or RandomState, default 0
        The same number gives the same bits, for any number of threads.
    n_jobs : int, optional
        Number of threads; -1 and None stand for one per core.

    Attributes
    ----------
    words_ : list of str
        The words, the most frequent first.
    vectors_ : array of shape (n_words, rank)
        Their vectors. With n-grams, that of a word is the mean of its own and those of its n-grams.
    settings_ : dict
        The settings that the vectors were trained with; empty if they come from a file of word2vec or GloVe.

    Examples
    --------
    >>> import ove
    >>> sentences = [["red", "green", "blue"], ["one", "two", "three"]] * 300
    >>> vectors = ove.WordVectors(rank=8, sample=0).fit(sentences, show_progress=False)
    >>> sorted(word for word, score in vectors.most_similar("red", topn=2))
    ['blue', 'green']
    """

    words_: list[str]
    vectors_: npt.NDArray[np.float32]
    settings_: dict[str, Any]
    _vectors: _ove.WordVectors
    _model: _ove.Model | None

    def __init__(
        self,
        rank: int | None = None,
        *,
        window: int | None = None,
        min_count: int | None = None,
        sample: float | None = None,
        negatives: int | None = None,
        objective: Literal["sampled-softmax", "one-vs-each", "normalised", "negative-sampling"] | None = None,
        subwords: tuple[int, int] | None = None,
        buckets: int | None = None,
        cbow: bool | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        memory: str | int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.rank = rank
        self.window = window
        self.min_count = min_count
        self.sample = sample
        self.negatives = negatives
        self.objective = objective
        self.subwords = subwords
        self.buckets = buckets
        self.cbow = cbow
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Training

    def fit(
        self, corpus: str | os.PathLike[str] | Iterable[Sequence[str]], y: None = None, *, show_progress: bool = True
    ) -> WordVectors:
        """Trains on a text.

        Parameters
        ----------
        corpus : path, or iterable of lists of str
            A text file with words between blanks and a sentence per line, which may be gzipped and is streamed from
            disk; or sentences as lists of words, which are kept in memory as numbers. Words are used as they are.
        y : None
            Not used.
        show_progress : bool, default True
            Whether to show a bar, if tqdm is installed.

        Returns
        -------
        self
        """
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "n_jobs"}
        settings["seed"] = _seed(settings.pop("random_state"))
        path, sentences = (os.fspath(corpus), ()) if isinstance(corpus, (str, os.PathLike)) else (None, corpus)
        with progress_line(show_progress, 1) as progress:
            model = _ove.fit_words(path, sentences, as_json(settings), threads_of(self.n_jobs), progress)
        self._take(_ove.WordVectors.of_model(model), model)
        return self

    # Answers

    def __len__(self) -> int:
        """Number of words."""
        return len(getattr(self, "words_", ()))

    def __contains__(self, word: object) -> bool:
        """Whether a word has a vector: it is one of the words, or has known n-grams."""
        check_is_fitted(self, "_vectors")
        return isinstance(word, str) and self._vectors.vector(word) is not None

    def __getitem__(self, words: str | Sequence[str]) -> npt.NDArray[np.float32]:
        """The vector of a word, or of each word of a list; n-grams give one to an unknown word."""
        check_is_fitted(self, "_vectors")
        if not isinstance(words, str):
            return np.stack([self[word] for word in words]) if len(words) else self.vectors_[:0]
        vector = self._vectors.vector(words)
        if vector is None:
            raise KeyError(f"{words!r} is not one of the {len(self)} words")
        return vector

    def most_similar(
        self, positive: str | Sequence[str] = (), negative: str | Sequence[str] = (), topn: int = 10
    ) -> Similar:
        """The words whose vectors have the largest cosine with the sum of some vectors minus others.

        Parameters
        ----------
        positive, negative : str or list of str
            Words whose vectors, at length one, are added and subtracted; they are not among the answers.
        topn : int, default 10
            Number of words.

        Returns
        -------
        list of (word, cosine), most similar first
        """
        check_is_fitted(self, "_vectors")
        if not isinstance(topn, (int, np.integer)) or topn < 0:
            raise ValueError(f"`topn` must be an integer of at least 0, got {topn!r}")
        return self._vectors.most_similar(_list(positive), _list(negative), int(topn))

    def similarity(self, w1: str, w2: str) -> float:
        """The cosine of the vectors of two words."""
        check_is_fitted(self, "_vectors")
        return self._vectors.similarity(w1, w2)

    # Tests

    def evaluate_word_analogies(
        self, analogies: str | os.PathLike[str], restrict_vocab: int | None = 300_000
    ) -> tuple[float, list[dict[str, Any]]]:
        """Answers questions such as "man is to king as woman is to …".

        Questions with an unknown word are left out, and case is ignored, so that the accuracy is that of gensim.

        Parameters
        ----------
        analogies : path
            A file in the form of word2vec's questions-words.txt: lines `a b c d` under lines `: section`.
        restrict_vocab : int or None, default 300000
            Only so many of the most frequent words are known; None for all.

        Returns
        -------
        accuracy : float
            The share of right answers among the questions whose words are known.
        sections : list of dict
            For each section its name as `section`, and the numbers of questions `correct`, `covered` and `questions`.
        """
        check_is_fitted(self, "_vectors")
        sections, accuracy = self._vectors.analogies(analogies, restrict_vocab, threads_of(self.n_jobs))
        names = ("section", "correct", "covered", "questions")
        return accuracy, [dict(zip(names, section, strict=True)) for section in sections]

    def evaluate_word_pairs(self, pairs: str | os.PathLike[str]) -> dict[str, float]:
        """Compares the cosines of pairs of words with the similarities that people gave.

        Parameters
        ----------
        pairs : path
            A file with lines `word<TAB>word<TAB>number`.

        Returns
        -------
        dict
            Spearman's rank correlation as `spearman`, and the numbers of pairs with known words, `covered`, and of all,
            `pairs`.
        """
        check_is_fitted(self, "_vectors")
        spearman, covered, count = self._vectors.similarities(pairs)
        return {"spearman": spearman, "covered": covered, "pairs": count}

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which `ove.load` and the command line also read."""
        check_is_fitted(self, "_vectors")
        if self._model is None:
            raise ValueError("vectors of other programs are not a model; write them with `export`")
        self._model.save(path)

    def export(
        self, path: str | os.PathLike[str], format: Literal["word2vec", "word2vec-binary", "glove"] = "word2vec"
    ) -> None:
        """Writes the vectors of the words in a form that other programs read."""
        check_is_fitted(self, "_vectors")
        self._vectors.export(path, format)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordVectors:
        """Reads a model that `save` or `ove embed` wrote, or vectors in one of the forms of word2vec and GloVe."""
        vectors = cls()
        table = _ove.WordVectors.open(path)
        if table is not None:
            vectors._take(table, None)
            return vectors
        model = _ove.Model.load(path)
        vectors._take(_ove.WordVectors.of_model(model), model)
        settings = {**vectors.settings_, "random_state": vectors.settings_["seed"]}
        del settings["seed"]
        settings["subwords"] = settings["subwords"] and tuple(settings["subwords"])
        vectors.set_params(**settings)
        return vectors

    def to_gensim(self) -> Any:
        """The vectors of the words as `gensim.models.KeyedVectors`; those of n-grams are left out."""
        check_is_fitted(self, "_vectors")
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise ImportError("`to_gensim` needs gensim; install it with `pip install gensim`") from error
        vectors = KeyedVectors(self.vectors_.shape[1])
        vectors.add_vectors(self.words_, self.vectors_)
        return vectors

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        model = state.get("_model")
        if model is not None:
            self._take(_ove.WordVectors.of_model(model), model)
        elif "vectors_" in state:
            self._take(_ove.WordVectors.of_table(self.words_, self.vectors_), None)

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the model is not written twice.
        state = super().__getstate__()
        derived = ("_vectors", "words_", "vectors_", "settings_") if state.get("_model") is not None else ("_vectors",)
        return {name: value for name, value in state.items() if name not in derived}

    def _take(self, vectors: _ove.WordVectors, model: _ove.Model | None) -> None:
        self._model, self._vectors = model, vectors
        self.words_, self.vectors_ = vectors.words(), vectors.vectors()
        self.settings_ = {} if model is None else json.loads(model.card())["embedding"]["options"]


def _list(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)
