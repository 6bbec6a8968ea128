"""`ove` and its peers, one after another, on the same files, in one run.

    python bench/peers.py                                    # two hours
    python bench/peers.py --long                             # everything; a working day
    python bench/peers.py --rows 20000 --tasks titles-all    # a quick look
    python bench/peers_report.py                             # the table and the plots of what is there

Tasks are {titles, eurlex} × {all, first}: every label of a row, or only its first; places: names to cities, by characters; and with --fresh
those of fresh.py, on which no setting was chosen. Part `features`: everyone gets the same tf-idf file, written by `ove convert`. Part `raw`:
everyone starts from the text with what suits it best: words and pairs of words.

One run is two processes, train and predict, each with all cores and a time limit. Four clocks are kept: the whole process
(`wall_seconds`: start, imports, reading, work, writing), within it `read_seconds` and `train_seconds` or `predict_seconds`, which exclude
each other, and what all its threads took of the processors (`cpu_seconds`). Peak memory is the kernel's (ru_maxrss). Quality is computed
here, from the five best labels each one wrote, never by the tool itself; only the nlpd of `ove` is what `ove evaluate` says. nlpd is that of
the first label on the same held-out rows for all that have probabilities; rows whose label never occurs in training are left out of it, since
no one can give that a probability.

This process stays small on purpose: a child's ru_maxrss starts at what its parent had when it was started.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import hashlib
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

import fresh
from settings import PARTS, SETTINGS, Setting

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("OVE_DATA", HERE.parent.parent / "shared" / "data"))
OVE = os.environ.get("OVE", str(HERE.parent / "target" / "release" / "ove"))
TASKS = ("titles-all", "titles-first", "eurlex-all", "eurlex-first", "places-first")
FRESH = ("wordnet-first", "wordnet-all", "icd-first", "cities-first")
PEERS = tuple(dict.fromkeys(setting.peer for setting in SETTINGS))
FOLDER = {"titles": "yso-titles", "eurlex": "eurlex57k", "places": "geonames"}
MIN_DF = {"titles": "2", "eurlex": "5", "places": "2", "wordnet": "2", "icd": "2", "cities": "2"}
NAMES = ("places", "cities")
"""Texts that are names, which have n-grams of characters as features in both parts."""
CHARS = ["--ngrams", "0", "--chars", "3-5"]
NGRAMS = {"features": "1", "raw": "2"}
OWN_FORM = {"fasttext", "vw"}
NLPD_ROWS = 2000
A, B = 0.55, 1.5  # of the propensities, as the XMC repository has them for sets that are not Wikipedia or Amazon


# ---- the data ------------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Task:
    """One task's files: `text` the rows as they came, `folder` all that is made of them."""

    name: str
    part: str
    folder: Path

    @property
    def data(self) -> str:
        return self.name.partition("-")[0]

    @property
    def labels(self) -> str:
        return self.name.partition("-")[2]

    def file(self, which: str, form: str = "xmc") -> Path:
        return self.folder / f"{which}.{form}"


def make(task: Task, rows: int | None) -> None:
    """Everything the runs read; a file that is there is kept."""
    task.folder.mkdir(parents=True, exist_ok=True)
    if task.data in fresh.NAMES:
        source = task.folder.parent / task.data
        fresh.make(task.data, source)
    else:
        source = DATA / FOLDER[task.data]
    for which in ("train", "test"):
        cut(source / f"{which}.tsv.gz", task.file(which, "tsv"), rows)
    if not task.file("train").exists():
        convert(task)
    if not task.file("nlpd").exists():
        held_out(task)


def cut(source: Path, target: Path, rows: int | None) -> None:
    """The text, or `rows` lines spread evenly over it (test: at most as many, of its own lines)."""
    if target.exists():
        return
    with gzip.open(source, "rt") as file:
        total = sum(1 for _ in file) if rows else 0
    with gzip.open(source, "rt") as file, open(f"{target}.part", "w") as out:
        for i, line in enumerate(file):
            if not rows or rows >= total or i * rows // total != (i + 1) * rows // total:
                out.write(line)
    os.replace(f"{target}.part", target)


