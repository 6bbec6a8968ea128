"""Training in parts that the workers of a cluster do.

    driver                                          workers
    files                                  →        rows → cache folder
    clusters of the classes → nodes.plan   →        blocks of nodes → nodes-….part
    trees                   → rivals.plan  →        rivals of rows  → rivals-….part
    second stage → model

A part needs the cache and the plan, both files, and writes a file. No part depends on another one of its stage, nor on who
does it, so a worker that is killed costs the part that it was at, and the model is the same.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ove import _ove
from ove._load import load
from ove._progress import progress_line
from ove._settings import TEXT, as_json
from ove.ray._cluster import check_seen, connect, count_workers, ray, run
from ove.ray._read import cached_rows

# The least and the most parts per stage, and the rows that one of them is for. Whatever the number of workers, since another
# number of them goes on with the same parts: enough for hundreds, but every part is a file that is synced to the disk.
LEAST_PARTS, MOST_PARTS = 16, 256
ROWS_PER_PART = 1000

# Batches of parts per worker and stage: a task reads the plan once for its batch; the last ones are not waited for long.
BATCHES = 4

# What is in the folder of a run.
MODEL, ROWS, WORK, ABOUT = "model", "rows", "work", "run.json"


def fit(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    checkpoint_dir: str | os.PathLike[str],
    num_workers: int | None = None,
    mode: Literal["trees"] = "trees",
    resume: bool = False,
    shard_bytes: int | None = None,
    address: str | None = None,
    format: str | None = None,
    columns: Mapping[str, Any] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Any:
    """Trains a model on a Ray cluster.

    The result is the model that `ove train DATA --scores trees` gives with the same settings, to the bit, for any number
    of workers.

    Parameters
    ----------
    data : path of a file, list of paths, or path of a folder
        Texts, rows of numbers or a table, in any format that can be read piece by piece: TSV, fastText, CSV, JSON lines,
        Parquet, libsvm, XMC. Several files are read in parallel; a folder stands for its files, sorted by name. Every node
        must see them under these paths.
    checkpoint_dir : path of a folder
        Where the rows, the plan and the finished parts go. Every node must see it under this path.
    num_workers : int, optional
        Number of tasks at a time, each on one core; as many as the cluster has cores if not given.
    mode : {"trees"}
        How the work is divided: blocks of the nodes of trees.
    resume : bool
        Whether to go on with what is in `checkpoint_dir`. Settings and data must be those of the earlier run.
    shard_bytes : int, optional
        Writes the model as shards of about so many bytes, and an index in the place of the model, which opens as one.
    address : str, optional
        The address of the cluster. If not given: the cluster that this process is connected to, or else one on this
        machine.
    format : str, optional
        The format of the data; detected if not given.
    columns : dict, optional
        The columns of a table: `text`, `features` (lists), `label`, `label_separator`, `weight`, `id`.
    verbose : bool
        Whether to show progress.
    **settings
        The settings of training and of texts, as in `TextClassifier` and `OneVsEachClassifier`.

    Returns
    -------
    TextClassifier or OneVsEachClassifier
        The model, which is also in the file `model` of `checkpoint_dir`.
    """
    if mode != "trees":
        raise ValueError(f"`mode` must be 'trees', got {mode!r}")
    for name, number in (("num_workers", num_workers), ("shard_bytes", shard_bytes)):
        if number is not None and number < 1:
            raise ValueError(f"`{name}` must be at least 1, got {number}")
    settings = _settings(settings)
    of_texts_too = as_json(settings)
    training = as_json({name: value for name, value in settings.items() if name not in TEXT})
    _ove.check_settings(of_texts_too, training)
    files, folder = _files(data), Path(checkpoint_dir).absolute()
    reading = (format, json.dumps(dict(columns or {})))
    folder.mkdir(parents=True, exist_ok=True)
    model, work = folder / MODEL, folder / WORK
    connect(address)
    workers = count_workers(num_workers)
    check_seen(folder, files)
    _check_run(folder / ABOUT, {"data": _about(files), "reading": reading, **settings}, resume)
    if not model.exists():
        rows = cached_rows(files, folder / ROWS, reading, of_texts_too, workers)
        work.mkdir(exist_ok=True)
        divide = functools.partial(_divide, str(folder / ROWS), workers)
        with progress_line(verbose, len(rows)) as progress:
            parts = min(MOST_PARTS, max(LEAST_PARTS, len(rows) // ROWS_PER_PART))
            trained = _ove.train_in_parts(rows, training, work, parts, 0, divide, progress)
        if shard_bytes is None:
            trained.save(model)
        else:
            trained.save_in_shards(model, shard_bytes)
    # The model is there: what led to it is not needed any more.
    shutil.rmtree(work, ignore_errors=True)
    return load(model)


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by the names of the library."""
    settings = dict(settings)
    if settings.get("scores", "trees") != "trees":
        raise ValueError(f"`scores` must be 'trees' in this mode, got {settings['scores']!r}")
    if "random_state" in settings:
        settings["seed"] = settings.pop("random_state")
    return {**settings, "scores": "trees"}


def _files(data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    files = []
    for path in (Path(path).absolute() for path in given):
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file")
        own = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        if not own:
            raise ValueError(f"`data` must have files, got the empty folder {path}")
        files.extend(own)
    if not files:
        raise ValueError("`data` must have at least one file, got none")
    return files


def _about(files: Sequence[Path]) -> list[str]:
    """The files, with what changes if they do."""
    facts = [(file, file.stat()) for file in files]
    return [f"{file} ({fact.st_size} bytes, changed {fact.st_mtime_ns})" for file, fact in facts]


def _check_run(path: Path, about: Mapping[str, Any], resume: bool) -> None:
    """Raises an exception if the folder has another run, or one that is not to be resumed; a new one is noted there."""
    now = json.loads(json.dumps(about, default=str))
    if not path.exists():
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(now))
        beside.replace(path)
        return
    if not resume:
        raise ValueError(
            f"`checkpoint_dir` must be a folder without an earlier run, unless `resume=True`, got {path.parent}"
        )
    before = json.loads(path.read_text())
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            raise ValueError(f"`{name}` must be {before.get(name)!r} as in the run to resume, got {now.get(name)!r}")


def _divide(
    rows: str, workers: int, stage: str, options: str, plan: Path, parts: Sequence[tuple[int, int, Path]]
) -> Iterator[float]:
    """Has parts done by workers; yields the share that is done."""
    todo = [(start, end, str(path)) for start, end, path in parts]
    count = min(len(todo), workers * BATCHES)
    # Dealt out, since neighbours are alike: all blocks of a root take long.
    batches = [todo[first::count] for first in range(count)]
    start = functools.partial(_do_parts.remote, rows, stage, options, str(plan))
    return run(stage, [(functools.partial(start, batch), len(batch)) for batch in batches], workers)


# A worker that is killed says nothing about the task that it was at, so this is done again as often as it takes.
@ray.remote(num_cpus=1, max_retries=-1)
def _do_parts(rows: str, stage: str, options: str, plan: str, parts: list[tuple[int, int, str]]) -> None:
    _ove.train_parts(_opened(rows), stage, options, plan, parts, 1)


@functools.lru_cache(maxsize=1)
def _opened(rows: str) -> _ove.CachedRows:
    """The rows of a run, which a worker opens once."""
    return _ove.CachedRows.open(rows, 1)
