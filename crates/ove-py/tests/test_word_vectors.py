"""Word vectors: by the habits of gensim, on sentences about countries and their capitals."""

import gzip
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ove

COUNTRIES = 12


@pytest.fixture(scope="module")
def sentences():
    """A capital occurs with cities and a country with states, both with the rivers of the country."""
    random = np.random.default_rng(0)
    sentences = []
    for _ in range(4000):
        n = random.integers(COUNTRIES)
        thing, kind = [("capital", "city"), ("country", "state")][random.integers(2)]
        words = [f"{thing}{n}", f"{kind}{random.integers(4)}", f"river{n}.{random.integers(3)}"]
        random.shuffle(words)
        sentences.append(words)
    return sentences


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "questions.txt"
    pairs = [(n, (n + step) % COUNTRIES) for step in (1, 5) for n in range(COUNTRIES)]
    lines = [f"Capital{n} Country{n} Capital{m} Country{m}" for n, m in pairs]
    path.write_text("\n".join([": capitals", *lines, ": gram1", "nowhere capital1 capital2 capital3", "river1.0 river1.1 river2.0 river2.1"]))
    return path


SETTINGS = {"rank": 16, "sample": 0, "epochs": 15, "learning_rate": 0.1}


@pytest.fixture(scope="module")
def vectors(sentences):
    return ove.WordVectors(**SETTINGS).fit(sentences, show_progress=False)


def test_words_and_their_neighbours(vectors, sentences):
    assert len(vectors) == len(vectors.words_) == len({word for words in sentences for word in words})
    assert vectors.vectors_.shape == (len(vectors), 16) and vectors.settings_["objective"] == "sampled-softmax"
    (best, score), *others = vectors.most_similar(positive=["capital1", "country2"], negative=["capital2"], topn=5)
    assert best == "country1" and len(others) == 4 and all(score >= other for _, other in others)
    assert vectors.most_similar("river3.0", topn=2) == vectors.most_similar(["river3.0"], topn=2)
    assert vectors.similarity("river3.0", "river3.1") > vectors.similarity("river3.0", "river4.1")
    a, b = vectors["river3.0"], vectors["river3.1"]
    assert np.isclose(vectors.similarity("river3.0", "river3.1"), a @ b / np.sqrt(a @ a * (b @ b)), atol=1e-5)
    assert (vectors[["river3.0", "river3.1"]] == [a, b]).all() and vectors[[]].shape == (0, 16)
    assert (a == vectors.vectors_[vectors.words_.index("river3.0")]).all()
    assert "river3.0" in vectors and "nowhere" not in vectors and 3 not in vectors


def test_a_file_and_lists_give_the_same_vectors(sentences, vectors, tmp_path):
    text = "\n".join(" ".join(words) for words in sentences)
    (tmp_path / "text").write_text(text)
    with gzip.open(tmp_path / "text.gz", "wt") as file:
        file.write(text)
    settings = {**SETTINGS, "epochs": 1}
    of_file = ove.WordVectors(**settings).fit(str(tmp_path / "text"), show_progress=False)
    assert (ove.WordVectors(**settings, n_jobs=2).fit(tmp_path / "text.gz").vectors_ == of_file.vectors_).all()
    lists = ove.WordVectors(**settings, n_jobs=1).fit((tuple(words) for words in sentences), show_progress=False)
    assert lists.words_ == of_file.words_
    assert (ove.WordVectors(**settings, n_jobs=3).fit(sentences, show_progress=False).vectors_ == lists.vectors_).all()


def test_ngrams_give_vectors_to_unknown_words(sentences):
    settings = {**SETTINGS, "epochs": 3}
    vectors = ove.WordVectors(**settings, subwords=(3, 5), buckets=1000).fit(sentences, show_progress=False)
    assert "river3.99" in vectors and "river3.99" not in vectors.words_ and vectors["river3.99"].shape == (16,)
    assert vectors.similarity("river3.99", "river3.0") > vectors.similarity("river3.99", "state1")
    again = pickle.loads(pickle.dumps(vectors))
    assert (again["river3.99"] == vectors["river3.99"]).all()


