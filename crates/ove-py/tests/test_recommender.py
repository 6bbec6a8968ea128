"""`Recommender`: the habits of implicit, on users of known groups."""

import numpy as np
import pytest
import scipy.sparse as sp

import ove


@pytest.fixture(scope="module")
def visits():
    """600 users in five groups; nine in ten items of a user are of the group, item i being of group i % 5."""
    random = np.random.default_rng(0)
    users, items = [], []
    for user in range(600):
        for _ in range(10):
            item = 5 * random.integers(20) + user % 5
            users.append(user)
            items.append(item if random.random() < 0.9 else random.integers(100))
    matrix = sp.csr_matrix((np.ones(len(users)), (users, items)), (600, 100))
    matrix.data[:] = 1
    is_test = random.random(matrix.nnz) < 0.2
    coo = matrix.tocoo()
    part = lambda keep: sp.csr_matrix((coo.data[keep], (coo.row[keep], coo.col[keep])), coo.shape)
    return part(~is_test), part(is_test)


def trained(visits, **params):
    params = {"rank": 4, "temperature": 0.5, "epochs": 60, "batch": 64, "learning_rate": 0.1, **params}
    return ove.Recommender(**params).fit(visits[0], show_progress=False)


def test_code_for_implicit_runs(visits):
    """What its README does with a model, after the line that makes it."""
    train, test = visits
    model = ove.Recommender(rank=4, temperature=0.5, epochs=60, batch=64, learning_rate=0.1)
    model.fit(train, show_progress=False)
    ids, scores = model.recommend(7, train[7], N=10, filter_already_liked_items=True)
    assert ids.shape == scores.shape == (10,)
    assert (np.diff(scores) <= 0).all() and not set(ids) & set(train[7].indices)
    assert (ids[:5] % 5 == 2).all()
    many, _ = model.recommend(np.arange(50), train[:50], N=3)
    assert (many % 5 == (np.arange(50) % 5)[:, None]).mean() > 0.9
    assert np.array_equal(many[7], ids[:3])
    related, cosines = model.similar_items(13)
    assert related[0] == 13 and cosines[0] == pytest.approx(1, abs=1e-5) and (related[:5] % 5 == 3).all()
    friends, _ = model.similar_users([3, 4], N=4)
    assert friends.shape == (2, 4) and (friends % 5 == [[3], [4]]).all()
    metrics = ove.evaluation.ranking_metrics_at_k(model, train, test, K=10, show_progress=False)
    assert sorted(metrics) == ["auc", "map", "ndcg", "precision"] and metrics["precision"] > 0.3


def test_new_users_filters_and_reasons(visits):
    train, _ = visits
    model = trained(visits)
    again, _ = model.recommend(0, train[8], N=5, recalculate_user=True)
    assert (again % 5 == 3).all() and not set(again) & set(train[8].indices)
    only, _ = model.recommend(8, train[8], N=5, items=[1, 3, 8], filter_already_liked_items=False)
    assert set(only[:2]) == {3, 8} and set(only[3:]) == {-1}
    without, _ = model.recommend(8, train[8], N=5, filter_items=again)
    assert not set(without) & set(again)
    score, reasons, _ = model.explain(8, train, int(again[0]), N=3)
    assert reasons[0][0] % 5 == 3 and reasons[0][1] > 0 and score > 0
    model.partial_fit_users([600], train[8])
    assert np.array_equal(model.recommend(600, train[8], N=5)[0], again)
    seen, _ = model.recommend(8, N=100)
    assert not set(seen) & set(train[8].indices)


def test_a_file_has_all_of_it(visits, tmp_path):
    model = trained(visits)
    model.save(tmp_path / "m")
    loaded = ove.Recommender.load(tmp_path / "m")
    assert np.array_equal(loaded.user_factors, model.user_factors)
    assert np.array_equal(loaded.recommend(3)[0], model.recommend(3)[0])
    one = trained(visits, n_jobs=1)
    assert np.array_equal(one.item_factors, trained(visits, n_jobs=3).item_factors)


def test_wrong_input_is_named(visits):
    train, _ = visits
    model = trained(visits, epochs=1)
    for wrong, message in [
        (lambda: ove.Recommender(rank=0).fit(train, show_progress=False), "`rank` must be at least 1, got 0"),
        (lambda: ove.Recommender().fit(train.toarray()), "`user_items` must be a sparse matrix of SciPy, got ndarray"),
        (lambda: ove.Recommender().fit(-train, show_progress=False), "must be above 0"),
        (lambda: model.recommend([1, 2], train[1]), "`user_items` must have one row per user, 2 in all, got 1"),
        (lambda: model.recommend(1, train[1], items=[1], filter_items=[2]), "must not both be given"),
    ]:
        with pytest.raises(ValueError, match="") as error:
            wrong()
        assert message in str(error.value)
    with pytest.raises(IndexError, match="`userid` must be at least 0 and below 600"):
        model.recommend(600, train[1])


def test_metrics_by_hand():
    class Fixed:
        def recommend(self, users, rows, N):
            return np.array([[4, 0, 2]]), None

    test = sp.csr_matrix(([1, 1, 1], ([0, 0, 0], [1, 2, 4])), (1, 10))
    found = ove.evaluation.ranking_metrics_at_k(Fixed(), sp.csr_matrix((1, 10)), test, K=3)
    gain = (1 + 0.5) / (1 + 1 / np.log2(3) + 0.5)
    assert found["precision"] == pytest.approx(2 / 3) and found["map"] == pytest.approx((1 + 2 / 3) / 3)
    assert found["ndcg"] == pytest.approx(gain)
    # One miss before the second hit, and the third item among one miss of the list and six after it: on average 4 before.
    assert found["auc"] == pytest.approx(1 - (1 + 4) / 21)
