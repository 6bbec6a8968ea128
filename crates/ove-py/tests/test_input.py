"""Awkward input: the right answer, or the right error."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import ove


def fit(x, y):
    return ove.OneVsEachClassifier(epochs=2).fit(x, y)


@pytest.fixture
def dense(rows):
    return rows[0].toarray(), rows[1]


def forms_of_dense(x):
    yield "float64", x.astype(np.float64)
    yield "float16", x.astype(np.float16).astype(np.float32)
    yield "Fortran order", np.asfortranarray(x)
    yield "every second row of a larger array", np.repeat(x, 2, axis=0)[::2]
    yield "every second column", np.repeat(x, 2, axis=1)[:, ::2]
    yield "back to front", x[:, ::-1][:, ::-1]
    yield "lists", x.tolist()
    locked = x.copy()
    locked.flags.writeable = False
    yield "read-only", locked
    yield "big-endian", x.astype(">f4")


def test_any_form_of_dense_rows_gives_the_same_model(dense):
    x, y = dense
    expected = fit(x, y)
    for name, form in forms_of_dense(x):
        model = fit(form, y)
        tolerance = 0.02 if name == "float16" else 0
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(model.predict_proba(form), expected.predict_proba(x), atol=tolerance, err_msg=name)


def test_whole_numbers_and_truth_values_are_numbers():
    x = np.array([[0, 3], [1, 0], [0, 5], [2, 0]] * 10)
    y = np.array([0, 1, 0, 1] * 10)
    for form in (x, x.astype(np.uint8), x > 0, sp.csr_array(x), sp.coo_array(x > 0)):
        assert fit(form, y).score(form, y) == 1


def forms_of_sparse(x):
    wide = x.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert wide.indices.dtype == np.int64
    yield "64-bit indices", wide
    yield "float64", x.astype(np.float64)
    yield "csc", x.tocsc()
    yield "coo", x.tocoo()
    yield "csr_array", sp.csr_array(x)
    locked = x.copy()
    for part in (locked.data, locked.indices, locked.indptr):
        part.flags.writeable = False
    yield "read-only", locked

    shuffled = x.copy()
    for n in range(x.shape[0]):
        part = slice(x.indptr[n], x.indptr[n + 1])
        shuffled.indices[part] = shuffled.indices[part][::-1]
        shuffled.data[part] = shuffled.data[part][::-1]
    shuffled.has_sorted_indices = shuffled.has_canonical_format = False
    yield "unsorted indices", shuffled

    doubled = sp.csr_matrix(
        (np.repeat(x.data / 2, 2).astype(np.float32), np.repeat(x.indices, 2), x.indptr * 2), shape=x.shape
    )
    yield "each entry in two halves", doubled


def test_any_form_of_sparse_rows_gives_the_same_model(rows):
    x, y = rows
    expected = fit(x, y)
    for name, form in forms_of_sparse(x):
        before = form.copy()
        model = fit(form, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_, err_msg=name)
        np.testing.assert_array_equal(model.predict_proba(form), expected.predict_proba(x), err_msg=name)
        assert form.nnz == before.nnz and (form.tocsr().data == before.tocsr().data).all(), f"{name} was changed"


def test_a_data_frame_gives_names(dense, tmp_path):
    x, y = dense
    frame = pd.DataFrame(x, columns=[f"f{k}" for k in range(40)])
    model = fit(frame, pd.Series(y))
    assert model.feature_names_in_[3] == "f3"
    model.save(tmp_path / "model")
    assert ove.load(tmp_path / "model").feature_names_in_[3] == "f3"
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"f3": "g3"}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_found(rows, value):
    x, y = rows
    found = "NaN" if np.isnan(value) else value
    words = f"row 7, feature {x[7].indices[2]}: the value must be a finite 32-bit float, got {found}"
    x = x.copy()
    x.data[x.indptr[7] + 2] = value
    for form in (x, x.toarray(), np.asfortranarray(x.toarray()), x.astype(np.float64)):
        with pytest.raises(ValueError, match=words):
            fit(form, y)
        with pytest.raises(ValueError, match=words):
            fit(*rows).predict(form)


def test_a_number_too_large_for_32_bits_is_found(dense):
    x, y = dense[0].astype(np.float64), dense[1]
    x[3, 4] = 1e300
    words = "row 3, feature 4: the value must be a finite 32-bit float, got inf"
    with pytest.raises(ValueError, match=words), np.errstate(over="ignore"):
        fit(x, y)


def test_wrong_shapes(rows):
    x, y = rows
    model = fit(x, y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        fit(x.toarray()[0], y)
    with pytest.raises(ValueError, match="dim 3"):
        fit(np.zeros((2, 3, 4)), y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[299, 300\]"):
        fit(x[:-1], y)
    with pytest.raises(ValueError, match="X has 39 features, but OneVsEachClassifier is expecting 40"):
        model.predict(x[:, :-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(x[:-1], y)
    with pytest.raises(ValueError, match="sample_weight.shape"):
        fit(x, y).fit(x, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="[Nn]egative"):
        fit(x, y).fit(x, y, sample_weight=-np.ones(300))


def test_empty_input(rows):
    x, y = rows
    with pytest.raises(ValueError, match="0 sample"):
        fit(x[:0], y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        fit(x[:, :0].toarray(), y)
    with pytest.raises(ValueError, match="0 sample"):
        fit(x, y).predict(x[:0])
    blank = sp.csr_matrix((300, 40), dtype=np.float32)
    model = fit(blank, y)
    np.testing.assert_allclose(model.coef_, 0)
    assert model.predict_proba(blank).shape == (300, 5)


def test_labels_that_cannot_be(rows):
    x, y = rows
    with pytest.raises(ValueError, match="y to be passed"):
        fit(x, None)
    with pytest.raises(ValueError, match="`y` must have at least 2 classes, got 1"):
        fit(x, np.zeros(300, dtype=int))
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(x, np.linspace(0, 1, 300))
    with pytest.raises(ValueError, match="NaN"):
        fit(x, np.where(y == 0, np.nan, y))
    with pytest.raises(ValueError, match="must have only the values 0 and 1"):
        fit(x, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="`y` must have one column per class, 5 in all, got 3"):
        fit(x, y).score(x, np.ones((300, 3), dtype=int))
    assert fit(x, y).score(x, y + 1000) == 0


def test_a_broken_matrix_is_refused(rows):
    x, y = rows
    for change in ("negative", "beyond", "falling"):
        broken = x.copy()
        assert broken.has_canonical_format
        if change == "negative":
            broken.indices[0] = -1
        elif change == "beyond":
            broken.indices[x.indptr[1] - 1] = 40
        else:
            broken.indptr[5] = 10_000_000
        with pytest.raises(ValueError):
            fit(broken, y)


def test_an_unfitted_estimator_says_so(rows, tmp_path):
    for method in ("predict", "predict_proba", "decision_function", "top_k"):
        with pytest.raises(NotFittedError):
            getattr(ove.OneVsEachClassifier(), method)(rows[0])
    with pytest.raises(NotFittedError):
        ove.OneVsEachClassifier().save(tmp_path / "model")
    assert not hasattr(ove.OneVsEachClassifier(), "coef_")