def test_files(vectors, tmp_path):
    path = tmp_path / "vectors.model"
    vectors.save(path)
    for read in (ove.WordVectors.load(path), ove.load(path), pickle.loads(pickle.dumps(vectors))):
        assert type(read) is ove.WordVectors and read.words_ == vectors.words_ and read.settings_ == vectors.settings_
        assert (read.vectors_ == vectors.vectors_).all()
    params = ove.load(path).get_params()
    assert (params["rank"], params["epochs"], params["random_state"]) == (16, 15, 0)
    assert clone(ove.load(path)).get_params() == params
    with pytest.raises(ValueError, match="is not a recommender"):
        ove.Recommender.load(path)
    expected = vectors.most_similar("river5.1")
    for format in ("word2vec", "word2vec-binary", "glove"):
        vectors.export(tmp_path / "exported", format)
        read = ove.WordVectors.load(tmp_path / "exported")
        assert read.most_similar("river5.1") == expected and read.settings_ == {}
        assert pickle.loads(pickle.dumps(read)).most_similar("river5.1") == expected
        with pytest.raises(ValueError, match="write them with `export`"):
            read.save(path)


def test_the_command_line_reads_the_file(vectors, tmp_path):
    program = os.environ.get("OVE")
    if not program:
        pytest.skip("OVE does not name the program")
    vectors.save(tmp_path / "vectors.model")
    done = subprocess.run([program, "similar", tmp_path / "vectors.model", "river5.1", "--top", "1"], capture_output=True, text=True)
    assert done.returncode == 0 and vectors.most_similar("river5.1", topn=1)[0][0] in done.stdout, done.stderr


def test_measures(vectors, questions, tmp_path):
    accuracy, sections = vectors.evaluate_word_analogies(questions)
    assert [section["section"] for section in sections] == ["capitals", "gram1"]
    assert (sections[0]["covered"], sections[0]["questions"]) == (24, 24)
    assert (sections[1]["covered"], sections[1]["questions"]) == (1, 2)
    assert accuracy == sum(section["correct"] for section in sections) / 25 and sections[0]["correct"] > 18
    assert vectors.evaluate_word_analogies(questions, restrict_vocab=10)[1][0]["covered"] < 24
    pairs = tmp_path / "pairs"
    pairs.write_text("river1.0\triver1.1\t9\nriver1.0\triver2.1\t1\ncapital1\tcapital1\t10\nnowhere\triver1.0\t5\n")
    found = vectors.evaluate_word_pairs(pairs)
    assert found == {"spearman": 1.0, "covered": 3, "pairs": 4}


def test_gensim_gives_the_same_answers(vectors, questions, tmp_path):
    models = pytest.importorskip("gensim.models")
    vectors.export(tmp_path / "binary", "word2vec-binary")
    vectors.export(tmp_path / "text", "word2vec")
    read = [
        vectors.to_gensim(),
        models.KeyedVectors.load_word2vec_format(tmp_path / "binary", binary=True),
        models.KeyedVectors.load_word2vec_format(tmp_path / "text"),
    ]
    accuracy, sections = vectors.evaluate_word_analogies(questions, restrict_vocab=60)
    for other in read:
        assert other.index_to_key == vectors.words_ and (other.vectors == vectors.vectors_).all()
        asked = {"positive": ["capital1", "country2"], "negative": ["capital2"], "topn": 8}
        found, expected = vectors.most_similar(**asked), other.most_similar(**asked)
        assert [word for word, _ in found] == [word for word, _ in expected]
        assert np.allclose([score for _, score in found], [score for _, score in expected], atol=1e-5)
        expected, parts = other.evaluate_word_analogies(questions, restrict_vocab=60)
        assert accuracy == expected
        for section, part in zip(sections, parts, strict=False):
            right, wrong = len(part["correct"]), len(part["incorrect"])
            assert (section["correct"], section["covered"]) == (right, right + wrong)


