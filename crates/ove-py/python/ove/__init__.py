"""Softmax models with very many classes, trained through the one-vs-each bound.

>>> import ove
>>> texts = ["a cat sat", "the dog barked", "my cat purred"]
>>> model = ove.TextClassifier(min_df=1).fit(texts, ["cat", "dog", "cat"])
>>> labels, probabilities = model.top_k(["a cat"], k=2)
>>> labels.tolist()
[['cat', 'dog']]

`OneVsEachClassifier` takes rows of numbers, `TextClassifier` texts, `CategoricalEstimator` no features; they are
estimators of scikit-learn. `Recommender` recommends items to users, and `ove.evaluation` measures how well. `WordVectors`
learns vectors of words. `load` reads a model that `save` or the command line wrote. `log_softmax_bound` gives the bounds for
scores from other models, and `ove.plot` shows the course of training and the calibration of probabilities.
"""

from importlib.metadata import version

from ove import evaluation, plot
from ove._bounds import log_softmax_bound
from ove._categorical import CategoricalEstimator
from ove._classifier import OneVsEachClassifier
from ove._doubts import DataWarning
from ove._load import load
from ove._progress import Progress
from ove._recommender import Recommender
from ove._text import TextClassifier
from ove._word_vectors import WordVectors

__version__ = version("ove")
__all__ = [
    "CategoricalEstimator",
    "DataWarning",
    "OneVsEachClassifier",
    "Progress",
    "Recommender",
    "TextClassifier",
    "WordVectors",
    "evaluation",
    "load",
    "log_softmax_bound",
    "plot",
]
