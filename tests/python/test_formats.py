"""Files as pyarrow, SciPy and NumPy write them, and predictions as pyarrow reads them."""

import bz2
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
import scipy.sparse as sp

FLAGS = ["--text", "title:2,body", "--label", "kinds", "--weight", "w", "--id", "sku"]
SETTINGS = ["--epochs", "3", "--min-df", "1", "--json"]


@pytest.fixture(scope="module")
def shop():
    """A table of products, and the same as JSON lines."""
    rows = [
        {
            "sku": 100 + n,
            "title": None if n % 17 == 3 else f"title {n % 5} word{n % 3}",
            "body": f"naïve body {n % 7}",
            "kinds": [f"kind {n % 3}, new", f"kind {n % 2}"][: 1 + n % 2],
            "w": None if n % 11 == 4 else 0.5 + n % 4,
        }
        for n in range(500)
    ]
    return pa.Table.from_pylist(rows), "".join(json.dumps(row) + "\n" for row in rows)


def files_of(table):
    """The table in each way in which it may be written, by the name of its file."""
    coded = table.set_column(1, "title", table["title"].dictionary_encode())
    large = table.set_column(1, "title", table["title"].cast(pa.large_string()))
    for n, (content, settings) in enumerate(
        [
            (table, {}),
            (table, {"compression": "zstd", "row_group_size": 70, "data_page_version": "2.0"}),
            (coded, {"compression": "gzip", "use_dictionary": False}),
            (large, {"compression": "none", "version": "1.0", "column_encoding": {"body": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}),
            (table, {"compression": "lz4", "write_batch_size": 64, "data_page_size": 512}),
        ]
    ):
        yield f"{n}.parquet", lambda path, content=content, settings=settings: parquet.write_table(content, path, **settings)
    for n, (content, settings) in enumerate(
        [(table, {}), (coded, {"compression": "zstd", "chunksize": 64}), (large, {"compression": "uncompressed"})]
    ):
        yield f"{n}.feather", lambda path, content=content, settings=settings: feather.write_feather(content, path, **settings)


def test_tables_are_those_of_json_lines(ove, ove_json, shop, tmp_path):
    table, lines = shop
    (tmp_path / "rows.jsonl").write_text(lines)
    model = tmp_path / "model"

    def trained(path, *flags):
        found = ove_json("train", path, "-o", model, *FLAGS, *SETTINGS[:-1], *flags)
        return {key: found[key] for key in ["bound", "features", "classes"]}

    expected = trained(tmp_path / "rows.jsonl")
    lines_of_predictions = ove("predict", model, tmp_path / "rows.jsonl", "--top", 2)
    for name, write in files_of(table):
        path = tmp_path / name
        write(path)
        assert trained(path) == expected, name
        assert trained(path, "--cache", tmp_path / f"cache-{name}") == expected, name
        assert ove("predict", model, path, "--top", 2) == lines_of_predictions, name
    for compress, name in [(bz2.compress, "rows.jsonl.bz2"), (lzma.compress, "rows.jsonl.xz")]:
        (tmp_path / name).write_bytes(compress(lines.encode()))
        assert trained(tmp_path / name) == expected, name


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_predictions_are_tables(ove, shop, tmp_path, ending):
    table, _ = shop
    data, model, out = tmp_path / "shop.parquet", tmp_path / "model", tmp_path / f"out.{ending}"
    parquet.write_table(table, data)
    ove("train", data, "-o", model, *FLAGS, *SETTINGS)
    assert ove("predict", model, data, "--top", 3, "-o", out) == ""
    found = parquet.read_table(out) if ending == "parquet" else feather.read_table(out)
    expected = [json.loads(line) for line in ove("predict", model, data, "--top", 3, "--json").splitlines()]
    assert found.column_names == ["id", "labels", "probabilities", "known"]
    assert found["known"].to_pylist() == [row.pop("known", 1) == 1 for row in expected]
    assert found.drop_columns("known").to_pylist() == [
        {key: row[key] for key in ["id", "labels", "probabilities"]} for row in expected
    ]
    assert found["id"].to_pylist() == [str(sku) for sku in table["sku"].to_pylist()]


def test_numbers_of_every_file_are_those_of_libsvm(ove_json, ove, rows, tmp_path):
    x, y, svm = rows
    dense = x.toarray()
    columns = {f"f{n}": dense[:, n] for n in range(dense.shape[1])}
    table = pa.table({"y": y, **columns})
    parquet.write_table(table, tmp_path / "x.parquet")
    header = ",".join(table.column_names)
    np.savetxt(tmp_path / "x.csv", np.column_stack([y, dense]), delimiter=",", header=header, comments="", fmt=["%d"] + ["%.9g"] * 40)
    sp.save_npz(tmp_path / "x.npz", x)
    sp.save_npz(tmp_path / "long.npz", sp.csr_matrix((x.data.astype(float), x.indices.astype(np.int64), x.indptr.astype(np.int64)), x.shape), compressed=False)
    np.save(tmp_path / "x.npy", dense)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(dense.astype(">f8")))
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "x.labels.npy", y.astype(str))
    (tmp_path / "y.txt").write_text("".join(f"{label}\n" for label in y))
    indicator = sp.csr_matrix((np.ones(len(y), bool), y, np.arange(len(y) + 1)))
    sp.save_npz(tmp_path / "y.npz", indicator)
    model = tmp_path / "model"

    def trained(name, *flags):
        found = ove_json("train", tmp_path / name, "-o", model, "--solver", "batch", "--l2", "1", *flags)
        return found["bound"], found["classes"]

    expected = trained(svm)
    scores = ove_json("evaluate", model, svm)["nlpd"]
    for name, flags in [
        ("x.npz", []),
        ("x.npy", []),
        *((name, ["--labels", tmp_path / labels]) for name in ["long.npz", "fortran.npy"] for labels in ["y.npy", "y.txt", "y.npz"]),
        ("x.parquet", ["--features", "all", "--label", "y"]),
        ("x.csv", ["--features", "all", "--label", "y"]),
        ("x.parquet", ["--features", ",".join(columns), "--label", "y"]),
    ]:
        assert trained(name, *flags) == expected, (name, flags)
        labels = flags if "--labels" in flags else []
        assert ove_json("evaluate", model, tmp_path / name, *labels)["nlpd"] == scores
        assert len(ove("predict", model, tmp_path / name).splitlines()) == len(y)
