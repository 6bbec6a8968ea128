"""Recommenders: by the habits of implicit, on users who choose from groups of items."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import ove
from ove.evaluation import ranking_metrics_at_k, train_test_split

USERS, ITEMS, GROUPS = 200, 40, 4


@pytest.fixture(scope="module")
def interactions():
    """User u chooses six items of group u % 4, and one of any."""
    random = np.random.default_rng(0)
    table = np.zeros((USERS, ITEMS), dtype=np.float32)
    for user in range(USERS):
        own = np.arange(user % GROUPS, ITEMS, GROUPS)
        table[user, random.choice(own, 6, replace=False)] = 1
        table[user, random.integers(ITEMS)] = 1
    return sp.csr_matrix(table)


@pytest.fixture(scope="module")
def model(interactions):
    return ove.Recommender(rank=4, epochs=60, temperature=0.3, batch=16).fit(interactions, show_progress=False)


def co_occurrence(interactions, model):
    """What co-occurrence adds to the scores of all items for each user, by its definition."""
    x = interactions.toarray().astype(float)
    x *= (x > 0).sum(1, keepdims=True) / x.sum(1, keepdims=True)
    of_users, of_items = (x > 0).sum(1), x.sum(0)
    b = x.T @ (x * of_users[:, None] ** -0.7) / np.outer(of_items**0.7, of_items**0.3)
    np.fill_diagonal(b, 0)
    return model.settings_["co_occurrence"] / model.settings_["temperature"] * x @ b


def of_group(ids, user):
    return np.mean(np.asarray(ids) % GROUPS == user % GROUPS)


def test_code_for_another_package_runs_with_one_line_changed(interactions):
    # model = implicit.bpr.BayesianPersonalizedRanking(factors=4, iterations=60, random_state=0)
    model = ove.Recommender(rank=4, epochs=60, temperature=0.3, batch=16, random_state=0)
    train, test = train_test_split(interactions, train_percentage=0.8, random_state=1)
    model.fit(train, show_progress=False)
    userid = 5
    ids, scores = model.recommend(userid, train[userid], N=3, filter_already_liked_items=True)
    assert ids.shape == scores.shape == (3,) and of_group(ids, userid) == 1 and (np.diff(scores) <= 0).all()
    userids = np.arange(50)
    ids, scores = model.recommend(userids, train[userids], N=3)
    assert ids.shape == scores.shape == (50, 3) and np.mean([of_group(*pair) for pair in zip(ids, userids)]) > 0.9
    ids, scores = model.similar_items(7, N=5)
    assert ids[0] == 7 and of_group(ids, 7) == 1
    ids, scores = model.similar_users(userid)
    assert ids[0] == userid and of_group(ids, userid) > 0.8
    assert model.user_factors.shape == (USERS, 4) and model.item_factors.shape == (ITEMS, 4)
    metrics = ranking_metrics_at_k(model, train, test, K=5, show_progress=False)
    assert set(metrics) == {"precision", "map", "ndcg", "auc"} and metrics["auc"] > 0.6


def test_scores_are_those_of_the_definition_and_every_filter_filters(model, interactions):
    userids = [3, 8, 150, 9, 4]
    everything = (model.user_factors @ model.item_factors.T + co_occurrence(interactions, model))[userids]
    for wanted in (userids, 8):
        rows = interactions[wanted]
        ids, scores = model.recommend(wanted, rows, N=ITEMS, filter_already_liked_items=False)
        table = np.atleast_2d(everything[1] if wanted == 8 else everything)
        np.testing.assert_allclose(np.atleast_2d(scores), -np.sort(-table, axis=1), rtol=1e-4, atol=1e-4)
        found = np.take_along_axis(table, np.atleast_2d(ids), axis=1)
        np.testing.assert_allclose(np.atleast_2d(scores), found, rtol=1e-4, atol=1e-4)
        ids, scores = model.recommend(wanted, rows, N=ITEMS)
        for ids, scores, row in zip(np.atleast_2d(ids), np.atleast_2d(scores), rows):
            assert set(ids[ids >= 0]) == set(range(ITEMS)) - set(row.indices)
            assert (ids[-row.nnz :] == -1).all() and np.isneginf(scores[-row.nnz :]).all()
        ids, _ = model.recommend(wanted, rows, N=5, filter_items=[0, 1, 2], filter_already_liked_items=False)
        assert not np.isin(ids, [0, 1, 2]).any()
        ids, scores = model.recommend(wanted, rows, N=5, items=[9, 1, 2], filter_already_liked_items=False)
        assert np.atleast_2d(ids).shape[1] == 3 and set(np.ravel(ids)) == {1, 2, 9}
        found = np.take_along_axis(table, np.atleast_2d(ids), 1)
        np.testing.assert_allclose(np.atleast_2d(scores), found, rtol=1e-4, atol=1e-4)
    liked = interactions[8].indices
    ids, _ = model.recommend(8, interactions[8], items=[*liked[:2], *np.setdiff1d(np.arange(ITEMS), liked)[:2]])
    assert set(ids) == {-1, *np.setdiff1d(np.arange(ITEMS), liked)[:2]}
    ids, scores = model.similar_items([7, 8], N=3, filter_items=[7])
    assert ids.shape == (2, 3) and not (ids == 7).any() and of_group(ids[0], 7) == 1
    cosines = model.item_factors @ model.item_factors[7] / np.linalg.norm(model.item_factors, axis=1)
    np.testing.assert_allclose(scores[0], cosines[ids[0]] / np.linalg.norm(model.item_factors[7]), rtol=1e-5)
    assert model.similar_users(7, N=5, users=[8, 9])[0].shape == (2,)


def test_new_users_and_items_without_training(interactions):
    model = ove.Recommender(rank=4, epochs=60, temperature=0.3, batch=16).fit(interactions, show_progress=False)
    items = model.item_factors.copy()
    row = sp.csr_matrix((np.ones(3), [2, 6, 10], [0, 3]), shape=(1, ITEMS))
    ids, scores = model.recommend(0, row, N=5, recalculate_user=True)
    assert of_group(ids, 2) == 1 and not np.isin(ids, [2, 6, 10]).any()
    # A user beyond the next number: the one between has no items.
    model.partial_fit_users([USERS + 1, 3], sp.vstack([row, row]))
    assert model.user_factors.shape == (USERS + 2, 4) and not model.user_factors[USERS].any()
    np.testing.assert_array_equal(model.item_factors, items)
    np.testing.assert_array_equal(model.user_factors[3], model.user_factors[USERS + 1])
    for user in (3, USERS + 1):
        again = model.recommend(user, row, N=5)
        np.testing.assert_array_equal(again[0], ids)
        np.testing.assert_allclose(again[1], scores, rtol=1e-5)
    # A new item with the users of a group is like the other items of the group.
    users = sp.csr_matrix((np.ones(8), np.arange(3, 35, 4), [0, 8]), shape=(1, USERS + 2))
    model.partial_fit_items([ITEMS], users)
    ids, _ = model.similar_items(ITEMS, N=4)
    assert ids[0] == ITEMS and of_group(ids[1:], 3) == 1
    assert model.items_[ITEMS] == str(ITEMS) and len(model.items_) == ITEMS + 1
    found, _ = model.similar_items(0, N=4, recalculate_item=True, item_users=users)
    assert found[0] == ITEMS
    # Popular with everybody: it is recommended to more users than an item with one.
    everyone = sp.csr_matrix(np.ones((1, USERS + 2)))
    model.partial_fit_items([ITEMS + 1], everyone)
    assert np.linalg.norm(model.item_factors[ITEMS + 1]) == pytest.approx(1, rel=1e-5)


def test_explanations_name_the_items_that_speak_for_it(model):
    row = sp.csr_matrix((np.ones(6), [0, 1, 4, 5, 8, 9], [0, 6]), shape=(1, ITEMS))
    for item in (12, 13):
        score, reasons, weights = model.explain(0, row, item, N=3)
        assert len(reasons) == 3 and of_group([reason for reason, _ in reasons], item) == 1
        ids, scores = model.recommend(0, row, items=[item], recalculate_user=True)
        assert ids[0] == item and score == pytest.approx(scores[0], rel=1e-4)
        assert score > model.recalculate_user(0, row) @ model.item_factors[item]
        assert model.explain(0, row, item, user_weights=weights, N=3)[1] == reasons
    assert len(model.explain(0, row, 12)[1]) == 6


def test_files_and_pickles_bring_everything_back(model, interactions, tmp_path):
    model.save(tmp_path / "model")
    for again in (
        ove.load(tmp_path / "model"),
        ove.Recommender.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert isinstance(again, ove.Recommender) and again.settings_ == model.settings_
        np.testing.assert_array_equal(again.user_factors, model.user_factors)
        for one, other in zip(again.recommend(7, interactions[7]), model.recommend(7, interactions[7])):
            np.testing.assert_array_equal(one, other)
    same = clone(ove.load(tmp_path / "model")).fit(interactions, show_progress=False)
    np.testing.assert_array_equal(same.user_factors, model.user_factors)
    assert clone(model).get_params() == model.get_params()


def test_weights_count_and_the_same_seed_gives_the_same_bits(interactions):
    settings = {"rank": 4, "epochs": 10, "temperature": 0.3, "batch": 16}
    first = ove.Recommender(**settings, n_jobs=1).fit(interactions, show_progress=False)
    second = ove.Recommender(**settings, n_jobs=2).fit(interactions.tocoo(), show_progress=False)
    np.testing.assert_array_equal(first.user_factors, second.user_factors)
    heavy = interactions.copy()
    heavy.data[heavy.indices % 2 == 0] = 5
    weighted = ove.Recommender(**settings).fit(heavy, show_progress=False)
    assert np.abs(weighted.user_factors - first.user_factors).max() > 0.1
    chosen = ove.Recommender(rank=4, temperature=0.3, batch=16).fit(*[interactions] * 1, show_progress=False, tune_on=interactions[::-1])
    assert chosen.settings_["epochs"] > 0


def test_metrics_are_those_of_the_definitions(model, interactions):
    class Fixed:
        def recommend(self, userid, user_items, N):
            return np.array([[4, 1, 0], [2, 3, 1]])[np.searchsorted([0, 2], userid)], None

    train = sp.csr_matrix((3, 5))
    test = sp.csr_matrix([[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]])
    found = ranking_metrics_at_k(Fixed(), train, test, K=3, show_progress=False)
    # Hits at 2 and 3 of two test items; at 2 of one.
    second, third = 1 / np.log2(3), 1 / 2
    assert found["precision"] == pytest.approx(3 / 3)
    assert found["map"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1 / 2) / 2)
    assert found["ndcg"] == pytest.approx(((second + third) / (1 + second) + second) / 2)
    # The first user: no pair of the one miss, and (2 + 2)/2 of each of the two others; of 2 × 3 pairs. The second: one
    # miss before and one after the hit, so 1 of these, and (1 + 1)/2 for each of the two others; of 1 × 4 pairs.
    assert found["auc"] == pytest.approx((4 / 6 + 3 / 4) / 2)


def test_wrong_input_is_named(model, interactions):
    for work, error, message in [
        (lambda: ove.Recommender().fit(interactions.toarray()), ValueError, "`user_items` must be a sparse matrix of SciPy, got ndarray"),
        (lambda: ove.Recommender().fit(-interactions), ValueError, "`user_items` must have weights that are finite and above 0, got -1.0"),
        (lambda: ove.Recommender(rank=0).fit(interactions), ValueError, "`rank` must be at least 1, got 0"),
        (lambda: ove.Recommender(epochs=2).fit(sp.csr_matrix((3, 3))), ValueError, "a recommender needs at least one interaction"),
        (lambda: ove.Recommender().fit(interactions, tune_on=interactions[:3]), ValueError, "`tune_on` must have the shape of `user_items`"),
        (lambda: model.recommend(USERS, interactions[0]), IndexError, f"`userid` must be from 0 to {USERS - 1}, got {USERS}"),
        (lambda: model.recommend([1, 2], interactions[0]), ValueError, r"`user_items` must have the shape \(2, 40\), got \(1, 40\)"),
        (lambda: model.recommend(1, None), ValueError, "`user_items` must be a sparse matrix"),
        (lambda: model.recommend(1, interactions[1], items=[1], filter_items=[2]), ValueError, "`filter_items` must be left out beside `items`"),
        (lambda: model.recommend(1, interactions[1], items=[ITEMS]), IndexError, f"`items` must be from 0 to {ITEMS - 1}"),
        (lambda: model.recommend(1, interactions[1], N=-1), ValueError, "`N` must be an integer of at least 0"),
        (lambda: model.similar_items("a"), ValueError, "`itemid` must be an integer"),
        (lambda: model.partial_fit_users([1, 1], interactions[:2]), ValueError, "numbers must be distinct"),
        (lambda: ranking_metrics_at_k(model, interactions, interactions[:2]), ValueError, "`test_user_items` must have the shape"),
        (lambda: ranking_metrics_at_k(model, interactions, interactions, K=0), ValueError, "`K` must be at least 1"),
    ]:
        with pytest.raises(error, match=message):
            work()
    with pytest.raises(Exception, match="not fitted"):
        ove.Recommender().recommend(0, interactions[0])
    assert model.recommend(0, None, filter_already_liked_items=False)[0].shape == (10,)


def test_a_model_of_another_kind_is_refused(rows, tmp_path):
    ove.OneVsEachClassifier().fit(*rows).save(tmp_path / "model")
    with pytest.raises(ValueError, match="the model is not a recommender"):
        ove.Recommender.load(tmp_path / "model")


def test_a_model_of_the_command_line_has_names(tmp_path, interactions):
    import os

    program = os.environ.get("OVE")
    if not program:
        pytest.skip("OVE does not name the program")
    lines = [f"u{u}\ti{i}\t2\n" for u, i in zip(*interactions.nonzero())]
    (tmp_path / "visits.txt").write_text("".join(lines))
    subprocess.run(
        [program, "train", "visits.txt", "--format", "interactions", "-o", "m", "--rank", "4", "--epochs", "5"],
        cwd=tmp_path, check=True, capture_output=True, timeout=60,
    )
    model = ove.load(tmp_path / "m")
    assert model.users_[0] == "u0" and len(model.items_) == ITEMS and model.settings_["epochs"] == 5


def test_ctrl_c_stops(interactions):
    program = """
import os, signal, threading, time
import numpy as np, scipy.sparse as sp, ove
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ove.Recommender(epochs=10**6).fit(sp.random(2000, 500, 0.02, format="csr", random_state=0), show_progress=False)
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped\n", done.stderr