def convert(task: Task) -> None:
    """Text to tf-idf by `ove convert`."""
    made = {which: task.file(which, "made") for which in ("train", "test")}
    command = [OVE, "convert", task.file("train", "tsv"), "-o", made["train"]]
    command += ["--test", task.file("test", "tsv"), "--test-output", made["test"]]
    command += ["--min-df", MIN_DF[task.data], *(CHARS if task.data in NAMES else ["--ngrams", NGRAMS[task.part]])]
    command += ["--first-label"] if task.labels == "first" else []
    if subprocess.run([str(word) for word in command], check=False).returncode:
        sys.exit(f"{OVE} convert could not make the features of {task.name}")
    for which in ("test", "train"):
        tidy(made[which], task.file(which))


def tidy(made: Path, target: Path) -> None:
    """No blank at the end of a row without features: omikuji refuses the whole file for it."""
    with open(made) as source, open(target, "w") as out:
        out.writelines(line.rstrip() + "\n" for line in source)
    made.unlink()


def labels_of(path: Path) -> Iterator[list[str]]:
    """Each row's labels."""
    with open(path) as file:
        next(file)
        for line in file:
            yield [label for label in line.partition(" ")[0].rstrip("\n").split(",") if label]


def held_out(task: Task) -> None:
    """The rows on which nlpd is computed: the first of the test rows whose first label occurs in training; also as text."""
    known = {label for row in labels_of(task.file("train")) for label in row[:1]}
    with open(task.file("test")) as file, open(task.file("test", "tsv")) as texts:
        header = next(file).split()
        pairs = ((line, text) for line, text in zip(file, texts) if line.partition(" ")[0].partition(",")[0].rstrip() in known)
        chosen = [pair for _, pair in zip(range(NLPD_ROWS), pairs)]
    task.file("nlpd", "tsv").write_text("".join(text for _, text in chosen))
    task.file("nlpd").write_text(f"{len(chosen)} {header[1]} {header[2]}\n" + "".join(line for line, _ in chosen))


def own_form(task: Task, peer: str, runner: list[str]) -> None:
    """The files of a peer that cannot read XMC; not part of any time."""
    for which in ("train", "test", "nlpd"):
        target = task.file(which, peer)
        if target.exists():
            continue
        if peer == "fasttext" and task.part == "raw":
            text_for_fasttext(task, which)
        else:
            subprocess.run([*runner, "prepare", str(task.file(which)), str(target)], check=True, stdout=subprocess.DEVNULL)
    if not task.file("train", "json").exists():
        with open(task.file("train")) as file:
            task.file("train", "json").write_text(json.dumps({"labels": int(file.readline().split()[2])}))


def text_for_fasttext(task: Task, which: str) -> None:
    """Lower-cased words after `__label__`s; the labels are the numbers of the XMC file, so that all answers are judged alike."""
    with open(task.file(which, "tsv")) as texts, open(task.file(which, "fasttext"), "w") as out:
        for labels, line in zip(labels_of(task.file(which)), texts, strict=True):
            words = "".join(c if c.isalnum() else " " for c in line.partition("\t")[0].lower()).split()
            out.write(" ".join([*("__label__" + label for label in labels), *words]) + "\n")


# ---- quality -------------------------------------------------------------------------------------------------------------------------


