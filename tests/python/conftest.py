"""Runs the `ove` binary named by the environment variable OVE."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture(scope="session")
def ove():
    binary = os.environ.get("OVE", str(Path(__file__).parents[2] / "target/debug/ove"))

    def run(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def ove_json(ove):
    return lambda *arguments: json.loads(ove(*arguments, "--json"))


def write_libsvm(path, x, y):
    """Rows with features from 0, values as exact decimals of their 32-bit floats."""
    x = sp.csr_matrix(x)
    with open(path, "w") as file:
        for n in range(x.shape[0]):
            entries = slice(x.indptr[n], x.indptr[n + 1])
            pairs = zip(x.indices[entries], x.data[entries])
            file.write(" ".join([str(y[n]), *(f"{d}:{float(v)!r}" for d, v in pairs)]) + "\n")


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A small sparse problem with five classes: matrix, labels, and the file that holds them."""
    random = np.random.default_rng(0)
    x = sp.random(300, 40, density=0.2, random_state=0, format="csr", dtype=np.float32)
    x.sort_indices()
    truth = random.normal(size=(40, 5)) * 3
    y = np.argmax(x @ truth + random.gumbel(size=(300, 5)), axis=1)
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    write_libsvm(path, x, y)
    return x, y, path
