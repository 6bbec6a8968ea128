"""The reader on the page about the layout of model files, run as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

import ove

PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text()
READER, USE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def read(path):
    names = {}
    exec(READER, names)
    return names["read_model"](path)


def test_the_reader_has_ten_lines_and_gives_the_same_probabilities(rows, tmp_path, monkeypatch):
    function = READER.split("\n\n", 1)[1].strip().splitlines()
    assert len(function) <= 10
    x, y = rows
    model = ove.OneVsEachClassifier(scores="linear", epochs=3).fit(x, y)
    model.save(tmp_path / "my.model")
    monkeypatch.chdir(tmp_path)
    for row in x[:5].toarray():
        names = {"x": row, "np": np, "read_model": read}
        exec(USE, names)
        np.testing.assert_allclose(names["probabilities"], model.predict_proba([row])[0], rtol=1e-5)
        assert names["best"] == str(model.predict([row])[0])


def test_the_page_names_every_tensor_and_every_key(rows, texts, tmp_path):
    models = {
        "linear": ove.OneVsEachClassifier(scores="linear", epochs=2).fit(*rows),
        "factored": ove.OneVsEachClassifier(scores="factored", rank=4, epochs=2).fit(*rows),
        "trees": ove.TextClassifier(scores="trees").fit(*texts),
        "hashed": ove.TextClassifier(scores="linear", epochs=2, hash=64).fit(*texts),
    }
    for name, model in models.items():
        model.save(tmp_path / name)
        card, tensors = read(tmp_path / name)
        assert card["classes"] == [str(label) for label in model.classes_], name
        for key in [*card, *tensors]:
            assert f"`{key}`" in PAGE, f"{name}: {key}"
    version = re.search(r"describes layout version (\d+)", PAGE)[1]
    header = (tmp_path / "linear").read_bytes()[:20_000]
    assert f'"version":"{version}"'.encode() in header
    with pytest.raises(ValueError, match="not a usable model"):
        (tmp_path / "other").write_bytes((tmp_path / "linear").read_bytes().replace(f'"version":"{version}"'.encode(), b'"version":"1"'))
        ove.load(tmp_path / "other")
