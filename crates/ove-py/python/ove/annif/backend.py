"""Annif backend using ove, softmax models with very many classes"""

from __future__ import annotations

import os.path
import tempfile
from typing import TYPE_CHECKING, Any

import annif.eval
import annif.util
import numpy as np
from annif.backend import backend, hyperopt
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)
from annif.suggestion import SuggestionBatch
from scipy.sparse import csr_array

import ove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from annif.backend.hyperopt import HPRecommendation
    from annif.corpus import Document, DocumentCorpus
    from optuna.study.study import Study
    from optuna.trial import Trial


class OveHPObjective(hyperopt.HPObjective):
    """Objective function of the ove hyperparameter optimizer"""

    @classmethod
    def objective(cls, trial: Trial, args: dict[str, Any]) -> float:
        params = {
            "ngrams": trial.suggest_int("ngrams", 1, 2),
            "l2": trial.suggest_float("l2", 0.05, 1.0, log=True),
            "name_weight": trial.suggest_float("name_weight", 0.1, 4.0, log=True),
        }
        project_backend = args["backend"]
        params = {**project_backend.params, **params}
        model = project_backend.create_model(params, jobs=args["jobs"])
        suggester = Suggester(model, project_backend.project.subjects)
        batch = annif.eval.EvaluationBatch(project_backend.project.subjects)
        for texts, gold_subjects in args["batches"]:
            batch.evaluate_many(suggester.suggest(texts, 10), gold_subjects)
        return float(batch.results(metrics=[args["metric"]])[args["metric"]])


class OveOptimizer(hyperopt.HyperparameterOptimizer):
    """Hyperparameter optimizer for the ove backend"""

    def _prepare(self, n_jobs: int = 1) -> dict[str, Any]:
        self._backend.check_train_file()
        return {
            "backend": self._backend,
            "metric": self._metric,
            "jobs": 0 if n_jobs == 1 else 1,
            "batches": [
                (
                    [self._backend.text_of(doc) for doc in docs],
                    [doc.subject_set for doc in docs],
                )
                for docs in self._corpus.doc_batches
            ],
        }

    def _postprocess(self, study: Study) -> HPRecommendation:
        best = study.best_params
        lines = [
            f"ngrams={best['ngrams']}",
            f"l2={best['l2']:.4f}",
            f"name_weight={best['name_weight']:.4f}",
        ]
        return hyperopt.HPRecommendation(lines=lines, score=study.best_value)


class Suggester:
    """Suggests the subjects of a vocabulary with a model whose labels are URIs"""

    def __init__(self, model: ove.TextClassifier, subjects: Any) -> None:
        ids = [subjects.by_uri(uri, warnings=False) for uri in model.classes_.tolist()]
        self._model = model
        # The place of each label in the vocabulary; those that are deprecated or
        # excluded have none.
        self._place = {
            uri: subject_id
            for uri, subject_id in zip(model.classes_.tolist(), ids)
            if subject_id is not None
        }
        self._gone = len(ids) - len(self._place)
        self._size = len(subjects)

    def suggest(self, texts: list[str], limit: int) -> SuggestionBatch:
        """Suggestions for texts; none for a text without a known word"""
        rows = self._model.transform(texts)
        known = np.flatnonzero(np.diff(rows.indptr))
        data: list[float] = []
        columns: list[int] = []
        counts = np.zeros(len(texts), dtype=np.int64)
        if limit > 0 and len(known):
            # Labels that are left out make room for others.
            labels, scores = self._model.top_k(rows[known], limit + self._gone)
            for row, uris, probabilities in zip(known, labels.tolist(), scores.tolist()):
                found = [
                    (self._place[uri], probability)
                    for uri, probability in zip(uris, probabilities)
                    if probability > 0.0 and uri in self._place
                ][:limit]
                columns.extend(subject_id for subject_id, _ in found)
                data.extend(probability for _, probability in found)
                counts[row] = len(found)
        offsets = np.append(0, np.cumsum(counts))
        array = csr_array(
            (np.array(data, dtype=np.float32), np.array(columns, np.int32), offsets),
            shape=(len(texts), self._size),
        )
        array.sort_indices()
        return SuggestionBatch(array)


