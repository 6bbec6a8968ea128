"""Texts and labels as columns and tables of pandas, polars and pyarrow."""

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
