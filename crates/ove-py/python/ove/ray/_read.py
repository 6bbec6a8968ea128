"""Rows in a cache that every node sees, made by the workers if there are several files.

    file 1  →  counts of its terms  ↘                ↗  rows of file 1  ↘
    file 2  →  counts of its terms  →   vocabulary  →   rows of file 2  →   cache
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Sequence
from pathlib import Path

from ove import _ove
from ove.ray._cluster import ray, run

Reading = tuple["str | None", str]


def cached_rows(files: Sequence[Path], folder: Path, reading: Reading, settings: str, workers: int) -> _ove.CachedRows:
    """The rows of these files, in their order."""
    if len(files) == 1:
        return _ove.CachedRows.of_file(folder, files[0], reading, settings, 0)
    if not (folder / "card").exists():
        _write(files, folder, reading, settings, workers)
    return _ove.CachedRows.open(folder, 0)


def _write(files: Sequence[Path], folder: Path, reading: Reading, settings: str, workers: int) -> None:
    parts = folder.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    names = [str(file) for file in files]
    sizes = [file.stat().st_size for file in files]
    # What the first texts decide, such as the language, holds for all.
    options = _ove.resolve_texts(names[0], reading, settings)
    counts = [str(parts / f"counts-{n}") for n in range(len(files))]
    jobs = [functools.partial(_count.remote, file, reading, options, to) for file, to in zip(names, counts, strict=True)]
    for _ in run("counts", list(zip(jobs, sizes, strict=True)), workers):
        pass
    texts = [Path(count).exists() for count in counts]
    if any(texts) and not all(texts):
        raise ValueError(f"`data` must be files that all have texts, or none of them; {names[texts.index(False)]} has none")
    vocabulary = str(parts / "counts") if all(texts) else None
    if vocabulary is not None:
        _ove.add_up_terms(counts, options, vocabulary)
    rows = [str(parts / f"rows-{n}") for n in range(len(files))]
    jobs = [functools.partial(_rows.remote, file, reading, vocabulary, to) for file, to in zip(names, rows, strict=True)]
    for _ in run("rows", list(zip(jobs, sizes, strict=True)), workers):
        pass
    _ove.join_rows(names, reading, vocabulary, rows, folder)
    shutil.rmtree(parts)


@ray.remote(num_cpus=1, max_retries=-1)
def _count(file: str, reading: Reading, options: str, to: str) -> None:
    if not Path(to).exists():
        _ove.count_terms(file, reading, options, to)


@ray.remote(num_cpus=1, max_retries=-1)
def _rows(file: str, reading: Reading, vocabulary: str | None, to: str) -> None:
    if not (Path(to) / "card").exists():
        _ove.write_rows(file, reading, vocabulary, to)