def quality(task: Task, answers: Path) -> dict[str, float]:
    """precision@1, 3, 5, nDCG@5 and propensity-scored precision@1, 3, 5 of the top lists.

    A label that never occurs in training counts as one that could have been found. `ove evaluate` leaves such labels out of the best
    possible propensity-scored precision, so its figure is higher; on tasks with one label the other figures agree.
    """
    inverse = inverse_propensity(task.file("train"))
    gains = [1 / math.log2(rank + 2) for rank in range(5)]
    sums: Counter[str] = Counter()
    rows = 0
    with open(answers) as file:
        for own, line in zip(labels_of(task.file("test")), file, strict=True):
            rows += 1
            named = list(dict.fromkeys(pair.rpartition(":")[0] for pair in line.split()))[:5]
            hits = [label in own for label in named]
            sums["ndcg_at_5"] += sum(g for g, hit in zip(gains, hits) if hit) / (sum(gains[: len(own)]) or 1)
            best = sorted((inverse(label) for label in own), reverse=True)
            for k in (1, 3, 5):
                sums[f"precision_at_{k}"] += sum(hits[:k]) / k
                sums[f"psp {k}"] += sum(inverse(label) for label, hit in zip(named[:k], hits) if hit)
                sums[f"most {k}"] += sum(best[:k])
    result = {name: sums[name] / rows for name in ("precision_at_1", "precision_at_3", "precision_at_5", "ndcg_at_5")}
    return result | {f"psp_at_{k}": sums[f"psp {k}"] / (sums[f"most {k}"] or 1) for k in (1, 3, 5)}


def inverse_propensity(train: Path):
    """1/p of a label: 1 + C (n + B)^-A with C = (log N − 1)(B + 1)^A (Jain et al. 2016)."""
    counts: Counter[str] = Counter()
    rows = 0
    for row in labels_of(train):
        counts.update(row)
        rows += 1
    c = (math.log(rows) - 1) * (B + 1) ** A
    return lambda label: 1 + c * (counts[label] + B) ** -A


# ---- running -------------------------------------------------------------------------------------------------------------------------


class Failed(Exception):
    """A run that did not end well, with what to write into its result."""


def run(command: list[Any], limit: float, log: Path, out: Path | None = None) -> dict[str, Any]:
    """One process from start to end: its last line as JSON (of its log, if its output goes to a file), wall time, processor time, and
    the kernel's peak memory."""
    target = out or log.with_suffix(".out")
    start = time.perf_counter()
    with open(target, "w") as stdout, open(log, "w") as stderr:
        process = subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=stderr, start_new_session=True)
    late = threading.Event()
    alarm = threading.Timer(limit, lambda: (late.set(), os.killpg(process.pid, signal.SIGKILL)))
    alarm.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        alarm.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if late.is_set():
        raise Failed(f"stopped after {limit:.0f} s")
    if process.returncode:
        raise Failed(f"exit {process.returncode}: {last_line(log)[-300:]}")
    printed = json.loads(last_line(log if out else target) or "{}")
    # Where other guests of the machine take part of its time, the processor's seconds are steadier than the clock's.
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return printed | {"wall_seconds": seconds, "cpu_seconds": cpu_seconds, "peak_memory_bytes": usage.ru_maxrss * 1024}


def last_line(path: Path) -> str:
    """A result, or the reason of a failure; omikuji and others print much before it."""
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def by_ove(task: Task, setting: Setting, work: Path, limit: float) -> dict[str, Any]:
    """Train, name the best five, evaluate, all by the command line."""
    model, test = work / "model" / "model", task.file("test")
    model.parent.mkdir()
    result: dict[str, Any] = {"version": subprocess.run([OVE, "--version"], capture_output=True, text=True).stdout.strip()}
    result["train"] = run([OVE, "train", task.file("train"), "-o", model, "--json", *setting.options], limit, work / "train.log")
    result["predict"] = run([OVE, "predict", model, test, "--top", "5", "--times"], limit, work / "predict.log", work / "answers.tsv")
    own = run([OVE, "evaluate", model, test, "--json"], limit, work / "evaluate.log")
    result["by_itself"] = {name: own.get(name) for name in ("precision_at_1", "precision_at_5", "ndcg_at_5", "psp_at_1", "nlpd")}
    with open(work / "answers.tsv") as source, open(work / "answers", "w") as out:
        for line in source:
            fields = line.rstrip("\n").split("\t")
            out.write(" ".join(map(":".join, zip(fields[::2], fields[1::2]))) + "\n")
    if task.labels == "first":
        known = run([OVE, "evaluate", model, task.file("nlpd"), "--json"], limit, work / "nlpd.log")
        result |= {"nlpd": known["nlpd"], "nlpd_rows": known["rows"], "nlpd_impossible_rows": 0}
    return result


