"""Texts, numbers and labels as columns and tables of pandas, polars and pyarrow."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ove

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture
def model():
    return ove.TextClassifier(solver="batch", l2=1, min_df=1)


@pytest.mark.parametrize("kind", TABLES)
def test_columns_are_lists(texts, kind, model):
    table = TABLES[kind]({"title": list(texts[0]), "label": list(texts[1])})
    expected = model.fit(*texts).predict_proba(texts[0])
    fitted = model.fit(table["title"], table["label"])
    assert fitted.classes_.tolist() == sorted(set(texts[1]))
    np.testing.assert_array_equal(fitted.predict_proba(table["title"]), expected)
    assert fitted.score(table["title"], table["label"]) == (fitted.predict(texts[0]) == np.array(texts[1])).mean()


@pytest.mark.parametrize("kind", TABLES)
def test_the_columns_of_a_table_are_joined(kind, model):
    rows = {"title": ["red shoes", "old coat", "red coat"], "body": ["with laces", "warm", "for snow"]}
    table, labels = TABLES[kind](rows), ["shoes", "coats", "coats"]
    joined = ["\n".join(row) for row in zip(*rows.values())]
    expected = model.fit(joined, labels).predict_proba(joined)
    np.testing.assert_array_equal(model.fit(table, labels).predict_proba(table), expected)
    # The order of the columns is that of the table, and one is enough.
    assert model.fit(table.select(["title"]) if kind != "pandas" else table[["title"]], labels).score(
        rows["title"], labels
    ) == 1


@pytest.mark.parametrize("kind", TABLES)
def test_lists_are_several_labels(kind, model):
    table = TABLES[kind]({"title": ["red shoes", "old coat", "red coat"], "labels": [["a", "b"], ["c"], ["a", "c"]]})
    found = model.fit(table["title"], table["labels"])
    assert found.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", TABLES)
def test_missing_texts_are_named(kind, model):
    table = TABLES[kind]({"title": ["red shoes", None], "body": ["with laces", "warm"]})
    with pytest.raises(ValueError, match="each text in `X` must be a string, got .* in row 1; replace missing texts"):
        model.fit(table["title"], ["a", "b"])
    with pytest.raises(ValueError, match="each text in the column 'title' of `X` must be a string, got .* in row 1"):
        model.fit(table, ["a", "b"])


def test_columns_of_one_name_are_refused(model):
    table = pd.DataFrame([["a", "b"]], columns=["title", "title"])
    with pytest.raises(ValueError, match="`X` must have columns of different names, got \\['title', 'title'\\]"):
        model.fit(table, ["a"])


def columns_of(values):
    """The same values in every kind of column."""
    kind = pa.infer_type(values)
    columns = {
        "pandas": pd.Series(values),
        "pandas from Arrow": pd.Series(values, dtype=pd.ArrowDtype(kind)),
        "polars": pl.Series(values),
        "pyarrow": pa.array(values),
        "chunks": pa.chunked_array([values[:7], values[7:]]),
    }
    if kind == pa.string():
        columns |= {
            "pandas strings": pd.Series(values, dtype="string"),
            "pandas categories": pd.Series(values, dtype="category"),
            "polars categories": pl.Series(values, dtype=pl.Categorical),
            "dictionary": pa.array(values).dictionary_encode(),
            "large strings": pa.array(values, pa.large_string()),
            "string views": pa.array(values, pa.string_view()),
        }
    return columns


def test_texts_and_labels_in_every_kind_of_column(texts, model):
    expected = model.fit(*texts).predict_proba(texts[0])
    for kind, labels in columns_of(list(texts[1])).items():
        fitted = model.fit(texts[0], labels)
        assert fitted.classes_.tolist() == sorted(set(texts[1])), kind
        np.testing.assert_array_equal(fitted.predict_proba(texts[0]), expected, err_msg=kind)
    for kind, column in columns_of(list(texts[0])).items():
        np.testing.assert_array_equal(model.predict_proba(column), expected, err_msg=kind)


@pytest.fixture
def numbers():
    random = np.random.default_rng(2)
    x = random.normal(size=(60, 3)).astype(np.float32)
    return x, np.argmax(x, axis=1).tolist()


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_numbers_are_tables(numbers, kind):
    x, y = numbers
    table = TABLES[kind]({name: x[:, n] for n, name in enumerate("pqr")})
    model = ove.OneVsEachClassifier(solver="batch", l2=1)
    expected = model.fit(x, y).predict_proba(x)
    fitted = model.fit(table, y)
    assert fitted.feature_names_in_.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(fitted.predict_proba(table), expected)


def test_labels_and_weights_of_rows_of_numbers(numbers):
    x, y = numbers
    model = ove.OneVsEachClassifier(solver="batch", l2=1)
    weights = [1.0 + n % 3 for n in range(len(y))]
    expected = model.fit(x, y, sample_weight=weights).predict_proba(x)
    for (kind, labels), weight in zip(columns_of(y).items(), columns_of(weights).values(), strict=True):
        np.testing.assert_array_equal(model.fit(x, labels, sample_weight=weight).predict_proba(x), expected, err_msg=kind)
    several = [["a", "b"] if label else ["c"] for label in y]
    expected = model.fit(x, several).predict_proba(x)
    for kind, labels in columns_of(several).items():
        fitted = model.fit(x, labels)
        assert fitted.classes_.tolist() == ["a", "b", "c"], kind
        np.testing.assert_array_equal(fitted.predict_proba(x), expected, err_msg=kind)


def test_a_query_is_not_a_table(model):
    with pytest.raises(ValueError, match=r"`X` must be a table or a column, got a query that was not run; pass X.collect\(\)"):
        model.fit(pl.DataFrame({"title": ["a", "b"]}).lazy(), ["a", "b"])
