"""Library titles and their subjects, 27,000 of them: text in, top classes out.

    python examples/titles.py DATA                # the folder with train.tsv.gz, test.tsv.gz and labels.tsv.gz

A line of the data is `title<TAB>subject subject …`, and `labels.tsv.gz` gives subjects their names.
"""

import argparse
import gzip
import tempfile
import time
from itertools import islice
from pathlib import Path

import ove


def load(path, limit=None):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in islice(lines, limit)]
    return [title for title, _ in pairs], [subjects.split() for _, subjects in pairs]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--rows", type=int, help="the first so many rows of each part")
    arguments.add_argument("--title", default="Timber in the city : design and construction in mass timber")
    given = arguments.parse_args()
    titles, subjects = load(given.data / "train.tsv.gz", given.rows)
    test_titles, test_subjects = load(given.data / "test.tsv.gz", given.rows)
    with gzip.open(given.data / "labels.tsv.gz", "rt", encoding="utf-8") as lines:
        names = dict(line.rstrip("\n").split("\t", 1) for line in lines)

    start = time.perf_counter()
    model = ove.TextClassifier().fit(titles, subjects)  # from 100 classes on, label trees
    print(f"{len(titles)} titles, {len(model.classes_)} subjects, trained in {time.perf_counter() - start:.1f} s")

    print(f"\n{given.title}")
    best, probabilities = model.top_k([given.title], k=5)
    for subject, probability in zip(best[0], probabilities[0]):
        words = ", ".join(f"{word} {weight:+.2f}" for word, weight in model.explain(given.title, subject)[:3])
        print(f"  {probability:.3f}  {names.get(subject, subject):32} {words}")

    best, _ = model.top_k(test_titles, k=5)
    for k in (1, 3, 5):
        hits = sum(len(set(row[:k]) & set(own)) for row, own in zip(best.tolist(), test_subjects))
        print(f"precision@{k} on {len(test_titles)} other titles: {hits / len(test_titles) / k:.3f}")

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/titles.model")
        size = Path(folder, "titles.model").stat().st_size
        best = ove.load(f"{folder}/titles.model").top_k(test_titles[:10], k=1)[0]
        assert (best == model.top_k(test_titles[:10], k=1)[0]).all()
    print(f"the model as a file: {size / 1e6:.0f} MB, which `ove predict` and `ove.load` read")


if __name__ == "__main__":
    main()