def by_peer(task: Task, setting: Setting, work: Path, limit: float) -> dict[str, Any]:
    """The same by a peer's runner, in the peer's environment."""
    runner = [str(environment(setting.peer)), str(HERE / "peers" / setting.peer / "run.py")]
    form = setting.peer if setting.peer in OWN_FORM else "xmc"
    if setting.peer in OWN_FORM:
        own_form(task, setting.peer, runner)
    options = ["--options", json.dumps(setting.options | pairs_of_words(task, setting))]
    model, answers = work / "model", work / "answers"
    result: dict[str, Any] = {}
    result["train"] = run([*runner, "train", task.file("train", form), model, *options], limit, work / "train.log")
    result["version"] = result["train"].pop("version")
    result["predict"] = run([*runner, "predict", model, task.file("test", form), answers, *options], limit, work / "predict.log")
    del result["predict"]["version"]
    if task.labels == "first" and setting.probabilities:
        run([*runner, "score", model, task.file("nlpd", form), work / "scores", *options], limit, work / "score.log")
        result |= mean_nlpd([float(line) for line in (work / "scores").read_text().split()])
    return result


def mean_nlpd(log_p: list[float]) -> dict[str, float | int | None]:
    """The mean of −log p. A label that got probability 0 makes it infinite: such rows are counted, not rounded up to some small number."""
    impossible = sum(value == -math.inf for value in log_p)
    return {"nlpd": None if impossible else -sum(log_p) / len(log_p), "nlpd_rows": len(log_p), "nlpd_impossible_rows": impossible}


def pairs_of_words(task: Task, setting: Setting) -> dict[str, int]:
    """fastText makes its own pairs of words from raw text."""
    return {"wordNgrams": 2} if setting.peer == "fasttext" and task.part == "raw" else {}


def one(task: Task, setting: Setting, work: Path, limit: float) -> dict[str, Any]:
    """One row of the table; whatever goes wrong is its result."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    result: dict[str, Any] = {"task": task.name, "part": task.part, "peer": setting.peer, "setting": setting.name}
    with open(task.file("train")) as file:
        result["shape"] = file.readline().split()
    try:
        if setting.skip:
            raise Failed(f"not run: {setting.skip}")
        result |= (by_ove if setting.peer == "ove" else by_peer)(task, setting, work, limit)
        result |= quality(task, work / "answers")
        result["model_bytes"] = sum(file.stat().st_size for file in (work / "model").rglob("*") if file.is_file())
    except (Failed, subprocess.CalledProcessError, ValueError, KeyError, OSError) as error:
        result["failed"] = str(error)
    shutil.rmtree(work, ignore_errors=True)
    return result


# ---- environments --------------------------------------------------------------------------------------------------------------------


def environment(peer: str) -> Path:
    """The Python of a peer's own environment, made if need be. Everything is pinned, so nothing but the file is installed."""
    wanted, home = HERE / "peers" / peer / "requirements.txt", HERE / ".envs" / peer
    done, python = home / "installed.txt", home / "bin" / "python"
    if done.exists() and done.read_bytes() == wanted.read_bytes():
        return python
    note(f"installing {peer}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", str(wanted)]
    found = subprocess.run(install, capture_output=True, text=True)
    if found.returncode:
        raise Failed(f"cannot be installed: {found.stderr.strip().splitlines()[-1]}")
    shutil.copy(wanted, done)
    return python


def machine() -> dict[str, Any]:
    """What it ran on."""
    models = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "python": platform.python_version(),
    }


