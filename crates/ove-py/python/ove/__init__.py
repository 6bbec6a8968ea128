"""Softmax models with very many classes, trained through the one-vs-each bound.

>>> import ove
>>> model = ove.TextClassifier(min_df=1).fit(["a cat sat", "the dog barked", "my cat purred"], ["cat", "dog", "cat"])
>>> labels, probabilities = model.top_k(["a cat"], k=2)
>>> labels.tolist()
[['cat', 'dog']]

`OneVsEachClassifier` takes rows of numbers, `TextClassifier` texts, `CategoricalEstimator` no features at all; they behave like the
estimators of scikit-learn. `load` reads a model that any of them or the command line saved. `log_softmax_bound` is for those who build
models of their own, `ove.plot` shows how training went and how far probabilities can be trusted.
"""

from importlib.metadata import version

from ove import plot
from ove._bounds import log_softmax_bound
from ove._categorical import CategoricalEstimator
from ove._classifier import OneVsEachClassifier
from ove._load import load
from ove._text import TextClassifier

__version__ = version("ove")
__all__ = ["CategoricalEstimator", "OneVsEachClassifier", "TextClassifier", "load", "log_softmax_bound", "plot"]
