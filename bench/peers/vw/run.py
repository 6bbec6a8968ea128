"""Vowpal Wabbit's probabilistic label tree. It reads its own text while it learns, and a binary cache of it in later passes, so reading
is within the training time. It has one learning thread."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import vowpalwabbit


def prepare(clock, options, file, out):
    with open(out, "w") as target:
        for labels, features in common.lines_of(file):
            target.write(f"{labels} | {features}\n")


def run(*words):
    vowpalwabbit.Workspace(arg_list=[str(word) for word in words]).finish()


def train(clock, options, train, folder):
    Path(folder).mkdir(exist_ok=True)
    flags = [word for name, value in options.items() if name != "threads" for word in (f"--{name}", value)]
    classes = json.loads(Path(train).with_suffix(".json").read_text())["labels"]
    cache = ["-k", "--cache_file", f"{folder}.cache"]
    with clock.phase("train"):
        run(
            "-d",
            train,
            *cache,
            "--holdout_off",
            "--plt",
            classes,
            "--loss_function",
            "logistic",
            *flags,
            "-f",
            f"{folder}/model",
            "--quiet",
        )
    Path(f"{folder}.cache").unlink()


def predict(clock, options, folder, test, out):
    raw = f"{out}.raw"
    fixed = ["-i", f"{folder}/model", "--loss_function", "logistic", "--top_k", common.TOP, "--quiet"]
    with clock.phase("load"):
        run("-t", *fixed)
    with clock.phase("predict"):  # loads the model once more
        run("-t", "-d", test, *fixed, "-p", raw)
    clock.result["predict_seconds"] = max(clock.result["predict_seconds"] - clock.result["load_seconds"], 0)
    rewrite(raw, out)


def rewrite(raw, out):
    """VW names the five best, `label:p,label:p`; the harness wants spaces."""
    with open(raw) as source, open(out, "w") as target:
        for line in source:
            pairs = [pair.partition(":")[::2] for pair in line.strip().split(",") if pair]
            best = sorted(pairs, key=lambda pair: -float(pair[1] or 0))
            target.write(" ".join(f"{label}:{score or 0}" for label, score in best) + "\n")
    Path(raw).unlink()


common.main(package="vowpalwabbit", train=train, predict=predict, prepare=prepare)
