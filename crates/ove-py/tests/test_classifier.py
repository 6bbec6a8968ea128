"""OneVsEachClassifier against references and against itself."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn.exceptions import NotFittedError

import ove

EXACT = dict(objective="softmax", solver="batch", l2=2, penalty_on_bias=False, tolerance=1e-9)


def reference(x, y, sample_weight=None, **settings):
    model = LogisticRegression(C=0.5, tol=1e-9, max_iter=10_000, **settings)
    return model.fit(x.astype(np.float64), y, sample_weight)


def test_softmax_by_batch_is_logistic_regression(rows):
    x, y = rows
    model, theirs = ove.OneVsEachClassifier(**EXACT).fit(x, y), reference(x, y)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), atol=2e-5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), theirs.predict_proba(x), atol=2e-5)
    np.testing.assert_array_equal(model.predict(x), model.classes_[model.predict_proba(x).argmax(axis=1)])
    assert model.score(x, y) == pytest.approx(theirs.score(x, y), abs=0.01)
    assert model.score(x, y, sample_weight=y == 0) == np.mean(model.predict(x[y == 0]) == 0)


def test_weights_of_rows_and_classes_are_those_of_logistic_regression(rows):
    x, y = rows
    keep = (y != 0) | (np.arange(len(y)) % 4 == 0)
    x, y = x[keep], y[keep]
    for settings, sample_weight in [
        ({"class_weight": "balanced"}, None),
        ({"class_weight": {0: 0.5, 2: 3.0}}, None),
        ({}, 0.5 + np.arange(len(y)) % 3),
    ]:
        model = ove.OneVsEachClassifier(**EXACT, **settings).fit(x, y, sample_weight)
        theirs = reference(x, y, sample_weight, **settings)
        np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), atol=2e-5)


@pytest.mark.parametrize("solver", ["stochastic", "batch"])
def test_weights_and_biases_give_the_scores(rows, solver):
    x, y = rows
    model = ove.OneVsEachClassifier(solver=solver, epochs=3 if solver == "stochastic" else None).fit(x, y)
    scores = x @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(x), scores, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(x), log_softmax(scores, axis=1), rtol=1e-4, atol=1e-5)
    assert model.coef_.shape == (5, 40) and model.n_features_in_ == 40
    assert model.bound_ == model.history_["bound"][-1] < 0
    assert (np.diff(model.history_["updates"]) > 0).all()
    if solver == "batch":
        own = np.arange(len(y)), y
        d = scores - scores[own][:, None]
        d[own] = -np.inf
        assert model.bound_ == pytest.approx(-np.logaddexp(0, d).sum(), rel=1e-3)


@pytest.mark.parametrize("settings", [{}, {"solver": "batch"}, {"scores": "factored"}, {"scores": "trees"}])
def test_the_best_k(rows, settings):
    x, y = rows
    model = ove.OneVsEachClassifier(**settings).fit(x, y)
    labels, probabilities = model.top_k(x, k=3)
    assert labels.shape == probabilities.shape == (300, 3)
    np.testing.assert_array_equal(labels[:, 0], model.predict(x))
    everything = model.predict_proba(x)
    np.testing.assert_allclose(probabilities, np.take_along_axis(everything, labels, axis=1), atol=1e-6)
    np.testing.assert_allclose(everything.sum(axis=1), 1, atol=1e-6)
    labels, _ = model.top_k(x, k=99)
    np.testing.assert_array_equal(np.sort(labels, axis=1), np.tile(np.arange(5), (300, 1)))
    with pytest.raises(ValueError, match="`k` must be at least 1, got 0"):
        model.top_k(x, k=0)


def test_with_many_classes_the_default_is_trees():
    random = np.random.default_rng(0)
    y = np.concatenate([np.arange(1000), random.integers(0, 1000, 3000)])
    x = sp.csr_array((np.ones(4000, dtype=np.float32), y, np.arange(4001)), shape=(4000, 1000))
    model = ove.OneVsEachClassifier().fit(x, y)
    assert model.settings_["scores"] == "trees" and model.bound_ is None and len(model.history_["bound"]) == 0
    assert not hasattr(model, "coef_")
    # Measured: .98, with a single feature per class.
    assert model.score(x, y) > 0.97
    assert clone(model).set_params(warm_start=True).fit(x, y).fit(x, y).score(x, y) > 0.97
    logs = model.predict_log_proba(x[:5])
    labels, probabilities = model.top_k(x[:5], k=2)
    np.testing.assert_allclose(np.exp(np.take_along_axis(logs, labels, axis=1)), probabilities, rtol=1e-4)
    assert hasattr(ove.OneVsEachClassifier(objective="one-vs-each", epochs=1).fit(x, y), "coef_")


@pytest.mark.parametrize(
    "settings",
    [{}, {"sampler": "rivals", "objective": "merged"}, {"scores": "trees"}, {"solver": "batch"}, {"rank": 8}],
)
def test_threads_change_no_bit_and_seeds_do(rows, settings):
    def file(threads, seed):
        return ove.OneVsEachClassifier(**settings, n_jobs=threads, random_state=seed).fit(*rows)._model.to_bytes()

    assert file(1, 7) == file(3, 7) != file(1, 8)


def test_sparse_and_dense_are_the_same_rows(rows):
    x, y = rows
    models = [ove.OneVsEachClassifier(solver="batch").fit(rows, y) for rows in (x, x.toarray())]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-5)
    np.testing.assert_allclose(models[0].predict_proba(x), models[0].predict_proba(x.toarray()), atol=1e-6)


def test_string_labels_and_two_classes(rows):
    x, y = rows
    words = np.array(["no", "yes"])[(y > 1).astype(int)]
    model = ove.OneVsEachClassifier(solver="batch").fit(x, words)
    assert set(model.predict(x)) == {"no", "yes"} and model.classes_.tolist() == ["no", "yes"]
    assert model.decision_function(x).shape == (300,)
    np.testing.assert_array_equal(model.predict(x), np.where(model.decision_function(x) > 0, "yes", "no"))


def test_several_labels(rows):
    x, y = rows
    lists = [[f"a{k}", f"b{k % 2}"] for k in y]
    model = ove.OneVsEachClassifier(solver="batch", l2=1).fit(x, lists)
    assert model.classes_.tolist() == ["a0", "a1", "a2", "a3", "a4", "b0", "b1"]
    best = model.top_k(x, 1)[0][:, 0]
    assert model.score(x, lists) == np.mean([label in labels for label, labels in zip(best, lists)]) > 0.8

    indicator = np.array([[label in labels for label in model.classes_] for labels in lists], dtype=np.int8)
    for form in (indicator, sp.csc_matrix(indicator), indicator.tolist()):
        other = ove.OneVsEachClassifier(solver="batch", l2=1).fit(x, form)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        marked = other.predict(x)
        np.testing.assert_array_equal(marked, other.predict_proba(x) >= other.threshold_)
        assert marked.shape == indicator.shape and (marked == indicator).mean() > 0.8
        for row, own in zip(marked, model.predict(x)):
            assert set(model.classes_[row == 1]) == set(own)
        assert other.score(x, form) == model.score(x, lists)


def test_rows_without_a_label_are_left_out(rows):
    x, y = rows
    lists = [[k] if n % 3 else [] for n, k in enumerate(y)]
    kept = np.arange(len(y)) % 3 > 0
    weight = np.linspace(0.5, 1.5, len(y))
    some = ove.OneVsEachClassifier(solver="batch").fit(x, lists, sample_weight=weight)
    few = ove.OneVsEachClassifier(solver="batch").fit(x[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(some.coef_, few.coef_)


def test_lists_of_two_labels_are_no_matrix():
    x = np.eye(2, dtype=np.float32).repeat(20, axis=0)
    both = ove.OneVsEachClassifier(solver="batch").fit(x, [[0, 1], [1, 0]] * 20)
    assert both.classes_.tolist() == [0, 1] and both.predict(x)[0].tolist() in ([0, 1], [1, 0])
    matrix = ove.OneVsEachClassifier(solver="batch").fit(x, np.array([[1, 0]] * 20 + [[0, 1]] * 20))
    assert matrix.predict(x)[0].tolist() == [1, 0] and matrix.predict(x)[-1].tolist() == [0, 1]


def test_the_best_labels_from_a_threshold_on(rows):
    x, y = rows
    model = ove.OneVsEachClassifier(solver="batch").fit(x, y)
    best, probabilities = model.top_k(x, 3)
    labels, reached = model.top_k(x, 3, threshold=0.3)
    for row in range(len(y)):
        kept = probabilities[row] >= 0.3
        assert labels[row].tolist() == best[row][kept].tolist() and reached[row].tolist() == probabilities[row][kept].tolist()
    assert {len(row) for row in labels} >= {1, 2}
    with pytest.raises(ValueError, match="`threshold` must be between 0 and 1, got 2"):
        model.top_k(x, threshold=2)


@pytest.mark.parametrize("settings", [{"solver": "batch"}, {"scores": "linear"}, {"scores": "factored", "rank": 8}, {"scores": "trees"}])
def test_learning_new_labels(rows, settings):
    x, y = rows
    old = np.flatnonzero(y < 4)
    model = ove.OneVsEachClassifier(**settings, random_state=1).fit(x[old], y[old])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    # Only rows of the new class, and a few of the others.
    some = np.append(np.flatnonzero(y == 4), old[::3])
    model.learn(x[some], y[some])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4] and model.score(x[y == 4], y[y == 4]) > 0.5
    assert model.score(x[old], y[old]) > 0.4  # of five classes
    with pytest.raises(ValueError, match="labels of the same type as those of the model, got 'other'"):
        model.learn(x[:1], ["other"])
    with pytest.raises(NotFittedError):
        ove.OneVsEachClassifier().learn(x, y)


def test_warm_start_starts_from_the_weights(rows):
    x, y = rows
    model = ove.OneVsEachClassifier(solver="batch", l2=0.1, warm_start=True).fit(x, y)
    evaluations = model.history_["updates"][-1]
    before = model.coef_
    model.fit(x, y)
    assert model.history_["updates"][-1] < evaluations / 3
    np.testing.assert_allclose(model.coef_, before, atol=1e-3)
    with pytest.raises(ValueError, match="labels that the model knows, got 9"):
        model.fit(x, np.where(y == 0, 9, y))
    with pytest.raises(ValueError, match="features"):
        model.fit(x[:, :7], y)


def test_learning_in_parts(rows):
    x, y = rows
    model = ove.OneVsEachClassifier(schedule=1)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(x, y)
    parts = [np.flatnonzero(y < 3), np.flatnonzero(y >= 3)] * 40
    for part in parts:
        model.partial_fit(x[part], y[part], classes=np.arange(5))
    assert model.score(x, y) > 0.8
    assert model.history_["updates"][-1] == 40 * 300
    with pytest.raises(ValueError, match="labels that the model knows, got 5"):
        model.partial_fit(x, y + 1)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(x, y, classes=[0, 1])
    assert not hasattr(ove.OneVsEachClassifier(solver="batch"), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        ove.OneVsEachClassifier(solver="batch").partial_fit(x, y)
    assert str(raised.value.__cause__) == "partial_fit needs the stochastic solver or trees, got 'batch'"


@pytest.mark.parametrize("settings", [{"scores": "trees"}, {"solver": "forest"}, {"trees": 2}])
def test_trees_learn_in_parts(settings):
    random = np.random.default_rng(0)
    y = np.concatenate([np.arange(200), random.integers(0, 200, 2000)])
    x = sp.csr_array((np.ones(2200, dtype=np.float32), y, np.arange(2201)), shape=(2200, 200))
    first, second = np.flatnonzero(y < 150), np.flatnonzero(y >= 150)
    model = ove.OneVsEachClassifier(**settings).partial_fit(x[first], y[first], classes=np.arange(200))
    assert model.settings_["scores"] == "trees" and model.score(x[second], y[second]) < 0.1
    epochs = model.settings_["epochs"]
    model.partial_fit(x[second], y[second])
    assert model.score(x, y) > 0.98 and model.settings_["epochs"] == epochs


@pytest.mark.parametrize("settings", [{}, {"solver": "batch", "l2": 0.5}, {"scores": "factored", "rank": 3, "learning_rate": 0.1, "epochs": 60}])
def test_a_loaded_model_goes_on_with_its_settings(rows, tmp_path, settings):
    x, y = rows
    ove.OneVsEachClassifier(**settings, random_state=3).fit(x, y).save(tmp_path / "model")
    model = ove.load(tmp_path / "model").set_params(warm_start=True)
    before = model.settings_
    # The file has the settings, so that parameters need not repeat them.
    model.set_params(**{name: None for name in ("scores", "rank", "solver", "l2", "epochs", "learning_rate")})
    after = model.fit(x, y).settings_
    assert {**after, "temperature": None} == {**before, "temperature": None} and model.score(x, y) > 0.8


def test_pipeline_grid_search_and_clone():
    x, y = make_classification(300, 20, n_informative=6, n_classes=3, random_state=0)
    pipeline = make_pipeline(SelectKBest(k=10), ove.OneVsEachClassifier(solver="batch"))
    search = GridSearchCV(pipeline, {"onevseachclassifier__l2": [0.1, 10, 1000]}, n_jobs=2).fit(x, y)
    assert search.best_score_ > 0.6 and search.best_params_["onevseachclassifier__l2"] < 1000
    assert cross_val_score(search.best_estimator_, x, y, scoring="neg_log_loss").mean() > -1
    assert clone(search.best_estimator_[-1]).get_params() == search.best_estimator_[-1].get_params()


def test_held_out_rows_choose_learning_rate_and_epochs():
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 20)).astype(np.float32) * 0.01
    y = np.argmax(100 * x[:, :4] + random.gumbel(size=(2000, 4)), axis=1)
    given = dict(scores="linear", epochs=5, learning_rate=0.1)
    calibrated = ove.OneVsEachClassifier(**given, calibrate=True).fit(x, y)
    chosen, given = ove.OneVsEachClassifier(scores="linear").fit(x, y), ove.OneVsEachClassifier(**given).fit(x, y)
    assert chosen.settings_["learning_rate"] > given.settings_["learning_rate"] == 0.1
    assert chosen.settings_["epochs"] == 60
    card, usual = json.loads(chosen._model.card()), json.loads(given._model.card())
    assert card["temperature"] is not None and usual.get("temperature") is None
    assert chosen.score(x, y) > given.score(x, y)

    def surprise(model):
        return -model.predict_log_proba(x)[np.arange(len(y)), y].mean()

    assert surprise(calibrated) < surprise(given)


def test_large_numbers_make_the_default_learning_rate_smaller():
    random = np.random.default_rng(0)
    x, y = random.normal(loc=1000, scale=[1, 300], size=(100, 2)), random.integers(0, 2, 100)
    model = ove.OneVsEachClassifier(scores="linear").fit(x, y)
    assert model.settings_["learning_rate"] < 0.1
    with pytest.raises(FloatingPointError, match="try a learning rate of 0.01"):
        ove.OneVsEachClassifier(learning_rate=0.1).fit(x, y)


def test_weights_keep_within_their_memory(rows):
    x, y = rows
    words = "5 classes times 41 features in the batch solver need 26.2 kB; `memory` allows 1.0 kB"
    with pytest.raises(ValueError, match=words):
        ove.OneVsEachClassifier(solver="batch", memory="1KB").fit(x, y)
    model = ove.OneVsEachClassifier(memory=1000, epochs=30).fit(x, y)
    assert model.score(x, y) > 0.5 and model.settings_["cells"] > 0
    with pytest.raises(AttributeError, match="has no coef_: its weights share cells"):
        model.coef_
    with pytest.raises(ValueError, match="2 trees need more than .* for their weights.* `memory` allows 1.0 kB"):
        ove.OneVsEachClassifier(trees=2, memory="1KB").fit(x, y)
    with pytest.raises(ValueError, match="45 vectors of 64 numbers need 23.4 kB; `memory` allows 1.0 kB"):
        ove.OneVsEachClassifier(scores="factored", memory="1KB").fit(x, y)


def test_random_states(rows):
    draws = [ove.OneVsEachClassifier(epochs=5, random_state=np.random.RandomState(3)).fit(*rows).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*draws)
    draws = [ove.OneVsEachClassifier(epochs=5, random_state=None).fit(*rows).coef_ for _ in range(2)]
    assert not np.array_equal(*draws)


def test_every_objective_and_sampler_learns(rows):
    x, y = rows
    for objective in ("one-vs-each", "merged", "softmax", "bouchard"):
        for settings in ({"solver": "batch"}, {"epochs": 30}):
            assert ove.OneVsEachClassifier(objective, **settings).fit(x, y).score(x, y) > 0.75
    for sampler in ("systematic", "uniform", "frequency", "rivals"):
        for objective in ("one-vs-each", "sampled-softmax"):
            settings = {"sampler": sampler, "negatives": 2, "epochs": 30}
            assert ove.OneVsEachClassifier(objective, **settings).fit(x, y).score(x, y) > 0.75


def test_what_plain_training_chooses_is_a_setting(rows, tmp_path):
    x, y = rows
    model = ove.OneVsEachClassifier().fit(x, y)
    found = model.settings_
    assert (found["scores"], found["objective"], found["solver"]) == ("linear", "softmax", "batch")
    assert found["l2"] in (1, 0.1, 0.01) and found["temperature"] > 0
    model.save(tmp_path / "model")
    assert ove.load(tmp_path / "model").settings_ == found
    one_node = ove.OneVsEachClassifier(trees=1, leaves=1).fit(x, y)
    assert one_node.settings_["leaves"] == 1 and one_node.score(x, y) > 0.8


def test_a_repeated_row_and_its_weight_are_the_same_to_the_batch_solver(rows):
    x, y = rows
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = ove.OneVsEachClassifier(solver="batch", tolerance=1e-8).fit(x, y, sample_weight=times)
    every = np.repeat(np.arange(len(y)), times)
    repeated = ove.OneVsEachClassifier(solver="batch", tolerance=1e-8).fit(x[every], y[every])
    assert weighted.settings_["l2"] == 1
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    once = ove.OneVsEachClassifier(solver="batch", tolerance=1e-8).fit(x, y)
    assert np.abs(weighted.coef_ - once.coef_).max() > 1e-2


def test_probabilities_are_a_softmax(rows):
    x, y = rows
    model = ove.OneVsEachClassifier().fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), softmax(model.decision_function(x), axis=1), rtol=1e-6)