# ---- all of it -----------------------------------------------------------------------------------------------------------------------


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def line_of(result: dict[str, Any]) -> str:
    """One result in one line."""
    name = f"{result['task']:13} {result['part']:9} {result['peer']:9} {result['setting']:24}"
    if "failed" in result:
        return f"{name} {result['failed']}"
    train, predict = result["train"], result["predict"]
    nlpd = ""
    if "nlpd" in result:
        nlpd = f" nlpd {result['nlpd']:.3f}" if result["nlpd"] is not None else f" nlpd ∞ ({result['nlpd_impossible_rows']} rows)"
    memory = max(train["peak_memory_bytes"], predict["peak_memory_bytes"]) / 1e9
    return (
        f"{name} p@1 {result['precision_at_1']:.4f} p@5 {result['precision_at_5']:.4f} psp@1 {result['psp_at_1']:.4f}{nlpd}  "
        f"train {train['train_seconds']:.1f} s ({train['wall_seconds']:.1f})  predict {predict['predict_seconds']:.1f} s "
        f"({predict['wall_seconds']:.1f})  {memory:.2f} GB, model {result['model_bytes'] / 1e6:.0f} MB"
    )


def write(path: Path, value: Any) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    os.replace(part, path)


def combine(out: Path) -> None:
    """results.json: every run that is there, in the order of the tasks and the settings."""
    order = {(setting.peer, setting.name): i for i, setting in enumerate(SETTINGS)}
    runs = [json.loads(path.read_text()) for path in (out / "runs").glob("*.json")]
    runs.sort(key=lambda r: (PARTS.index(r["part"]), (*TASKS, *FRESH).index(r["task"]), order.get((r["peer"], r["setting"]), 99)))
    write(out / "results.json", {"machine": machine(), "nlpd_rows": NLPD_ROWS, "runs": runs})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=(*TASKS, *FRESH))
    parser.add_argument("--fresh", action="store_true", help="the tasks of fresh.py")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only the settings whose name starts with one of these")
    parser.add_argument("--part", choices=PARTS, help="only this one")
    parser.add_argument("--long", action="store_true", help="also the settings that take long")
    parser.add_argument("--rows", type=int, help="so many training rows, spread over the file, for a quick look")
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--limit", type=float, default=1200, help="seconds that one process may take")
    parser.add_argument("--again", action="store_true", help="run also what has a result already")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    tasks = args.tasks or (FRESH if args.fresh else TASKS)
    if not DATA.exists() and not set(tasks) <= set(FRESH):
        sys.exit(f"skipped: {DATA} is not there")
    if not Path(OVE).exists():
        sys.exit(f"{OVE} is not there: cargo build --release, or set OVE")
    (args.out / "runs").mkdir(parents=True, exist_ok=True)
    for part in [args.part] if args.part else PARTS:
        for name in tasks:
            if part == "raw" and name.startswith(NAMES):
                continue  # the same features: n-grams of characters
            task = Task(name, part, args.out / "data" / f"{name}-{part}-{args.rows or 'all'}")
            make(task, args.rows)
            for setting in SETTINGS:
                named = not args.only or setting.name.startswith(tuple(args.only))
                if named and setting.peer in args.peers and setting.fits(task.data, task.labels, part, args.long):
                    record(args, task, setting)


def binary() -> str:
    """Which build of `ove` this is, so that a result of another one is not kept."""
    return hashlib.sha256(Path(OVE).read_bytes()).hexdigest()[:12]


def record(args: argparse.Namespace, task: Task, setting: Setting) -> None:
    """Run one setting unless its result is there (same options, rows and build of `ove`), and write it down at once."""
    slug = "".join(c if c.isalnum() else "-" for c in f"{task.part}-{task.name}-{setting.peer}-{setting.name}")
    path = args.out / "runs" / f"{slug}.json"
    key = {"options": setting.options, "rows": args.rows, "binary": binary() if setting.peer == "ove" else None}
    if path.exists() and not args.again and key.items() <= json.loads(path.read_text()).items():
        return
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    result = one(task, setting, args.out / "work", args.limit) | key | {"start": start}
    write(path, result)
    combine(args.out)
    print(line_of(result), flush=True)


if __name__ == "__main__":
    main()
