"""What every peer's runner shares: its command line, its clock, and the two file forms.

    run.py train   TRAIN MODEL       read TRAIN, train, leave the model in the folder MODEL
    run.py predict MODEL TEST OUT    a line a row: `label:score label:score …`, the best five, best first
    run.py score   MODEL TEST OUT    a line a row: log p of the row's first label (only peers whose setting has probabilities)
    run.py prepare FILE OUT          rewrite an XMC file into the peer's own form (only peers that cannot read XMC)

A runner prints one JSON object with the seconds of each phase. Imports and `prepare` are never part of a phase: `read` is from file
to the peer's own matrices, `train` and `predict` from there to the finished model or answer, `save` and `load` the model on disk.
A peer that streams has no separate `read`: it is within `train` or `predict`, and its result says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

TOP = 5


class Clock:
    """Seconds by phase, and whatever else the result should say."""

    def __init__(self, package: str) -> None:
        self.result: dict[str, Any] = {"version": f"{package} {version(package)}"}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.result[f"{name}_seconds"] = time.perf_counter() - start


def lines_of(path: str | Path) -> Iterator[tuple[str, str]]:
    """The labels and the features of each row of an XMC file, as text."""
    with open(path) as file:
        next(file)
        for line in file:
            labels, _, features = line.rstrip("\n").partition(" ")
            yield labels, features


def shape_of(path: str | Path) -> tuple[int, int, int]:
    """Rows, features and labels, from the header."""
    with open(path) as file:
        rows, features, labels = map(int, next(file).split())
    return rows, features, labels


def read_xmc(path: str | Path):
    """Features as a CSR matrix of floats, and the list of labels of each row. Fast enough in NumPy not to be what is measured."""
    import numpy as np
    import scipy.sparse as sp

    rows, features, _ = shape_of(path)
    labels, counts, parts = [], np.zeros(rows + 1, np.int64), []
    for i, (names, text) in enumerate(lines_of(path)):
        labels.append([int(name) for name in names.split(",") if name])
        pairs = np.array(text.replace(":", " ").split(), dtype=np.float64).reshape(-1, 2)
        counts[i + 1] = len(pairs)
        parts.append(pairs)
    pairs = np.concatenate(parts) if parts else np.zeros((0, 2))
    csr = sp.csr_matrix(
        (pairs[:, 1].astype(np.float32), pairs[:, 0].astype(np.int32), np.cumsum(counts)),
        shape=(rows, features),
    )
    csr.sort_indices()
    return csr, labels


def label_matrix(labels: list[list[int]], classes: int):
    """The rows' labels as a CSR matrix of ones."""
    import numpy as np
    import scipy.sparse as sp

    ends = np.cumsum([0] + [len(row) for row in labels])
    columns = np.fromiter((label for row in labels for label in row), np.int32, ends[-1])
    return sp.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(labels), classes))


def write_top(path: str, rows: Iterable[Iterable[tuple[Any, float]]]) -> None:
    """Top lists, best first, a line a row."""
    with open(path, "w") as file:
        for row in rows:
            file.write(" ".join(f"{label}:{score:.6g}" for label, score in row) + "\n")


def log(p: float) -> float:
    """log p, also of 0."""
    return math.log(p) if p > 0 else -math.inf


def write_scores(path: str, log_p: Iterable[float]) -> None:
    """log p of the first label, a line a row."""
    Path(path).write_text("".join(f"{value:.6f}\n" for value in log_p))


def main(**commands: Callable[..., None]) -> None:
    """Run `train`, `predict`, `score` or `prepare` as the command line says; each gets (clock, options, *paths)."""
    package = commands.pop("package")
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=sorted(commands))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--options", type=json.loads, default={}, help="the setting, as JSON")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    clock = Clock(package)
    commands[args.command](clock, args.options | {"threads": args.threads}, *args.paths)
    print(json.dumps(clock.result))
