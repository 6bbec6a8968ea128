"""`ove serve` through the eyes of others: schemathesis reads its description, Prometheus's own parser its metrics."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

BINARY = os.environ.get("OVE", str(Path(__file__).parents[2] / "target/debug/ove"))
TITLES = Path(__file__).parents[1] / "page" / "titles.tsv"


@contextmanager
def serving(model, *arguments):
    process = subprocess.Popen([BINARY, "serve", str(model), "--listen", "127.0.0.1:0", *map(str, arguments)], stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", process.stderr.readline())[0]
    finally:
        process.terminate()
        assert process.wait(20) == 0, process.stderr.read()


@pytest.fixture(scope="module")
def models(ove, rows, tmp_path_factory):
    """A model of texts, one of numbered features, a forest, word vectors, and a recommender."""
    folder = tmp_path_factory.mktemp("models")
    ove("train", TITLES, "-o", folder / "titles")
    ove("train", rows[2], "-o", folder / "rows")
    ove("train", TITLES, "-o", folder / "forest", "--solver", "forest")
    ove("embed", TITLES, "-o", folder / "words", "--rank", "8", "--min-count", "2")
    visits = "".join(f"u{user}\ti{(user * step) % 30}\n" for user in range(60) for step in range(1, 6))
    (folder / "visits.txt").write_text(visits)
    ove("train", folder / "visits.txt", "-o", folder / "visits", "--format", "interactions", "--rank", "8", "--epochs", "5")
    return folder


@pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name, token", [("titles", "correct-horse"), ("rows", None), ("forest", None), ("words", None), ("visits", None)])
def test_schemathesis_finds_nothing(models, name, token, examples, tmp_path):
    file = tmp_path / "token"
    file.write_text(token or "")
    with serving(models / name, *(["--token-file", file] if token else [])) as url:
        # Always the same examples; with SEED=random every run asks something else.
        command = [Path(sys.executable).parent / "schemathesis", "run", f"{url}/openapi.json", "--checks", "all"]
        command += ["--max-examples", str(examples), "--phases", "examples,coverage,fuzzing", "--no-color"]
        command += [] if os.environ.get("SEED") == "random" else ["--seed", "1"]
        command += ["--header", f"Authorization: Bearer {token}"] if token else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_the_metrics(models):
    with serving(models / "titles") as url:
        body = json.dumps({"texts": ["ships", "birds"]}).encode()
        request = urllib.request.Request(f"{url}/predict", body, {"content-type": "application/json"})
        assert len(json.load(urllib.request.urlopen(request))["predictions"]) == 2
        text = urllib.request.urlopen(f"{url}/metrics").read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    [requests] = [s for s in families["ove_requests"].samples if s.labels == {"path": "/predict", "status": "200"}]
    assert requests.value == 1
    [rows] = families["ove_rows"].samples
    assert rows.value == 2
    buckets = [s.value for s in families["ove_request_seconds"].samples if s.name.endswith("_bucket") and s.labels["path"] == "/predict"]
    assert buckets == sorted(buckets) and buckets[-1] == 1
