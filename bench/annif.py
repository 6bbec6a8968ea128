"""`ove` as a backend of Annif, beside omikuji, on library titles and their subjects.

    python bench/annif.py                 # 100,000 titles to train on, 20,000 test titles
    python bench/annif.py --choose        # settings of ove on titles held out of the training titles

Every program is run by Annif's own command line, in a process of its own: `annif train`, then `annif eval`. Seconds are of the
whole command and of the CPU, megabytes the largest that were resident; nDCG is that of 100 suggestions.
OVE_DATA is the folder with yso-titles.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

BASE = "http://www.yso.fi/onto/yso/"
OUT = Path(__file__).parent / "out" / "annif"
TRAIN, TEST, HELD_OUT = 100_000, 20_000, 10_000

OMIKUJI = {"backend": "omikuji", "analyzer": "snowball(english)"}
PROJECTS = {
    "ove": {"backend": "ove"},
    "parabel": OMIKUJI,
    "bonsai": {**OMIKUJI, "cluster_balanced": "False", "cluster_k": "100", "max_depth": "3"},
    "parabel + bonsai": {"backend": "ensemble", "sources": "parabel,bonsai"},
    "ove + bonsai": {"backend": "ensemble", "sources": "ove,bonsai"},
}
TRAINED = ["ove", "parabel", "bonsai"]

# What `--choose` compares.
SETTINGS = {
    "words": {"name_weight": 0},
    "words, names": {"name_weight": 1},
    "stems, names": {"name_weight": 1, "stem": "english"},
    "stems and pairs, names": {"name_weight": 1, "stem": "english", "ngrams": 2},
    "stems, characters, names": {"name_weight": 1, "stem": "english", "chars": (4, 5)},
    "best": {"name_weight": 1, "effort": "best"},
}


def rows(path, count):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in islice(lines, count)]


def prepare(data):
    """The files and projects of Annif."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", TRAIN), ("test", TEST)):
        with open(OUT / f"{name}.tsv", "w", encoding="utf-8") as file:
            for title, subjects in rows(data / f"{name}.tsv.gz", count):
                print(title, " ".join(f"<{BASE}{subject}>" for subject in subjects.split()), sep="\t", file=file)
    with open(OUT / "yso.tsv", "w", encoding="utf-8") as file:
        for subject, label, *_ in rows(data / "labels.tsv.gz", None):
            print(f"<{BASE}{subject}>", label, sep="\t", file=file)
    sections = []
    for name, settings in PROJECTS.items():
        lines = [f"[{identifier(name)}]", f"name={name}", "language=en", "vocab=yso"]
        sources = settings.get("sources")
        settings = {**settings, "sources": ",".join(map(identifier, sources.split(",")))} if sources else settings
        sections.append("\n".join([*lines, *(f"{key}={value}" for key, value in settings.items())]))
    (OUT / "projects.cfg").write_text("\n\n".join(sections) + "\n")
    # Annif's analyzers want the abbreviations of English, which titles hardly have; without them, empty files do.
    punkt = OUT / "nltk" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True, exist_ok=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (punkt / name).touch()


def identifier(name):
    return name.replace(" + ", "-and-") + "-en"


def annif(*words):
    """Runs Annif; returns seconds, CPU seconds and megabytes."""
    environment = {"NLTK_DATA": str(OUT / "nltk"), **os.environ, "ANNIF_CONFIG": "annif.default_config.Config"}
    with open(OUT / "log", "a") as log:
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "ove.annif", *words], cwd=OUT, env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        sys.exit(f"annif {' '.join(words)} failed: see {OUT / 'log'}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def size(project):
    """Megabytes of what is needed to suggest: the model, and the vectorizer of omikuji."""
    folder = OUT / "data" / "projects" / project
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "-train" not in path.name) / 1e6


def compare(only):
    shutil.rmtree(OUT / "data", ignore_errors=True)
    annif("load-vocab", "yso", "yso.tsv", "--language", "en")
    start, _, _ = annif("list-projects")
    print(f"the command line alone takes {start:.1f} s\n")
    columns = ["train s", "CPU s", "cached s", "MB", "model MB", "eval s", "F1@5", "nDCG", "precision@1", "@3", "@5"]
    print(f"| {TRAIN:,} titles | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|", flush=True)
    for name in only or PROJECTS:
        project = identifier(name)
        trained = [""] * 5
        if name in TRAINED:
            seconds, cpu, megabytes = annif("train", project, "train.tsv")
            cached = annif("train", project, "--cached")[0]
            trained = [f"{seconds:.1f}", f"{cpu:.1f}", f"{cached:.1f}", f"{megabytes:.0f}", f"{size(project):.0f}"]
        seconds, _, _ = annif("eval", project, "test.tsv", "--limit", "100", "--jobs", "2", "--metrics-file", "metrics.json")
        scores = json.loads((OUT / "metrics.json").read_text())
        found = [f"{scores[key]:.4f}" for key in ("F1@5", "NDCG", "Precision@1", "Precision@3", "Precision@5")]
        print(f"| {name} | " + " | ".join([*trained, f"{seconds:.1f}", *found]) + " |", flush=True)


def choose(data, only):
    """nDCG of the ten best, as Annif has it, on titles that are held out of the training titles."""
    import numpy as np

    import ove

    titles = rows(data / "train.tsv.gz", TRAIN)
    train, held_out = titles[:-HELD_OUT], titles[-HELD_OUT:]
    names = {subject: label for subject, label, *_ in rows(data / "labels.tsv.gz", None)}
    discounts = 1 / np.log2(np.arange(2, 12))
    for setting, parameters in SETTINGS.items():
        if only and setting not in only:
            continue
        start = time.perf_counter()
        model = ove.TextClassifier(label_names=names, **parameters)
        model.fit([title for title, _ in train], [subjects.split() for _, subjects in train])
        seconds = time.perf_counter() - start
        best = model.top_k([title for title, _ in held_out], k=10)[0].tolist()
        total = 0.0
        for found, (_, subjects) in zip(best, held_out):
            own = set(subjects.split())
            gain = sum(discount for subject, discount in zip(found, discounts) if subject in own)
            total += gain / discounts[: len(own)].sum()
        print(f"{setting:30} nDCG {total / len(held_out):.4f} in {seconds:.1f} s", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--choose", action="store_true", help="compare settings of ove on held-out titles")
    arguments.add_argument("only", nargs="*", help="only these projects or settings")
    given = arguments.parse_args()
    data = Path(os.environ.get("OVE_DATA", "../shared/data")) / "yso-titles"
    if given.choose:
        choose(data, given.only)
        return
    prepare(data)
    compare(given.only)


if __name__ == "__main__":
    main()