class OveBackend(backend.AnnifLearningBackend, hyperopt.AnnifHyperoptBackend):
    """ove backend for Annif"""

    name = "ove"

    # The training parameters of ove that a project may set, with their types.
    OVE_PARAMS = {
        "batch": int,
        "chars": lambda lengths: tuple(int(n) for n in str(lengths).split("-")),
        "effort": str,
        "epochs": int,
        "hash": int,
        "l2": float,
        "learning_rate": float,
        "leaves": int,
        "memory": str,
        "min_df": int,
        "name_weight": float,
        "negatives": int,
        "ngrams": int,
        "objective": str,
        "rank": int,
        "rivals": int,
        "scores": str,
        "stem": str,
        "sublinear_tf": annif.util.boolean,
        "trees": int,
        "views": lambda views: [view.strip() for view in str(views).split(",")],
    }

    DEFAULT_PARAMETERS = {"name_weight": 1, "stem": "language", "on_disk": False}

    # The stemmers of ove by the language of a project, for `stem=language`.
    STEMMERS = {
        "ar": "arabic",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "en": "english",
        "es": "spanish",
        "fi": "finnish",
        "fr": "french",
        "hu": "hungarian",
        "it": "italian",
        "nb": "norwegian",
        "nl": "dutch",
        "nn": "norwegian",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sv": "swedish",
        "ta": "tamil",
        "tr": "turkish",
    }

    MODEL_FILE = "ove-model"
    TRAIN_FILE = "ove-train.tsv"
    CACHE_FOLDER = "ove-train-rows"

    # defaults for uninitialized instances
    _model = None
    _suggester: Any = None

    def get_hp_optimizer(self, corpus: DocumentCorpus, metric: str) -> OveOptimizer:
        return OveOptimizer(self, corpus, metric, OveHPObjective)

    @property
    def _model_file_paths(self) -> list[str]:
        # Nothing but the model: rows that are kept on disk are not a trained model.
        path = self._path(self.MODEL_FILE)
        return [path] if os.path.exists(path) else []

    def _path(self, name: str) -> str:
        return os.path.join(self.datadir, name)

    def initialize(self, parallel: bool = False) -> None:
        if self._suggester is not None:
            return
        model = self._load_model()
        if parallel:
            # Annif runs a process per core.
            model.set_params(n_jobs=1)
        self._use(model)

    def _use(self, model: ove.TextClassifier) -> None:
        self._model = model
        self._suggester = Suggester(model, self.project.subjects)

    def _load_model(self) -> ove.TextClassifier:
        path = self._path(self.MODEL_FILE)
        self.debug(f"loading model from {path}")
        if not os.path.exists(path):
            raise NotInitializedException(
                f"model {path} not found", backend_id=self.backend_id
            )
        try:
            return ove.load(path, labels="str")
        except (OSError, ValueError) as err:
            raise OperationFailedException(
                f"model {path} cannot be loaded: {err}", backend_id=self.backend_id
            ) from err

    def _save(self, model: ove.TextClassifier) -> None:
        annif.util.atomic_save(model, self.datadir, self.MODEL_FILE)
        self._use(model)

    # Documents

    def text_of(self, doc: Document) -> str:
        """The text of a document, on one line; its words as the analyzer of the
        project gives them, if there is one."""
        if self.project.analyzer_spec:
            return " ".join(self.project.analyzer.tokenize_words(doc.text))
        return " ".join(doc.text.split())

    def _examples(self, corpus: DocumentCorpus) -> Iterator[tuple[str, list[str]]]:
        """Texts and the URIs of their subjects, without documents that lack either"""
        subjects = self.project.subjects
        for doc in corpus.documents:
            text = self.text_of(doc)
            if text and doc.subject_set:
                yield text, [subjects[subject_id].uri for subject_id in doc.subject_set]

    def _write_train_file(self, corpus: DocumentCorpus, filename: str) -> None:
        with open(filename, "w", encoding="utf-8", newline="\n") as file:
            for text, uris in self._examples(corpus):
                print(text, " ".join(uris), sep="\t", file=file)

    def _train_columns(self, column: int) -> Iterator[str]:
        with open(self._path(self.TRAIN_FILE), encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\n").split("\t")[column]

    def check_train_file(self) -> None:
        """Raises an exception if there is no data from an earlier train command"""
        path = self._path(self.TRAIN_FILE)
        if not os.path.exists(path):
            raise NotInitializedException(
                f"train data file {path} not found", backend_id=self.backend_id
            )

    # Training

    def _label_names(self) -> dict[str, str]:
        """The label of each subject in the language of the project"""
        language = self.project.vocab_lang
        labels = {
            subject.uri: subject.labels.get(language)
            for _, subject in self.project.subjects.active
        }
        if self.project.analyzer_spec:
            words = self.project.analyzer.tokenize_words
            labels = {uri: " ".join(words(label)) for uri, label in labels.items() if label}
        return {uri: label for uri, label in labels.items() if label and label.strip()}

    def _settings(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a project that are those of ove"""
        settings = {}
        for name, kind in self.OVE_PARAMS.items():
            if name not in params:
                continue
            try:
                settings[name] = kind(params[name])
            except ValueError as err:
                raise ConfigurationException(
                    f"{name} has an invalid value, got {params[name]!r}",
                    project_id=self.project.project_id,
                ) from err
        if settings.get("stem") == "language":
            # The words of an analyzer are stems, or what its author wants.
            has_stems = not self.project.analyzer_spec
            settings["stem"] = self.STEMMERS.get(self.project.language) if has_stems else None
        elif settings.get("stem") == "none":
            settings["stem"] = None
        return settings

    def create_model(self, params: dict[str, Any], jobs: int = 0) -> ove.TextClassifier:
        """Trains on the documents of the latest train command"""
        uris = [line.split() for line in self._train_columns(1)]
        texts = self._train_columns(0)
        on_disk = annif.util.boolean(params["on_disk"])
        model = ove.TextClassifier(
            **self._settings(params),
            label_names=self._label_names(),
            tokens=bool(self.project.analyzer_spec),
            n_jobs=jobs or None,
        )
        try:
            if not on_disk:
                model.fit(list(texts), uris)
                return model
            with tempfile.TemporaryDirectory(
                prefix=f"{self.CACHE_FOLDER}-", dir=self.datadir
            ) as folder:
                model.fit(texts, uris, cache=folder)
                return model
        except (ValueError, FloatingPointError) as err:
            raise OperationFailedException(
                f"training failed: {err}", backend_id=self.backend_id
            ) from err

    def _train(
        self,
        corpus: DocumentCorpus,
        params: dict[str, Any],
        jobs: int = 0,
    ) -> None:
        if corpus == "cached":
            self.info("Reusing cached training data from previous run.")
            self.check_train_file()
        else:
            if corpus.is_empty():
                raise NotSupportedException(
                    f"training backend {self.backend_id} with no documents"
                )
            self.info("creating train file")
            annif.util.atomic_save(
                corpus, self.datadir, self.TRAIN_FILE, method=self._write_train_file
            )
        self.info("creating model")
        self._save(self.create_model(params, jobs))

    def _learn(self, corpus: DocumentCorpus, params: dict[str, Any]) -> None:
        self.initialize()
        examples = list(self._examples(corpus))
        if not examples:
            raise NotSupportedException(
                f"learning in backend {self.backend_id} from no documents with subjects"
            )
        self.info("updating model")
        # A copy, so that suggestions go on with the earlier one until this is saved.
        model = self._load_model()
        model.label_names = self._label_names()
        try:
            model.learn([text for text, _ in examples], [uris for _, uris in examples])
        except (ValueError, FloatingPointError) as err:
            raise OperationFailedException(
                f"learning failed: {err}", backend_id=self.backend_id
            ) from err
        self._save(model)

    # Suggestions

    def _suggest_batch(
        self, documents: list[Document], params: dict[str, Any]
    ) -> SuggestionBatch:
        texts = [self.text_of(doc) for doc in documents]
        return self._suggester.suggest(texts, int(params["limit"]))
