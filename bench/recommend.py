"""Recommenders: `ove` beside implicit's ALS and BPR and cornac's BPR, two threads each.

    python bench/recommend.py                     # Gowalla: choose settings on its validation file, then test
    python bench/recommend.py --set amazon-book   # a tenth of each user's training items in place of that file
    python bench/recommend.py --quick             # one setting each, few epochs
    python bench/recommend.py --table             # the table and the plot of what is there

Everybody's settings are chosen by recall@20 of the validation interactions, which are left out of training for that;
the model with the best ones is then trained on all training interactions and measured on the test interactions, once.
What has a result is not run again. A peer that is not installed is left out, and the table says so. Recommendations are
measured here, by the same code for all: items of training are left out, recall is hits over test items, and nDCG is
relative to its value for min(20, test items) hits in front.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("OVE_DATA", HERE.parent.parent / "shared" / "data"))
OVE = os.environ.get("OVE", str(HERE.parent / "target" / "release" / "ove"))
OUT = HERE.parent / "docs" / "bench"
K = 20

# The settings that are tried. Peers take what their documentation names as worth tuning.
GRID: dict[str, list[dict[str, Any]]] = {
    "ove": [
        {"temperature": t, "co_occurrence": c, "epochs": 60, **more}
        for t in (0.07, 0.1) for c in (0, 2, 4) for more in ({}, {"negatives": 8192, "batch": 256})
    ],
    "implicit ALS": [
        {"factors": 64, "regularization": r, "alpha": a, "iterations": i}
        for r in (0.01, 1, 10) for a in (1, 10) for i in (15, 30)
    ],
    "implicit BPR": [
        {"factors": 63, "learning_rate": lr, "regularization": r, "iterations": i}
        for lr in (0.01, 0.05) for r in (0.001, 0.01, 0.03) for i in (100, 400)
    ],
    "cornac BPR": [
        {"k": 64, "learning_rate": lr, "lambda_reg": r, "max_iter": i}
        for lr in (0.01, 0.05) for r in (0.001, 0.01) for i in (100, 400)
    ],
}
QUICK: dict[str, dict[str, Any]] = {
    "ove": {"epochs": 10},
    "implicit ALS": {"factors": 64, "iterations": 10},
    "implicit BPR": {"factors": 63, "iterations": 50},
    "cornac BPR": {"k": 64, "max_iter": 50},
}


# ---- data -----------------------------------------------------------------------------------------------------------------


def pairs(name: str, part: str) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    with gzip.open(DATA / name / f"{part}.txt.gz", "rt") as file:
        for user, *items in (line.split() for line in file if line.strip()):
            found.setdefault(int(user), set()).update(map(int, items))
    return found


def matrix(found: dict[int, set[int]], shape: tuple[int, int]) -> sp.csr_matrix:
    rows = [user for user, items in found.items() for _ in items]
    columns = [item for items in found.values() for item in sorted(items)]
    return sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def read(name: str) -> dict[str, sp.csr_matrix]:
    train, test = pairs(name, "train"), pairs(name, "test")
    shape = (1 + max(*train, *test), 1 + max(max(items) for part in (train, test) for items in part.values() if items))
    if (DATA / name / "valid.txt.gz").exists():
        valid = pairs(name, "valid")
    else:
        random = np.random.default_rng(0)
        share = {user: random.choice(sorted(items), len(items) // 10, replace=False) for user, items in train.items()}
        valid = {user: set(items.tolist()) for user, items in share.items()}
    kept = {user: items - valid.get(user, set()) for user, items in train.items()}
    parts = {"train": train, "kept": kept, "valid": valid, "test": test}
    return {part: matrix(found, shape) for part, found in parts.items()}


def measure(lists: np.ndarray, test: sp.csr_matrix) -> dict[str, float]:
    """Mean recall and nDCG over the users with test items."""
    gains = 1 / np.log2(np.arange(2, K + 2))
    recall, ndcg = [], []
    for user in np.flatnonzero(np.diff(test.indptr)):
        own = test.indices[test.indptr[user] : test.indptr[user + 1]]
        hits = np.isin(lists[user], own)
        recall.append(hits.sum() / len(own))
        ndcg.append(hits @ gains / gains[: min(K, len(own))].sum())
    return {"recall": float(np.mean(recall)), "ndcg": float(np.mean(ndcg))}


# ---- models: the top 20 of every user -------------------------------------------------------------------------------------


def run_ove(train: sp.csr_matrix, settings: dict[str, Any]) -> tuple[np.ndarray, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with open(path / "train.txt", "w") as file:
            for user in range(train.shape[0]):
                own = train.indices[train.indptr[user] : train.indptr[user + 1]]
                file.write(" ".join(map(str, [user, *own])) + "\n")
        flags = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        start = time.monotonic()
        command = [OVE, "train", "train.txt", "--format", "interactions", "-o", "m", "--threads", "2", *flags]
        subprocess.run(command, cwd=path, check=True, capture_output=True)
        seconds = time.monotonic() - start
        command = [OVE, "recommend", "m", "--top", str(K), "--threads", "2", "--json"]
        found = subprocess.run(command, cwd=path, check=True, capture_output=True, text=True).stdout
    lists = np.full((train.shape[0], K), -1)
    for line in found.splitlines():
        answer = json.loads(line)
        lists[int(answer["user"]), : len(answer["items"])] = [int(item) for item in answer["items"]]
    return lists, seconds


def run_implicit(train: sp.csr_matrix, settings: dict[str, Any], kind: str) -> tuple[np.ndarray, float]:
    import implicit

    known = {"num_threads": 2, "random_state": 0}
    if kind == "ALS":
        model = implicit.als.AlternatingLeastSquares(**settings, **known, use_gpu=False)
    else:
        model = implicit.bpr.BayesianPersonalizedRanking(**settings, **known, use_gpu=False)
    start = time.monotonic()
    model.fit(train, show_progress=False)
    seconds = time.monotonic() - start
    return model.recommend(np.arange(train.shape[0]), train, N=K)[0], seconds


def run_cornac(train: sp.csr_matrix, settings: dict[str, Any]) -> tuple[np.ndarray, float]:
    import cornac

    rows = train.tocoo()
    data = cornac.data.Dataset.from_uir(list(zip(rows.row.tolist(), rows.col.tolist(), rows.data.tolist())))
    model = cornac.models.BPR(**settings, num_threads=2, seed=0, verbose=False)
    start = time.monotonic()
    model.fit(data)
    seconds = time.monotonic() - start
    items = np.array(list(data.item_ids))
    lists = np.full((train.shape[0], K), -1)
    for user, number in data.uid_map.items():
        scores = model.score(number)
        seen = train.indices[train.indptr[user] : train.indptr[user + 1]]
        scores[[data.iid_map[item] for item in seen]] = -np.inf
        best = np.argpartition(-scores, K)[:K]
        lists[user] = items[best[np.argsort(-scores[best])]]
    return lists, seconds


def run(name: str, train: sp.csr_matrix, settings: dict[str, Any]) -> tuple[np.ndarray, float]:
    if name == "ove":
        return run_ove(train, settings)
    if name.startswith("implicit"):
        return run_implicit(train, settings, name.split()[1])
    return run_cornac(train, settings)


def work(job: dict[str, Any]) -> None:
    """Runs in a process of its own, so that memory is its own too."""
    data = read(job["set"])
    train, other = (("train", "test") if job["test"] else ("kept", "valid"))
    who = resource.RUSAGE_CHILDREN if job["name"] == "ove" else resource.RUSAGE_SELF
    lists, seconds = run(job["name"], data[train], job["settings"])
    used = resource.getrusage(who)
    facts = {"seconds": seconds, "cpu_seconds": used.ru_utime + used.ru_stime, "memory_mb": used.ru_maxrss / 1024}
    print(json.dumps({**job, **measure(lists, data[other]), **facts}))


# ---- the whole bench ------------------------------------------------------------------------------------------------------


def done(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def result(path: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a job, run if it is not there; None if the peer is not installed."""
    for earlier in done(path):
        if all(earlier.get(key) == value for key, value in job.items()):
            return earlier
    calm = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker", json.dumps(job)]
    ran = subprocess.run(command, capture_output=True, text=True, env=calm)
    if ran.returncode:
        print(f"{job['name']} failed: {ran.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(ran.stdout)
    print(ran.stdout.strip(), file=sys.stderr, flush=True)
    return json.loads(ran.stdout)


def table(path: Path, name: str) -> None:
    tests = [row for row in done(path) if row["test"]]
    lines = ["| | recall@20 | nDCG@20 | seconds | CPU seconds | MB | settings |", "|---|---|---|---|---|---|---|"]
    for row in sorted(tests, key=lambda row: -row["recall"]):
        settings = ", ".join(f"{key} {value}" for key, value in row["settings"].items())
        lines.append(
            f"| {row['name']} | {row['recall']:.4f} | {row['ndcg']:.4f} | {row['seconds']:.1f} |"
            f" {row['cpu_seconds']:.1f} | {row['memory_mb']:.0f} | {settings} |"
        )
    lines += [f"| {peer} | not installed, or failed | | | | | |" for peer in GRID if peer not in {row["name"] for row in tests}]
    print("\n".join(lines))
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no plot", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for row in tests:
        axes.scatter(row["seconds"], row["recall"])
        axes.annotate(row["name"], (row["seconds"], row["recall"]), textcoords="offset points", xytext=(5, 4))
    axes.set(xscale="log", xlabel="seconds of training, two threads", ylabel="recall@20 of test interactions", title=name)
    figure.tight_layout()
    figure.savefig(OUT / f"recommend-{name}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="gowalla", choices=["gowalla", "amazon-book"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(json.loads(args.worker))
        return
    path = HERE / "out" / f"recommend-{args.set}{'-quick' if args.quick else ''}.jsonl"
    for name, grid in {} if args.table else GRID.items():
        candidates = [QUICK[name]] if args.quick else grid
        jobs = [{"set": args.set, "name": name, "settings": settings, "test": False} for settings in candidates]
        # One candidate needs no choice.
        tuned = [found for job in jobs if (found := result(path, job))] if len(jobs) > 1 else jobs
        if tuned:
            best = max(tuned, key=lambda row: row.get("recall", 0))
            result(path, {"set": args.set, "name": name, "settings": best["settings"], "test": True})
    table(path, args.set)


if __name__ == "__main__":
    main()
