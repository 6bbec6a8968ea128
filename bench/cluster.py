"""What a cluster costs beside one process: seconds, and bytes that go through files, by number of workers.

Trains trees on the titles of OVE_DATA by `ove train` and by `ove.ray.fit` on this machine, checks that the models are the
same to the byte, and prints a table. The seconds of Ray are without the start of the cluster. Wants ove and Ray in this
environment: `make bench-ray`.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import ray

import ove.ray

SETTINGS = {"trees": 3, "random_state": 0}
FLAGS = "--scores trees --trees 3 --seed 0 --no-examples".split()


def titles(path: Path, rows: int | None) -> None:
    """The titles, or the first of them."""
    with gzip.open(Path(os.environ["OVE_DATA"]) / "yso-titles" / "train.tsv.gz", "rt") as lines, path.open("w") as out:
        out.writelines(line for n, line in enumerate(lines) if rows is None or n < rows)


class Written:
    """The most bytes that each stage had in files, watched while they are there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.most, self.stop = folder, {}, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self) -> None:
        while not self.stop.wait(0.2):
            for kind in ("nodes.plan", "nodes-*.part", "rivals.plan", "rivals-*.part"):
                try:
                    now = sum(file.stat().st_size for file in (self.folder / "work").glob(kind))
                except FileNotFoundError:
                    continue
                self.most[kind] = max(now, self.most.get(kind, 0))

    def __enter__(self) -> "Written":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="only the first rows")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ove-cluster-"))
    try:
        data, model = folder / "titles.tsv", folder / "one-process"
        titles(data, args.rows)
        start = time.monotonic()
        subprocess.run([os.environ["OVE"], "train", data, "-o", model, *FLAGS], check=True, capture_output=True)
        alone = time.monotonic() - start
        print(f"one process, {os.cpu_count()} threads: {alone:.1f} s, model {model.stat().st_size / 1e6:.1f} MB")
        ray.init(num_cpus=max(args.workers), object_store_memory=80 << 20, include_dashboard=False, log_to_driver=False)
        for workers in args.workers:
            run = folder / f"run-{workers}"
            with Written(run) as written:
                start = time.monotonic()
                ove.ray.fit(data, checkpoint_dir=run, num_workers=workers, **SETTINGS)
                seconds = time.monotonic() - start
            same = (run / "model").read_bytes() == model.read_bytes()
            files = ", ".join(f"{kind} {count / 1e6:.1f} MB" for kind, count in written.most.items())
            verdict = "same bytes" if same else "OTHER BYTES"
            print(f"{workers} workers: {seconds:.1f} s ({seconds / alone - 1:+.0%}), {verdict}; {files}", flush=True)
    finally:
        ray.shutdown()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
