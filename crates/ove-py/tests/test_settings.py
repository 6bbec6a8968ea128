"""Settings: their defaults, their ranges, and which of them go together."""

import ast
import inspect
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import ove
from ove import _ove

# What follows a parameter in a docstring: its default, and that of other scores.
DOCUMENTED = re.compile(r"^    ([a-z0-9_]+) : .*?\bdefault (\S+?)(?:; (factored|trees) (\S+))?$", re.MULTILINE)
DEFAULTS = json.loads(_ove.defaults())


def documented(estimator):
    """The defaults in a docstring: a list of name, kind of scores (None for all others) and value."""
    found = []
    for name, value, kind, other in DOCUMENTED.findall(re.sub(r" \\\n", " ", estimator.__doc__)):
        found.append((name, None, ast.literal_eval(value)))
        if kind:
            found.append((name, kind, ast.literal_eval(other)))
    return found


def default(name, kind):
    """The default of a setting in the library."""
    if name == "memory":
        return "{:.0f}GB".format(DEFAULTS["all"]["memory"] / 1e9)
    if name == "solver":
        return DEFAULTS["linear"]["solver"]["kind"]
    groups = [kind] if kind else ["all", "linear", "stochastic", "batch", "trees", "factored", "text"]
    return next(DEFAULTS[group][name] for group in groups if name in DEFAULTS[group])


@pytest.mark.parametrize("estimator", [ove.OneVsEachClassifier, ove.TextClassifier])
def test_documented_defaults_are_those_of_the_library(estimator):
    found = documented(estimator)
    assert len(found) == {ove.OneVsEachClassifier: 23, ove.TextClassifier: 7}[estimator], found
    for name, kind, value in found:
        if name != "l2":
            assert value == default(name, kind), name


def test_documented_defaults_that_training_chooses(rows):
    x, y = rows
    found = {(name, kind): value for name, kind, value in documented(ove.OneVsEachClassifier)}
    linear = ove.OneVsEachClassifier(epochs=1).fit(x, y).settings_
    trees = ove.OneVsEachClassifier(scores="trees").fit(x, y).settings_
    assert linear["l2"] == found["l2", None] and trees["l2"] == found["l2", "trees"]
    assert f"{linear['learning_rate']}, or less" in ove.OneVsEachClassifier.__doc__
    assert re.search(rf"and {trees['learning_rate']}\s+for trees", ove.OneVsEachClassifier.__doc__)
    epochs = ove.OneVsEachClassifier(learning_rate=0.1).fit(x, y).settings_["epochs"]
    assert re.search(rf"; {epochs} if only\s+`learning_rate` is given", ove.OneVsEachClassifier.__doc__)
    assert f"only trees from {DEFAULTS['trees_from']}" in ove.OneVsEachClassifier.__doc__


def test_the_library_sets_every_default():
    for estimator in (ove.OneVsEachClassifier, ove.TextClassifier, ove.CategoricalEstimator):
        for name, parameter in inspect.signature(estimator).parameters.items():
            own = {"warm_start": False, "random_state": DEFAULTS["all"]["seed"], "verbose": 0}
            assert parameter.default == own.get(name), f"{estimator.__name__}: {name}"


def test_settings_of_a_model(rows, tmp_path):
    x, y = rows
    model = ove.OneVsEachClassifier("merged", merge=3, schedule=0.5, class_weight={1: 2.0}, epochs=4).fit(x, y)
    given = {"objective": "merged", "merge": 3, "schedule": 0.5, "epochs": 4, "class_weight": [1, 2, 1, 1, 1]}
    chosen = {"scores": "linear", "solver": "stochastic", "learning_rate": 0.1, "seed": 0}
    assert (given | chosen).items() <= model.settings_.items()
    model.save(tmp_path / "model")
    back = ove.load(tmp_path / "model")
    assert back.settings_ == model.settings_
    assert back.class_weight == {0: 1.0, 1: 2.0, 2: 1.0, 3: 1.0, 4: 1.0} and back.schedule == 0.5
    trees = ove.OneVsEachClassifier(solver="forest").fit(x, y)
    assert trees.settings_["scores"] == "trees" and trees.settings_["trees"] == 3
    assert trees._model.to_bytes() == ove.OneVsEachClassifier(scores="trees").fit(x, y)._model.to_bytes()


