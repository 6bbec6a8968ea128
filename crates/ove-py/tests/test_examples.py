"""The examples run: on made data of the same form, and on part of the real data where OVE_DATA has it."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(name, *arguments):
    # Threads of OpenBLAS that wait for each other on a busy machine take a hundred times as long.
    calm = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=calm)
    assert done.returncode == 0, done.stderr
    return done.stdout


def real(folder):
    path = Path(os.environ.get("OVE_DATA", "../shared/data")) / folder
    if not path.exists():
        pytest.skip(f"the real data is not at {path}")
    return path


def table(printed):
    """The numbers of each named line."""
    lines = [line.rsplit(maxsplit=3) for line in printed.splitlines()[2:]]
    return {name.strip(): [float(number) for number in numbers] for name, *numbers in lines}


def test_newsgroups_on_made_rows(tmp_path):
    random = np.random.default_rng(0)
    for part, rows in [("train", 300), ("test", 100)]:
        labels = random.integers(1, 4, rows)
        with gzip.open(tmp_path / f"{part}.data.gz", "wt") as file:
            for n, label in enumerate(labels, 1):
                for word in sorted({*random.choice(np.arange(10) + 10 * label, 4), *random.choice(10, 3)}):
                    file.write(f"{n} {word + 1} {random.integers(1, 4)}\n")
        with gzip.open(tmp_path / f"{part}.label.gz", "wt") as file:
            file.writelines(f"{label}\n" for label in labels)
    found = table(run("newsgroups.py", tmp_path, "--features", 50))
    assert len(found) == 4 and all(accuracy > 0.95 for _, accuracy, _ in found.values())
    assert abs(found["softmax by batch"][2] - found["LogisticRegression"][2]) < 1e-3


def test_newsgroups_on_part_of_the_real_rows():
    found = table(run("newsgroups.py", real("20news"), "--features", 500, "--rows", 500))
    accuracies = [accuracy for _, accuracy, _ in found.values()]
    assert len(accuracies) == 4 and min(accuracies) > 0.15 and max(accuracies) - min(accuracies) < 0.1


def test_titles_on_made_titles(tmp_path):
    random = np.random.default_rng(0)
    for part, rows in [("train", 6000), ("test", 200)]:
        with gzip.open(tmp_path / f"{part}.tsv.gz", "wt") as file:
            for _ in range(rows):
                a, b = random.integers(0, 1200, 2)
                file.write(f"word{a} and other{b} of it\ts{a} t{b % 50}\n")
    with gzip.open(tmp_path / "labels.tsv.gz", "wt") as file:
        file.writelines(f"s{k}\tsubject {k}\n" for k in range(1200))
    printed = run("titles.py", tmp_path, "--title", "word7 and other9 of it")
    assert "6000 titles, 1" in printed and "subject 7" in printed and "word7 +" in printed
    assert float(printed.split("precision@1 on 200 other titles: ")[1].split()[0]) > 0.8


def test_titles_on_part_of_the_real_titles():
    printed = run("titles.py", real("yso-titles"), "--rows", 10_000)
    assert "10000 titles, " in printed and "construction" in printed
    assert float(printed.split("precision@1 on 10000 other titles: ")[1].split()[0]) > 0.05


def test_the_page_for_newcomers(tmp_path):
    page = (EXAMPLES.parent / "docs" / "python.md").read_text()
    program = "\n".join(block.split("```")[0] for block in page.split("```python\n")[1:])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("[['sea' 'wood']\n ['wood' 'sea']]", "('tree', -", "sampled-softmax frequency", "[1 1 1]\nTrue\nTrue", "[0.75 0.25]"):
        assert shown in done.stdout
    assert (tmp_path / "reliability.png").stat().st_size > 1000
