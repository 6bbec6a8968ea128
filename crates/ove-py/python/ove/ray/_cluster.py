"""The cluster: Ray itself, a connection, what every node has to see, and tasks until all are done."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

try:
    import ray as ray  # for the other modules too
except ImportError as reason:
    message = "ove.ray needs Ray, which is not installed: pip install 'ove[ray]'"
    raise ModuleNotFoundError(message, name="ray") from reason

# The first version of Ray that is known to place tasks on nodes and to retry them without end.
OLDEST = (2, 10)


def check_version(version: str) -> None:
    """Raises an exception unless this version of Ray can be used."""
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if not OLDEST <= found < (3,):
        wanted = ".".join(map(str, OLDEST))
        raise ImportError(f"ove.ray needs Ray {wanted} or later, below 3, found {version}: pip install -U 'ove[ray]'")


check_version(ray.__version__)


def connect(address: str | None) -> None:
    """Connects to the cluster at an address; without one, to that of this process, or else to a new one on this machine."""
    if ray.is_initialized():
        if address is not None:
            raise ValueError(f"`address` must be left out, since Ray is already connected, got {address!r}")
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as reason:
        where = repr(address or os.environ.get("RAY_ADDRESS"))
        raise ConnectionError(
            f"there is no Ray cluster at {where}: start one by `ray start --head`, or leave `address` out to use this "
            "machine alone"
        ) from reason


def count_workers(num_workers: int | None) -> int:
    """The number of workers: one per core of the cluster if it is not given."""
    if num_workers is None:
        return max(1, int(ray.cluster_resources().get("CPU", 1)))
    return num_workers


def check_seen(folder: Path, files: Sequence[Path]) -> None:
    """Raises an exception unless every node sees these files, and what this process writes to a folder."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    token = folder / f"seen-by-all.{uuid.uuid4().hex}"
    token.touch()
    try:
        paths = [str(token), *map(str, files)]
        found = {
            node["NodeManagerAddress"]: _unseen.options(
                scheduling_strategy=On(node["NodeID"], soft=False)
            ).remote(paths)
            for node in ray.nodes()
            if node["Alive"]
        }
        unseen = [(address, path) for address, paths in found.items() for path in ray.get(paths)]
    finally:
        token.unlink()
    for address, path in unseen:
        if path == str(token):
            raise ValueError(
                f"`checkpoint_dir` must be a folder that every node of the cluster sees; {address} does not see {folder}"
            )
        raise ValueError(f"`data` must be files that every node of the cluster sees; {address} does not see {path}")


@ray.remote(num_cpus=0)
def _unseen(paths: list[str]) -> list[str]:
    return [path for path in paths if not os.path.exists(path)]


def run(stage: str, calls: Sequence[tuple[Any, int]], workers: int) -> Iterator[float]:
    """Runs tasks, at most so many at a time, and yields the share that is done; each is a function that starts one, and how
    much there is to do in it. If this is closed, the tasks end."""
    from ray.util.metrics import Gauge

    done = Gauge("ove_share_done", description="The share of a stage of the training that is done", tag_keys=("stage",))
    waiting, finished = list(calls), 0
    running: dict[Any, int] = {}
    total = sum(work for _, work in calls)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                start, work = waiting.pop(0)
                running[start()] = work
            ready, _ = ray.wait(list(running), timeout=0.2)
            for task in ready:
                finished += running.pop(task)
                _raise_own(task)
            done.set(finished / total, tags={"stage": stage})
            yield finished / total
    finally:
        for task in running:
            ray.cancel(task, force=True)


def _raise_own(task: Any) -> None:
    """Raises the exception of a task as itself, not as one of Ray."""
    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as failure:
        raise failure.cause from None