def test_numbers_of_numpy_are_numbers(rows):
    x, y = rows
    settings = {"epochs": np.int64(2), "l2": np.float32(0.5), "penalty_on_bias": np.bool_(False), "batch": np.uint8(16)}
    model = ove.OneVsEachClassifier(**settings, random_state=np.int32(3)).fit(x, y)
    assert (settings | {"seed": 3}).items() <= model.settings_.items()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objective": "hinge"}, "merged, bouchard, sampled-softmax, normalised, got `hinge`"),
        ({"scores": "cubic"}, "`scores` must be one of linear, factored, trees, got `cubic`"),
        ({"solver": "newton"}, "`solver` must be one of stochastic, batch, got `newton`"),
        ({"sampler": "all"}, "`sampler` must be one of uniform, systematic, frequency, rivals, got `all`"),
        ({"learning_rate": -1}, "`learning_rate` must be a positive number, got -1"),
        ({"schedule": "cosine"}, "`schedule` must be `linear` or the factor per epoch (1: constant), got `cosine`"),
        ({"epochs": 0}, "`epochs` must be at least 1, got 0"),
        ({"epochs": 2.5}, "`epochs` must be an integer"),
        ({"rank": 0}, "`rank` must be at least 1, got 0"),
        ({"l2": float("nan")}, "`l2` must be a finite number, got nan"),
        ({"memory": "lots"}, "`memory` must be a number of bytes"),
        ({"class_weight": "rare"}, "`class_weight` must be `balanced` or a list of weights, got"),
        ({"class_weight": {"other": 2}}, "`class_weight` must have labels that occur, got only others, such as"),
        ({"class_weight": [1, 2]}, "`class_weight` must be None, 'balanced' or a dict"),
        ({"class_weight": {1: float("inf")}}, "`class_weight` must have finite weights"),
        ({"n_jobs": 0}, "`n_jobs` must be a number of threads, or -1 or None for one per core, got 0"),
        ({"random_state": -3}, "`random_state` must be at least 0 and below 2**64, got -3"),
        ({"random_state": 2**64}, "`random_state` must be at least 0 and below 2**64, got"),
    ],
)
def test_settings_outside_their_range(rows, settings, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ove.OneVsEachClassifier(**settings).fit(*rows)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scores": "trees", "batch": 64}, "`batch` is a setting of the stochastic solver, which trees do not use"),
        ({"trees": 3, "sampler": "rivals"}, "`sampler` is a setting of the stochastic solver, which trees do not use"),
        ({"solver": "batch", "negatives": 7}, "`negatives` is a setting of the stochastic solver, which the batch solver"),
        ({"solver": "batch", "epochs": 3}, "`epochs` is a setting of the stochastic solver and of trees, which"),
        ({"solver": "batch", "learning_rate": 1}, "`learning_rate` is a setting of the stochastic solver and of trees"),
        ({"tolerance": 0.1}, "`tolerance` is a setting of the batch solver, which the stochastic solver does not use"),
        ({"scores": "factored", "trees": 2}, "`trees` is a setting of trees, which factored scores do not use"),
        ({"scores": "linear", "rank": 2}, "`rank` is a setting of factored scores, which"),
        ({"scores": "trees", "penalty_on_bias": True}, "`penalty_on_bias` is a setting of linear and factored scores"),
        ({"scores": "factored", "solver": "batch"}, "`solver` must be stochastic for factored scores"),
        ({"objective": "sampled-softmax", "solver": "batch"}, "`solver` must be stochastic for the objective"),
    ],
)
def test_settings_that_are_not_used(rows, settings, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ove.OneVsEachClassifier(**settings).fit(*rows)


def test_settings_of_texts(texts):
    for settings, words in [
        ({"ngrams": 0}, "`ngrams` must be at least 1, got 0"),
        ({"ngrams": 1.5}, "`ngrams` must be an integer, got 1.5"),
        ({"chars": 3}, "`chars` must be a pair of integers, the shortest and the longest length, such as (3, 5), got 3"),
        (
            {"chars": (5, 3)},
            "`chars` must be the shortest and the longest length, from 1 to 16, such as 3-5, got 5-3",
        ),
        ({"idf": 1}, "`idf` must be True or False, got 1"),
        ({"min_df": 1000}, "`min_df` must be at most the number of texts that some term occurs in, got 1000"),
        ({"min_df": -1}, "`min_df` must be an integer, got -1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ove.TextClassifier(**settings).fit(*texts)


def test_slips_are_told_what_to_do_instead(texts):
    table = pd.DataFrame({"title": texts[0]})
    for settings, given, words in [
        ({"ngrams": (1, 2)}, texts[0], "`ngrams` must be the length of the longest n-gram, got (1, 2); 2 is what"),
        ({"classes": ["sea", "wood"]}, texts[0], "`classes` must be left out, got ['sea', 'wood']: labels are learned"),
        ({"classes": 3, "negatives": 3}, texts[0], "`classes` must be left out beside `negatives`"),
        ({}, table.to_numpy(), "`X` must be a list or one column of texts, got a table of shape (240, 1)"),
        ({}, table.assign(price=1), "each text in the column 'price' of `X` must be a string, got 1 in row 0"),
        ({}, "one text", "`X` must be a list of texts, got the one text 'one text'; pass ['one text']"),
        ({}, [*texts[0][:-1], None], "got None in row 239; replace missing texts by ''"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ove.TextClassifier(**settings).fit(given, texts[1])


def test_negatives_under_their_former_name(rows):
    new = ove.OneVsEachClassifier(negatives=2, epochs=1).fit(*rows)
    with pytest.warns(FutureWarning, match="`classes` is now called `negatives`"):
        old = ove.OneVsEachClassifier(classes=2, epochs=1).fit(*rows)
    np.testing.assert_array_equal(old.coef_, new.coef_)
    assert old.settings_["negatives"] == 2 and "classes" not in old.settings_


def test_texts_and_labels_that_are_swapped_are_doubted(texts):
    with pytest.warns(ove.DataWarning, match=r"`y` has 2\d\d classes for 240 rows, such as `.*`; are texts and labels swapped\?"):
        ove.TextClassifier().fit(texts[1], texts[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ove.TextClassifier().fit(*texts)


def test_settings_of_counts():
    for settings, words in [
        ({"method": "guess"}, "`method` must be one of closed-form, batch, stochastic, got `guess`"),
        ({"l2": 1}, "`l2` is a setting that the closed form does not use"),
        ({"method": "batch", "epochs": 3}, "`epochs` is a setting of the stochastic solver"),
        ({"method": "stochastic", "tolerance": 0.1}, "`tolerance` is a setting of the batch solver"),
        ({"method": "batch", "objective": "sampled-softmax"}, "`solver` must be stochastic for the objective"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ove.CategoricalEstimator(**settings).fit_counts([3, 2, 1])
