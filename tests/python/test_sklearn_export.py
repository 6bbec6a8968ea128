"""`ove export --format sklearn`: the pipeline predicts what the model predicts, with nothing but scikit-learn."""

import json
import pickle
import warnings

import numpy as np
import pytest

WORDS = "oak pine house old stone tree wood city café naïve हिन्दी ΣΟΦΙΑ İzmir 22 c++ cafe\u0301s".split()
SETTINGS = {
    "words": [],
    "pairs": ["--ngrams", "2", "--sublinear-tf"],
    "characters": ["--ngrams", "0", "--chars", "2-4"],
    "no idf": ["--no-idf"],
    "tokens": ["--tokens", "--ngrams", "2"],
    "pruned": ["--prune", "0.1"],
}


def texts(count, classes):
    random = np.random.default_rng(3)
    for n in range(count):
        k = n % classes
        own = [WORDS[(3 * k + j) % len(WORDS)] for j in range(3)]
        yield " ".join([*random.permutation(own), *random.choice(WORDS, 3)]), f"class{k}"


@pytest.mark.parametrize("classes", [2, 12])
@pytest.mark.parametrize("kind", SETTINGS)
def test_the_pipeline_predicts_the_same(ove, tmp_path, kind, classes):
    lines = list(texts(240, classes))
    (tmp_path / "t.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in lines))
    (tmp_path / "texts").write_text("".join(f"{text}\n" for text, _ in lines))
    model, file = tmp_path / "m", tmp_path / "m.pickle"
    ove("train", tmp_path / "t.tsv", "-o", model, "--scores", "linear", "--epochs", "5", *SETTINGS[kind])
    ove("export", model, "--format", "sklearn", "-o", file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = pickle.loads(file.read_bytes())
        found = pipeline.predict_proba([text for text, _ in lines])
    assert list(pipeline.classes_) == sorted({label for _, label in lines})
    order = {label: n for n, label in enumerate(pipeline.classes_)}
    predicted = ove("predict", model, tmp_path / "texts", "--top", str(classes), "--json").splitlines()
    for line, row in zip(predicted, found, strict=True):
        expected = json.loads(line)
        np.testing.assert_allclose(
            row[[order[label] for label in expected["labels"]]], expected["probabilities"], atol=1e-6
        )
    # Names of classes, not numbers.
    assert np.mean(pipeline.predict([text for text, _ in lines]) == [label for _, label in lines]) > 0.5


@pytest.mark.parametrize(
    "flags, reason",
    [
        (["--scores", "trees"], "trees, whose probabilities are no softmax of linear scores"),
        (["--scores", "factored", "--rank", "4"], "factored scores"),
        (["--hash", "1000"], "hashed features"),
        (["--stem", "english"], "stems"),
        (["--chars", "3-4"], "words together with n-grams of characters"),
    ],
)
def test_what_is_not_exact_is_refused(ove, tmp_path, flags, reason):
    (tmp_path / "t.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in texts(240, 12)))
    ove("train", tmp_path / "t.tsv", "-o", tmp_path / "m", *(flags if "--scores" in flags else ["--scores", "linear", *flags]))
    with pytest.raises(AssertionError, match=f"must be exact, which it is not for {reason}"):
        ove("export", tmp_path / "m", "--format", "sklearn", "-o", tmp_path / "m.pickle")
    assert not (tmp_path / "m.pickle").exists()


def test_several_labels_and_rows_of_numbers_are_refused(ove, rows, tmp_path):
    lines = [f"{text}\t{label} {'odd' if n % 2 else 'even'}\n" for n, (text, label) in enumerate(texts(240, 12))]
    (tmp_path / "t.tsv").write_text("".join(lines))
    ove("train", tmp_path / "t.tsv", "-o", tmp_path / "m", "--scores", "linear", "--epochs", "2", "--calibrate")
    with pytest.raises(AssertionError, match="rows with several labels"):
        ove("export", tmp_path / "m", "--format", "sklearn", "-o", tmp_path / "m.pickle")
    ove("train", rows[2], "-o", tmp_path / "r")
    with pytest.raises(AssertionError, match="must be for a model of texts"):
        ove("export", tmp_path / "r", "--format", "sklearn", "-o", tmp_path / "m.pickle")
