"""The backend for Annif, in Annif itself: its command line, its REST service, its ensembles, and its `http` backend beside
`ove serve`."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

annif = pytest.importorskip("annif")

import annif.registry
from annif.backend import get_backend
from annif.corpus import Document, DocumentFileTSV, DocumentList, SubjectSet
from annif.exception import ConfigurationException, NotInitializedException, NotSupportedException, OperationFailedException

import ove
import ove.annif

pytestmark = pytest.mark.slow

BINARY = os.environ.get("OVE", str(Path(__file__).parents[3] / "target/debug/ove"))
EXAMPLES = Path(__file__).parents[3] / "examples" / "annif"
SUBJECTS = 40

CONFIG = """
[ove-en]
name=ove
language=en
backend=ove
vocab=made
allow_learn=true
min_df=1
trees=2

[words-en]
name=ove with an analyzer of Annif
language=en
backend=ove
vocab=made
analyzer=snowball(english)
on_disk=true
min_df=1

[wrong-en]
name=ove with a wrong setting
language=en
backend=ove
vocab=made
trees=many

[parabel-en]
name=parabel
language=en
backend=omikuji
vocab=made
analyzer=snowball(english)

[both-en]
name=both
language=en
backend=ensemble
vocab=made
sources=ove-en,parabel-en

[served-en]
name=ove serve
language=en
backend=http
vocab=made
endpoint={endpoint}
"""


def uri(subject):
    return f"http://example.org/s{subject}"


def documents(seed, count):
    """Texts of one or two subjects: words of each, and words that all share."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        subjects = random.choice(SUBJECTS, 1 + random.integers(2), replace=False)
        words = [f"{name}{subject}" for subject in subjects for name in random.choice(["stone", "river", "cloud"], 2)]
        words += [f"shared{n}" for n in random.integers(0, 30, 4)]
        random.shuffle(words)
        yield " ".join(words), [uri(subject) for subject in subjects]