def test_texts_are_classified_from_vectors(vectors, tmp_path):
    texts = [f"capital{n % COUNTRIES} river{n % COUNTRIES}.0 of unseen {n}" for n in range(60)]
    labels = ["few" if n % COUNTRIES < COUNTRIES // 2 else "many" for n in range(60)]
    # So small a rate leaves the vectors where they start.
    settings = {"tokens": True, "epochs": 1, "learning_rate": 1e-9}
    vectors.save(tmp_path / "model")
    vectors.export(tmp_path / "vectors.txt", "glove")
    models = [ove.TextClassifier(vectors=given, **settings).fit(texts, labels) for given in (vectors, str(tmp_path / "model"), tmp_path / "vectors.txt")]
    probabilities = [model.predict_proba(texts) for model in models]
    assert (probabilities[0] == probabilities[1]).all() and (probabilities[0] == probabilities[2]).all()
    assert models[0].settings_["scores"] == "factored" and models[0].settings_["rank"] == 16
    assert not (probabilities[0] == ove.TextClassifier(rank=16, **settings).fit(texts, labels).predict_proba(texts)).all()
    # Fitted vectors stay fitted in a copy, as cross-validation makes them.
    copy = clone(models[0])
    assert copy.vectors is vectors and (copy.fit(texts, labels).predict_proba(texts) == probabilities[0]).all()
    assert ove.TextClassifier(vectors=vectors, tokens=True, epochs=30).fit(texts, labels).score(texts, labels) > 0.9
    for given, message in [
        ({"vectors": vectors, "rank": 8}, "`rank` must be 16"),
        ({"vectors": vectors, "scores": "trees"}, "start of factored scores"),
        ({"vectors": 3}, "`vectors` must be WordVectors or the path of a file, got 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            ove.TextClassifier(**given).fit(texts, labels)
    with pytest.raises(NotFittedError):
        ove.TextClassifier(vectors=ove.WordVectors()).fit(texts, labels)


def test_without_gensim_the_error_says_what_to_install(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match="pip install gensim"):
        vectors.to_gensim()


def test_errors(vectors, tmp_path):
    with pytest.raises(KeyError, match="nowhere"):
        vectors["nowhere"]
    with pytest.raises(ValueError, match="`nowhere` is not one of the 68 words"):
        vectors.most_similar("nowhere")
    with pytest.raises(ValueError, match="at least one word"):
        vectors.most_similar()
    with pytest.raises(ValueError, match="`topn` must be an integer of at least 0, got -1"):
        vectors.most_similar("city1", topn=-1)
    with pytest.raises(ValueError, match="`window` must be at least 1, got 0"):
        ove.WordVectors(window=0).fit([["a"]])
    for corpus in (["a b c"], [["a", 3]], [3]):
        with pytest.raises(ValueError, match="`corpus` must have lists of strings, got"):
            ove.WordVectors(min_count=1).fit(corpus)
    with pytest.raises(ValueError, match="no word of the text occurs `min-count` = 5 times"):
        ove.WordVectors().fit([["a", "b"]])
    with pytest.raises(FileNotFoundError):
        ove.WordVectors().fit(tmp_path / "nothing")
    with pytest.raises(ValueError, match="`format` must be one of word2vec"):
        vectors.export(tmp_path / "out", "csv")
    with pytest.raises(ValueError, match="not an embedding"):
        model = ove.OneVsEachClassifier().fit(np.eye(4), [0, 1, 0, 1])
        model.save(tmp_path / "classes")
        ove.WordVectors.load(tmp_path / "classes")
    with pytest.raises(Exception, match="not fitted"):
        ove.WordVectors().most_similar("a")

    def interrupted():
        yield ["a"]
        raise OSError("the source broke")

    with pytest.raises(OSError, match="the source broke"):
        ove.WordVectors(min_count=1).fit(interrupted())
