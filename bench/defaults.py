"""Plain `ove train` beside each of its own settings and scikit-learn's linear classifiers at their usual settings, on
many small and large sets.

    python bench/defaults.py                            # every set whose data is there
    python bench/defaults.py --sets iris,titles-58-500  # some of them
    python bench/defaults.py --dev                      # every fifth training row in place of the test rows
    python bench/defaults.py --table                    # the table of what is there

What has a result is not run again. Texts are tf-idf features by `ove convert`, the same for all; numbers are scaled to
[0, 1] where scikit-learn's manual advises to scale. A run that takes longer than the limit is stopped, and the table
says so. Quality is computed here, from the first class that each wrote: the share of test rows of which it is a label.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("OVE_DATA", HERE.parent.parent / "shared" / "data"))
OVE = os.environ.get("OVE", str(HERE.parent / "target" / "release" / "ove"))

Row = tuple[list[str], str]
"""The labels of a row, and its text or its entries as `number:value`."""

Parts = tuple[list[Row], list[Row], list[Row]]
"""Rows to train on, training rows that were left out, rows to test on."""

OURS: dict[str, list[str]] = {
    "plain": [],
    "stochastic": ["--scores", "linear", "--solver", "stochastic"],
    "batch": ["--solver", "batch", "--objective", "softmax", "--l2", "1"],
    "batch .1": ["--solver", "batch", "--objective", "softmax", "--l2", "0.1"],
    "batch .01": ["--solver", "batch", "--objective", "softmax", "--l2", "0.01"],
    "one-vs-each .1": ["--solver", "batch", "--objective", "one-vs-each", "--l2", "0.1"],
    "trees": ["--scores", "trees"],
    "trees, 12 epochs": ["--scores", "trees", "--epochs", "12"],
    "one node": ["--trees", "1", "--leaves", "1", "--l2", "1"],
    "factored": ["--scores", "factored"],
}
PEERS = ["LinearSVC", "LogisticRegression", "SGDClassifier"]


# ---- the sets: rows to train on, rows to test on ------------------------------------------------------------------------


def lines(*path: str) -> Iterator[str]:
    with gzip.open(DATA.joinpath(*path), "rt", encoding="utf-8") as file:
        yield from file


def cut(train: list[Row], test: list[Row], count: int | None) -> Parts:
    """Some of the training rows, the others, and the test rows."""
    if count is None:
        return train, [], test
    shuffled = random.Random(0).sample(train, len(train))
    return shuffled[:count], shuffled[count:], test


def texts(folder: str, first: bool, classes: int | None, rows: int | None) -> Callable[[], Parts]:
    def load() -> Parts:
        both: list[list[Row]] = []
        for part in ("train", "test"):
            split = (line.rstrip("\n").split("\t")[:2] for line in lines(folder, f"{part}.tsv.gz"))
            both.append([(labels.split(" ")[: 1 if first else None], text) for text, labels in split])
        if classes is not None:
            counts = Counter(row[0][0] for row in both[0])
            kept = {label for label, _ in counts.most_common(classes)}
            both = [[row for row in part if row[0][0] in kept] for part in both]
        return cut(*both, rows)

    return load


def newsgroups(rows: int | None) -> Callable[[], Parts]:
    """Counts weighted by tf-idf, as `TfidfTransformer` weights them."""

    def load() -> Parts:
        import numpy as np
        import scipy.sparse as sp
        from sklearn.feature_extraction.text import TfidfTransformer

        both = []
        for part in ("train", "test"):
            triples = np.array([line.split() for line in lines("20news", f"{part}.data.gz")], dtype=int)
            labels = [line.strip() for line in lines("20news", f"{part}.label.gz")]
            shape = (len(labels), 61188)
            both.append((sp.csr_array((triples[:, 2].astype(float), (triples[:, 0] - 1, triples[:, 1] - 1)), shape), labels))
        weigh = TfidfTransformer().fit(both[0][0])
        train, test = (as_rows(weigh.transform(counts), labels) for counts, labels in both)
        return cut(train, test, rows)

    return load


def mnist(rows: int | None) -> Callable[[], Parts]:
    def load() -> Parts:
        import numpy as np

        def part(name: str) -> list[Row]:
            with gzip.open(DATA / "mnist" / f"{name}-images-idx3-ubyte.gz") as file:
                images = np.frombuffer(file.read(), dtype=np.uint8, offset=16).reshape(-1, 784) / 255
            with gzip.open(DATA / "mnist" / f"{name}-labels-idx1-ubyte.gz") as file:
                return as_rows(images, [str(label) for label in np.frombuffer(file.read(), dtype=np.uint8, offset=8)])

        return cut(part("train"), part("t10k"), rows)

    return load


def bibtex(first: bool) -> Callable[[], Parts]:
    def load() -> Parts:
        def part(name: str) -> list[Row]:
            found = []
            for line in lines("bibtex", f"bibtex-{name}.arff.gz"):
                if line.startswith("{"):
                    places = [int(entry.split()[0]) for entry in line.strip("{}\n").split(",")]
                    labels = [str(place) for place in places if place >= 1836]
                    found.append((labels[: 1 if first else None], " ".join(f"{place + 1}:1" for place in places if place < 1836)))
            return found

        return part("train"), [], part("test")

    return load


def bundled(name: str) -> Callable[[], Parts]:
    """A set that scikit-learn brings; three tenths of the rows are for testing."""

    def load() -> Parts:
        from sklearn import datasets
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import MinMaxScaler

        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
        scale = MinMaxScaler().fit(x)
        return as_rows(scale.transform(x), list(map(str, y))), [], as_rows(scale.transform(x_test), list(map(str, y_test)))

    return load


def as_rows(values, labels: list[str]) -> list[Row]:  # type: ignore[no-untyped-def]
    import scipy.sparse as sp

    values = sp.csr_array(values)
    values.sort_indices()
    starts = values.indptr
    entries = [f"{column + 1}:{value:.6g}" for column, value in zip(values.indices.tolist(), values.data.tolist())]
    return [([label], " ".join(entries[starts[n] : starts[n + 1]])) for n, label in enumerate(labels)]


SETS: dict[str, tuple[str, Callable[[], Parts]]] = {
    "iris": ("", bundled("iris")),
    "wine": ("", bundled("wine")),
    "breast-cancer": ("", bundled("breast_cancer")),
    "digits": ("", bundled("digits")),
    "mnist-1000": ("mnist", mnist(1000)),
    "mnist": ("mnist", mnist(None)),
    "20news-500": ("20news", newsgroups(500)),
    "20news-2000": ("20news", newsgroups(2000)),
    "20news": ("20news", newsgroups(None)),
    "bibtex-first": ("bibtex", bibtex(True)),
    "bibtex-all": ("bibtex", bibtex(False)),
    "titles-58-500": ("yso-titles", texts("yso-titles", True, 58, 500)),
    "titles-58-2000": ("yso-titles", texts("yso-titles", True, 58, 2000)),
    "titles-58": ("yso-titles", texts("yso-titles", True, 58, None)),
    "titles-77": ("yso-titles", texts("yso-titles", True, 77, None)),
    "titles-1954": ("yso-titles", texts("yso-titles", True, 1954, None)),
    "titles-first": ("yso-titles", texts("yso-titles", True, None, None)),
    "titles-all": ("yso-titles", texts("yso-titles", False, None, None)),
    "eurlex-first-500": ("eurlex57k", texts("eurlex57k", True, None, 500)),
    "eurlex-first-5000": ("eurlex57k", texts("eurlex57k", True, None, 5000)),
    "eurlex-first": ("eurlex57k", texts("eurlex57k", True, None, None)),
    "eurlex-all": ("eurlex57k", texts("eurlex57k", False, None, None)),
    "geonames": ("geonames", texts("geonames", True, None, None)),
}
"""The folder in OVE_DATA that a set is cut from, none for those that scikit-learn brings, and the cut."""


def make(name: str, folder: Path, dev: bool) -> None:
    """Writes the rows of a set: `train` and `test` as they are read by `ove`, and as features for scikit-learn."""
    train, others, test = SETS[name][1]()
    if dev and others:
        test = others[:5000]
    elif dev:
        train, test, _ = cut(train, [], len(train) * 4 // 5)
    folder.mkdir(parents=True)
    is_text = name.startswith(("titles", "eurlex", "geonames"))
    for part, rows in (("train", train), ("test", test[:20000])):
        with open(folder / (f"{part}.tsv" if is_text else f"{part}.svm"), "w", encoding="utf-8") as file:
            separator = " " if is_text else ","
            for labels, row in rows:
                file.write(f"{row}\t{separator.join(labels)}\n" if is_text else f"{separator.join(labels)} {row}\n")


# ---- runs ------------------------------------------------------------------------------------------------------------


def run_ours(flags: list[str], folder: Path, limit: float) -> dict[str, object]:
    form = "tsv" if (folder / "train.tsv").exists() else "svm"
    train, test = folder / f"train.{form}", folder / f"test.{form}"
    model = folder / "model.ove"
    start = time.perf_counter()
    command = [OVE, "train", str(train), "-o", str(model), *flags]
    done = subprocess.run(command, timeout=limit, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    evaluated = json.loads(subprocess.check_output([OVE, "evaluate", str(model), str(test), "--json"], text=True))
    return {"precision": evaluated["precision_at_1"], "nlpd": evaluated["nlpd"], "seconds": seconds, "said": done.stderr[-600:]}


def table(out: Path) -> None:
    """The sets that are there: plain training, the best of its own settings, and scikit-learn's classifiers."""
    print("| set | rows | classes | plain | best own setting | " + " | ".join(PEERS) + " |\n" + "|---" * (5 + len(PEERS)) + "|")
    for name in SETS:
        results = out / name / "results.json"
        if not results.exists():
            continue
        found = json.loads(results.read_text())
        classes, rows = set(), 0
        for file in (out / name).glob("train.tsv"):
            for line in open(file, encoding="utf-8"):
                classes.update(line.rstrip("\n").split("\t")[1].split(" "))
                rows += 1
        if not rows:
            for line in open(out / name / "train.svm", encoding="utf-8"):
                classes.update(line.split(" ")[0].split(","))
                rows += 1

        def shown(setting: str) -> str:
            result = found.get(setting, {})
            if "precision" not in result:
                return f"> {result['seconds']:.0f} s" if result else ""
            return f"{result['precision']:.4f}, {result['seconds']:.1f} s".removeprefix("0")

        own = [setting for setting in found if setting not in PEERS and setting != "plain" and "precision" in found[setting]]
        best = max(own, key=lambda setting: found[setting]["precision"], default=None)
        cells = [name, f"{rows:,}", f"{len(classes):,}", shown("plain"), f"{best}: {shown(best)}" if best else "", *map(shown, PEERS)]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sets", help="names, separated by commas")
    arguments.add_argument("--settings", help="names, separated by semicolons")
    arguments.add_argument("--flags", action="append", default=[], help="one more setting of ours")
    arguments.add_argument("--dev", action="store_true")
    arguments.add_argument("--table", action="store_true", help="only the table of what is there")
    arguments.add_argument("--limit", type=float, default=300.0, help="seconds per run")
    arguments.add_argument("--out", type=Path, default=HERE / "out-defaults")
    given = arguments.parse_args()
    if given.table:
        return table(given.out)
    ours = OURS | {flags: flags.split() for flags in given.flags}
    names = given.sets.split(",") if given.sets else list(SETS)
    settings = given.settings.split(";") if given.settings else [*ours, *PEERS]
    for name in names:
        needs = SETS[name][0]
        if needs and not (DATA / needs).exists():
            print(f"{name}: skipped, {DATA / needs} is not there")
            continue
        folder = given.out / (f"{name}-dev" if given.dev else name)
        if not folder.exists():
            make(name, folder, given.dev)
        results = folder / "results.json"
        known = json.loads(results.read_text()) if results.exists() else {}
        for setting in settings:
            if setting in known:
                continue
            try:
                if setting in ours:
                    known[setting] = run_ours(ours[setting], folder, given.limit)
                else:
                    command = [sys.executable, str(HERE / "defaults_peer.py"), setting, str(folder), OVE]
                    known[setting] = json.loads(subprocess.check_output(command, text=True, timeout=given.limit))
            except subprocess.TimeoutExpired:
                known[setting] = {"seconds": given.limit, "stopped": True}
            results.write_text(json.dumps(known, indent=1))
            found = known[setting]
            print(f"{folder.name:22} {setting:40} {found.get('precision', float('nan')):.4f} {found['seconds']:8.1f} s", flush=True)
    table(given.out)


main()
