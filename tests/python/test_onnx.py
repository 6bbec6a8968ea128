"""`ove export --format onnx`: ONNX Runtime gives the classes and probabilities of `ove predict`, for every kind of model."""

import importlib.util
import json

import numpy as np
import onnx
import onnxruntime
import pytest

from conftest import write_libsvm

CLASSES = 150

# It warns of the default of `k`.
onnxruntime.set_default_logger_severity(3)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Rows of 150 classes, each with five features of its own among others; some with two labels."""
    random = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("many")
    own = random.integers(0, 300, (CLASSES, 5))

    def row(labels):
        found = {int(d): float(np.float32(0.5 + random.random())) for k in labels for d in own[k]}
        found |= {int(d): float(np.float32(random.random())) for d in random.integers(0, 300, 4)}
        return ",".join(map(str, labels)) + "".join(f" {d}:{found[d]!r}" for d in sorted(found)) + "\n"

    each = [int(k) for k in np.tile(np.arange(CLASSES), 12)]
    (folder / "single.svm").write_text("".join(row([k]) for k in each))
    (folder / "several.svm").write_text("".join(row(sorted({k, int(k * 7 % CLASSES)})) for k in each))
    # Rows to predict: also one without features, and one with features that the models do not have.
    lines = "".join(row([k]) for k in each[:60]) + "0 4000:2\n0 1:0.25 4000:2\n"
    (folder / "rows.svm").write_text(lines)
    entries = [[pair.split(":") for pair in line.split()[1:]] for line in lines.splitlines()]
    offsets = np.cumsum([0, *map(len, entries)])
    pairs = [pair for line in entries for pair in line]
    inputs = {
        "indices": np.array([int(d) for d, _ in pairs], "i8"),
        "values": np.array([float(v) for _, v in pairs], "f4"),
        "offsets": offsets.astype("i8"),
    }
    return folder, inputs


def check(ove, model, data, inputs, top, *flags):
    """Exports a model and compares the `top` classes of rows; returns the session and the classes in their order."""
    exported = model.with_suffix(".onnx")
    ove("export", model, "--format", "onnx", "-o", exported, *flags)
    onnx.checker.check_model(str(exported), full_check=True)
    session = onnxruntime.InferenceSession(exported)
    classes = json.loads(exported.with_suffix(".json").read_text())["classes"]
    found, probabilities = session.run(["classes", "probabilities"], {**inputs, "k": np.array([top], "i8")})
    lines = ove("predict", model, data, "--top", str(top), "--json").splitlines()
    assert len(lines) == len(found) == len(inputs["offsets"]) - 1
    for line, own, p in zip(lines, found, probabilities):
        expected = json.loads(line)
        np.testing.assert_allclose(p, expected["probabilities"], atol=1e-5)
        # Classes whose probabilities differ by less than the rounding may be exchanged.
        labels = [classes[k] for k in own]
        differ = [at for at, (a, b) in enumerate(zip(labels, expected["labels"])) if a != b]
        of = dict(zip(expected["labels"], expected["probabilities"]))
        assert all(abs(of.get(labels[at], p[-1]) - p[at]) < 1e-6 for at in differ), (labels, expected)
        assert len(differ) <= len(labels) // 4
    return session, classes


LINEAR = ["--scores", "linear", "--epochs", "5"]
KINDS = {
    "dense": LINEAR,
    "hashed": [*LINEAR, "--memory", "120KB"],
    "pruned": [*LINEAR, "--prune", "0.2"],
    "factored": ["--scores", "factored", "--rank", "8", "--epochs", "5"],
    "trees": ["--scores", "trees", "--effort", "fast"],
    "second stage": ["--scores", "trees"],
}


@pytest.mark.parametrize("labels", ["single", "several"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_scores(ove, many, tmp_path, kind, labels):
    folder, inputs = many
    model = tmp_path / "m.model"
    ove("train", folder / f"{labels}.svm", "-o", model, *KINDS[kind])
    session, classes = check(ove, model, folder / "rows.svm", inputs, 7)
    assert sorted(classes, key=int) == [str(k) for k in range(CLASSES)]
    # As many as there are; trees find those of the leaves that they search, and say so.
    found, probabilities = session.run(["classes", "probabilities"], {**inputs, "k": np.array([10**6], "i8")})
    assert found.shape == probabilities.shape == (62, CLASSES)
    if "scores" in (of_all := {output.name for output in session.get_outputs()}):
        assert sorted(found[0]) == list(range(CLASSES))
        (all_scores,) = session.run(["scores"], inputs)
        np.testing.assert_array_equal(np.argmax(all_scores, axis=1)[:60], found[:60, 0])
    else:
        assert of_all == {"classes", "probabilities"} and (probabilities[found == -1] == 0).all()
    # Five by default; no rows and rows without entries are rows, too.
    assert session.run(["classes"], inputs)[0].shape == (62, 5)
    for count in [0, 2]:
        empty = {"indices": np.zeros(0, "i8"), "values": np.zeros(0, "f4"), "offsets": np.zeros(count + 1, "i8")}
        assert session.run(["classes"], empty)[0].shape == (count, 5)


def test_weights_in_a_second_file(ove, many, tmp_path):
    folder, inputs = many
    model = tmp_path / "m.model"
    ove("train", folder / "single.svm", "-o", model, *LINEAR)
    check(ove, model, folder / "rows.svm", inputs, 5)
    whole = (tmp_path / "m.onnx").stat().st_size
    check(ove, model, folder / "rows.svm", inputs, 5, "--external-data")
    assert (tmp_path / "m.onnx").stat().st_size < whole / 10
    assert (tmp_path / "m.onnx.data").stat().st_size > 0.9 * whole - 4096


TEXTS = [
    "The cafés of Nº 12: naïve_bayes, x y zz", "Old houses and housing; the OLD house", "ΟΔΟΣ ΣΟΦΙΑ Straße STRASSE İzmir",
    "हिन्दी cafe\u0301s \u2764\ufe0flove \u0301\u0302 \u0301ab", "rates: running runs ran, happily happiness", "", "…",
    "a b c 1 22 333 c++ Cat's", "Москва and 日本 の本 か\u3099き", "שָׁלוֹם مُحَمَّد తెలుగు bibliothèques libraries library",
]  # fmt: skip
SETTINGS = {
    "words": [],
    "pairs": ["--ngrams", "2", "--sublinear-tf"],
    "stems": ["--stem", "english", "--ngrams", "2"],
    "characters": ["--chars", "3-5", "--ngrams", "0"],
    "both, no idf": ["--chars", "2-4", "--no-idf"],
    "hashed": ["--hash", "5000", "--chars", "3-4"],
    "tokens": ["--tokens"],
    "apart": ["--scores", "trees", "--effort", "best"],
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_tokenizer_makes_the_rows_of_ove(ove, tmp_path, kind):
    lines = [f"{text} {TEXTS[(7 * n + 3) % 10]}\t{n % 3}" for n, text in enumerate(TEXTS * 6)]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    model, exported = tmp_path / "t.model", tmp_path / "t.onnx"
    ove("train", tmp_path / "t.tsv", "-o", model, "--format", "tsv", "--epochs", "3", *SETTINGS[kind])
    ove("export", model, "--format", "onnx", "-o", exported)
    options = json.loads((tmp_path / "t.json").read_text())["text"]["options"]
    assert options["apart"] == (kind == "apart") and (options["stem"] is None) == (kind not in ["stems", "apart"])
    assert {path.name for path in tmp_path.glob("t.*")} >= {"t.onnx", "t.json", "t.py"}
    spec = importlib.util.spec_from_file_location("tokenizer", tmp_path / "t.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.Tokenizer(tmp_path / "t.json").rows([line.split("\t")[0] for line in lines])

    # The rows as `ove` makes them.
    ove("convert", tmp_path / "t.tsv", "-o", tmp_path / "t.xmc", "--format", "tsv", "--like", model)
    header, *expected = (tmp_path / "t.xmc").read_text().splitlines()
    for n, line in enumerate(expected):
        own = slice(rows["offsets"][n], rows["offsets"][n + 1])
        pairs = [pair.split(":") for pair in line.split()[1:]]
        assert rows["indices"][own].tolist() == [int(d) for d, _ in pairs], lines[n]
        np.testing.assert_allclose(rows["values"][own], [float(v) for _, v in pairs], rtol=1e-6)
    assert len(expected) == len(lines) and len(rows["indices"]) > 100

    (tmp_path / "texts").write_text("\n".join([*TEXTS, "qqqq"]) + "\n")
    rows = module.Tokenizer(tmp_path / "t.json").rows([*TEXTS, "qqqq"])
    check(ove, model, tmp_path / "texts", rows, 3)


def test_what_has_no_form_in_onnx_is_refused(ove, tmp_path):
    (tmp_path / "text.txt").write_text("a small text of a few words\n" * 50)
    ove("embed", tmp_path / "text.txt", "-o", tmp_path / "words", "--rank", "4", "--epochs", "1")
    with pytest.raises(AssertionError, match="a model of word vectors has no ONNX form"):
        ove("export", tmp_path / "words", "--format", "onnx", "-o", tmp_path / "w.onnx")
    assert not list(tmp_path.glob("w.*"))