def tsv(path, pairs):
    path.write_text("".join(f"{text}\t{' '.join(f'<{u}>' for u in uris)}\n" for text, uris in pairs))
    return str(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a vocabulary, documents and projects, and a trained project."""
    home = tmp_path_factory.mktemp("annif")
    # The words of Annif's analyzers need a file that its makers host; without abbreviations, empty ones do.
    punkt = home / "nltk" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (punkt / name).touch()
    (home / "made.csv").write_text("uri,label_en\n" + "".join(f"{uri(s)},label{s}\n" for s in range(SUBJECTS)))
    tsv(home / "train.tsv", documents(1, 1500))
    tsv(home / "test.tsv", documents(2, 200))
    (home / "projects.cfg").write_text(CONFIG.format(endpoint="http://127.0.0.1:1/v1/projects/ove-en/suggest"))
    run(home, "load-vocab", "made", "made.csv")
    run(home, "train", "ove-en", "train.tsv")
    return home


def environment(home):
    return {**os.environ, "NLTK_DATA": str(home / "nltk"), "ANNIF_DATADIR": str(home / "data"), "ANNIF_PROJECTS": str(home / "projects.cfg"),
            "ANNIF_CONFIG": "annif.default_config.Config"}


def run(home, *words, input=None, fails=False):
    """Annif's command line with the backend."""
    command = [sys.executable, "-m", "ove.annif", *words]
    done = subprocess.run(command, cwd=home, env=environment(home), input=input, capture_output=True, text=True, timeout=600)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def metrics(home, project, *words):
    run(home, "eval", project, "test.tsv", "--metrics-file", "metrics.json", *words)
    return json.loads((home / "metrics.json").read_text())


@contextmanager
def projects(home, monkeypatch, folder="data"):
    """The projects in this process, with a registry of their own."""
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    app = annif.create_flask_app("annif.default_config.Config")
    app.config.update(PROJECTS_CONFIG_PATH=str(home / "projects.cfg"), DATADIR=str(home / folder))
    with app.app_context():
        annif.registry.initialize_projects(app)
        yield lambda name: annif.registry.get_project(name)


def test_train_eval_suggest_on_the_command_line(home):
    assert get_backend("ove") is ove.annif.OveBackend
    folder = home / "data" / "projects" / "ove-en"
    assert sorted(path.name for path in folder.iterdir()) == ["ove-model", "ove-train.tsv"]
    scores = metrics(home, "ove-en", "--jobs", "2", "--limit", "5")
    assert scores["NDCG"] > 0.95 and scores["F1@5"] > 0.3
    suggested = run(home, "suggest", "ove-en", "--limit", "2", input="stone7 and river7 and shared1")
    uris = re.findall(r"<(\S+)>\t(\w+)\t(\S+)", suggested)
    assert uris[0][:2] == (uri(7), "label7") and 0.5 < float(uris[0][2]) <= 1
    listed = run(home, "list-projects")
    assert re.search(r"ove-en .*\bTrue\b", listed) and re.search(r"words-en .*\bFalse\b", listed)
    # What the backend has trained is a model like any other.
    assert ove.load(folder / "ove-model", labels="str").label_names_[uri(3)] == "label3"


def test_from_cached_data_and_with_an_analyzer_on_disk(home):
    assert "train data file" in run(home, "train", "words-en", "--cached", fails=True)
    run(home, "train", "words-en", "train.tsv")
    folder = home / "data" / "projects" / "words-en"
    assert sorted(path.name for path in folder.iterdir()) == ["ove-model", "ove-train.tsv"]
    assert metrics(home, "words-en")["NDCG"] > 0.95
    before = (folder / "ove-model").read_bytes()
    run(home, "train", "words-en", "--cached", "--backend-param", "ove.trees=1", "--jobs", "1")
    assert len((folder / "ove-model").read_bytes()) < len(before)


def test_hyperparameters_are_searched(home):
    found = run(home, "hyperopt", "ove-en", "test.tsv", "--trials", "2", "--metric", "NDCG", "--results-file", "trials.tsv")
    assert re.search(r"ngrams=[12]\nl2=0\.\d{4}\nname_weight=\d\.\d{4}\n", found), found
    rows = (home / "trials.tsv").read_text().splitlines()
    assert rows[0].split("\t") == ["trial", "value", "ngrams", "l2", "name_weight"] and len(rows) == 3
    # The project itself is as before.
    assert sorted(path.name for path in (home / "data" / "projects" / "ove-en").iterdir()) == ["ove-model", "ove-train.tsv"]


def test_learning_on_knows_new_words_and_old_ones(home, monkeypatch):
    shutil.copytree(home / "data", home / "learning")
    with projects(home, monkeypatch, "learning") as project:
        backend = project("ove-en").backend
        new = Document("glacier moraine crevasse", SubjectSet([5]))
        corpus = DocumentList([new] * 40)
        before = backend.suggest([new])[0].as_vector()[5]
        project("ove-en").learn(corpus)
        after = backend.suggest([new])[0].as_vector()[5]
        assert after > max(0.5, 3 * before)
        known = backend.suggest([Document("stone7 river7")])[0].as_vector()
        assert known.argmax() == 7
        assert ove.load(Path(backend.datadir) / "ove-model", labels="str").top_k(["crevasse"], 1)[0].tolist() == [[uri(5)]]
        with pytest.raises(NotSupportedException, match="no documents with subjects"):
            backend.learn(DocumentList([Document("no subjects")]))


def test_suggestions_are_one_sparse_matrix(home, monkeypatch):
    with projects(home, monkeypatch) as project:
        backend = project("ove-en").backend
        texts = ["stone3 cloud3", "", "wholly unheard of", "river9"]
        batch = backend.suggest([Document(text) for text in texts], {"limit": "4"})
        array = batch.array
        assert array.shape == (4, SUBJECTS) and array.dtype == np.float32
        assert np.diff(array.indptr).tolist() == [4, 0, 0, 4]
        assert array.data.min() > 0 and array.data.max() <= 1
        assert [next(iter(batch[n])).subject_id for n in (0, 3)] == [3, 9]
        assert backend.suggest([Document("stone3")], {"limit": 0}).array.nnz == 0
        assert backend.is_trained and backend.modification_time is not None


def test_what_cannot_be_done_is_said_as_by_annif(home, monkeypatch):
    with projects(home, monkeypatch, "empty") as project:
        (home / "empty" / "vocabs").mkdir(parents=True, exist_ok=True)
        shutil.copytree(home / "data" / "vocabs", home / "empty" / "vocabs", dirs_exist_ok=True)
        backend = project("ove-en").backend
        assert not backend.is_trained
        for attempt in (backend.initialize, lambda: backend.suggest([Document("a")]), lambda: backend.train("cached")):
            with pytest.raises(NotInitializedException, match="not found") as raised:
                attempt()
            assert raised.value.backend_id == "ove"
        with pytest.raises(NotSupportedException, match="no documents"):
            backend.train(DocumentList([]))
        one = DocumentList([Document("stone1 stone1", SubjectSet([1]))])
        monkeypatch.setattr(backend, "_label_names", dict)
        with pytest.raises(OperationFailedException, match="training failed: `y` must have at least 2 classes, got 1 class"):
            backend.train(one)
        assert not backend.is_trained
        with pytest.raises(ConfigurationException, match="trees has an invalid value, got 'many'"):
            project("wrong-en").train(DocumentFileTSV(str(home / "train.tsv"), project("wrong-en").subjects))
        Path(backend.datadir, "ove-model").write_bytes(b"not a model")
        with pytest.raises(OperationFailedException, match="cannot be loaded"):
            backend.initialize()


def test_deprecated_and_excluded_subjects_are_left_out(home, monkeypatch):
    with projects(home, monkeypatch) as project:
        backend = project("ove-en").backend
        backend.initialize()
        batch = backend.suggest([Document("stone3 cloud3 river4")], {"limit": "5"})
        assert {3, 4} <= set(batch.array.indices)
    shutil.copytree(home / "data", home / "later")
    rows = (home / "data" / "vocabs" / "made" / "subjects.csv").read_text().splitlines()
    assert uri(3) in rows[4]
    rows[4] = f"{uri(3)},,"  # without a label
    (home / "later" / "vocabs" / "made" / "subjects.csv").write_text("\n".join(rows) + "\n")
    with projects(home, monkeypatch, "later") as project:
        batch = project("ove-en").suggest([Document("stone3 cloud3 river4")], {"ove": {"limit": "5"}})
        # Others take its place.
        assert 3 not in batch.array.indices and 4 in batch.array.indices and batch.array.nnz == 5


def test_the_rest_service(home, monkeypatch):
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("annif.default_config.Config.PROJECTS_CONFIG_PATH", str(home / "projects.cfg"))
    monkeypatch.setattr("annif.default_config.Config.DATADIR", str(home / "data"))
    client = annif.create_cx_app("annif.default_config.Config").test_client()
    found = client.post("/v1/projects/ove-en/suggest", data={"text": "stone7 river7", "limit": "3"}).json()["results"]
    assert (found[0]["uri"], found[0]["label"]) == (uri(7), "label7") and len(found) == 3
    assert client.get("/v1/projects/ove-en").json()["is_trained"] is True
    shutil.copy(home / "data" / "projects" / "ove-en" / "ove-model", home / "kept")
    learnt = client.post("/v1/projects/ove-en/learn", json=[{"text": "lichen lichen", "subjects": [{"uri": uri(8), "label": "label8"}]}] * 8)
    assert learnt.status_code == 204
    found = client.post("/v1/projects/ove-en/suggest", data={"text": "lichen", "limit": "1"}).json()["results"]
    shutil.move(home / "kept", home / "data" / "projects" / "ove-en" / "ove-model")
    assert found[0]["uri"] == uri(8)


def test_an_ensemble_with_omikuji(home):
    run(home, "train", "parabel-en", "train.tsv")
    scores = metrics(home, "both-en")
    assert scores["NDCG"] > 0.95


@contextmanager
def serving(model):
    command = [BINARY, "serve", str(model), "--listen", "127.0.0.1:0", "--annif-project", "ove-en"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", process.stderr.readline())[0]
    finally:
        process.terminate()
        assert process.wait(20) == 0, process.stderr.read()


def test_the_http_backend_asks_ove_serve(home, monkeypatch):
    with serving(home / "data" / "projects" / "ove-en" / "ove-model") as url:
        (home / "projects.cfg").write_text(CONFIG.format(endpoint=f"{url}/v1/projects/ove-en/suggest"))
        with projects(home, monkeypatch) as project:
            asked = [Document("stone7 river7 cloud2"), Document("unheard of")]
            served = project("served-en").suggest(asked, {"http": {"limit": "6"}})
            own = project("ove-en").suggest(asked, {"ove": {"limit": "6"}})
            np.testing.assert_allclose(served.array.toarray(), own.array.toarray(), rtol=1e-6)
            assert served.array.nnz == 6
            backend = project("served-en").backend
            assert backend.is_trained is True
            assert abs(backend.modification_time - project("ove-en").modification_time).total_seconds() <= 1
        assert metrics(home, "served-en")["NDCG"] > 0.95


def test_the_patch_is_this_backend(tmp_path):
    """The patch in the shape of a pull request: it applies, and its backend is the one of the package."""
    shutil.copytree(Path(annif.__file__).parent, tmp_path / "annif", ignore=shutil.ignore_patterns("__pycache__"))
    patch = (EXAMPLES / "annif-ove.patch").read_text()
    command = ["git", "apply", "--include=annif/*", "-"]
    subprocess.run(command, cwd=tmp_path, input=patch, text=True, check=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    backend = Path(ove.annif.__file__).parent / "backend.py"
    assert (tmp_path / "annif" / "backend" / "ove.py").read_text() == backend.read_text()
    code = "import annif.backend; print(annif.backend.get_backend('ove').__module__, annif.__file__)"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert found == ["annif.backend.ove", str(tmp_path / "annif" / "__init__.py")]
