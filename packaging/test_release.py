"""What `make release` leaves in `dist` (DIST), installed in empty environments and run."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import urllib.request
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
DIST = Path(os.environ.get("DIST", "dist")).resolve()
FRUIT = "apple 1:1 4:0.5\napple 1:0.9\npear 2:1 4:0.5\npear 2:1.1\nplum 3:1\nplum 3:0.8 4:1\n"
PROGRAM = """
import numpy as np, ove
x, y = np.eye(9)[np.arange(90) % 9], np.arange(90) % 9
model = ove.OneVsEachClassifier().fit(x, y)
assert (model.predict(x) == y).all()
print(ove.__file__)
"""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=1800, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def one(pattern):
    (found,) = DIST.glob(pattern)
    return found


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(one("ove-*-x86_64-linux.tar.gz")) as tar:
        tar.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def test_checksums_are_those_of_all_files():
    lines = (DIST / "SHA256SUMS").read_text().splitlines()
    named = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert len(named) == 4 and {Path(name).suffix for name in named} == {".gz", ".whl", ".json"}
    for name, digest in named.items():
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest


def test_the_binary_needs_nothing_of_the_system(unpacked, tmp_path):
    (tmp_path / "fruit.svm").write_text(FRUIT)
    nothing = {"env": {}, "cwd": tmp_path}
    run(unpacked / "ove", "train", "fruit.svm", "-o", "m", "--epochs", "100", **nothing)
    found = run(unpacked / "ove", "predict", "m", "fruit.svm", "--top", "1", **nothing)
    assert [line.split("\t")[0] for line in found.splitlines()] == [line.split()[0] for line in FRUIT.splitlines()]
    assert "not a dynamic executable" in subprocess.run(
        ["ldd", unpacked / "ove"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    ).stderr or "statically linked" in run("ldd", unpacked / "ove")
    assert (unpacked / "man/man1/ove-train.1").read_text().startswith(".ie")
    assert "complete -F" in (unpacked / "completions/ove.bash").read_text()
    run("bash", "-n", unpacked / "completions/ove.bash")


def test_the_list_of_parts_names_what_is_built_in():
    parts = json.loads(one("ove-*.cdx.json").read_text())
    assert (parts["bomFormat"], parts["specVersion"]) == ("CycloneDX", "1.5")
    names = {part["name"] for part in parts["components"]}
    assert {"clap", "rayon", "safetensors", "tokio", "ove"} <= names and not {"proptest", "pyo3"} & names
    known = {parts["metadata"]["component"]["bom-ref"], *(part["bom-ref"] for part in parts["components"])}
    assert known == {of["ref"] for of in parts["dependencies"]}
    assert all(set(of["dependsOn"]) <= known for of in parts["dependencies"])
    assert all("licenses" in part and ("hashes" in part or part["name"].startswith("ove")) for part in parts["components"])


@pytest.mark.parametrize("pattern", ["ove-*-abi3-manylinux*.whl", "ove-[0-9].[0-9].[0-9].tar.gz"])
def test_the_package_installs_in_an_empty_environment(pattern, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env/bin/python"
    # From sources without optimisation, which takes a third of the time.
    run(python, "-m", "pip", "install", "--quiet", one(pattern), env={**os.environ, "MATURIN_PEP517_ARGS": "--profile dev"})
    assert str(tmp_path) in run(python, "-c", PROGRAM, cwd=tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="an empty root directory needs root")
def test_the_image_serves(unpacked, tmp_path):
    """As its Dockerfile says, without a daemon: in a root directory with nothing but the files that it names."""
    lines = (Path(__file__).parent / "Dockerfile").read_text().splitlines()
    of = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line and line[0] != "#"}
    assert of["FROM"] == "scratch" and of["COPY"] == "--chmod=0755 ove /ove"
    root = tmp_path / "root"
    root.mkdir()
    (root / "ove").write_bytes((unpacked / "ove").read_bytes())
    (root / "ove").chmod(0o755)
    (tmp_path / "fruit.svm").write_text(FRUIT)
    run(unpacked / "ove", "train", tmp_path / "fruit.svm", "-o", root / "model", "--epochs", "100")
    (root / "token").write_text("a-token-of-sixteen-letters-or-more\n")
    (root / "model").chmod(0o644)
    for folder in [root, *root.parents]:
        folder.chmod(folder.stat().st_mode | 0o011)
    entry = [*json.loads(of["ENTRYPOINT"]), *json.loads(of["CMD"])]
    entry[entry.index("0.0.0.0:8080")] = "0.0.0.0:0"
    command = [shutil.which("chroot"), f"--userspec={of['USER']}", root, *entry]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={})
    try:
        line = ""
        while "http://" not in line:
            line = server.stderr.readline()
            assert line, "the server has ended"
        port = line.split("http://")[1].split("/")[0].split()[0].rsplit(":")[-1].strip(".,;/")
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/predict",
            json.dumps({"features": {"2": 1.0}, "top": 1}).encode(),
            {"content-type": "application/json", "authorization": "Bearer a-token-of-sixteen-letters-or-more"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer)["predictions"][0]["labels"] == ["pear"]
    finally:
        server.terminate()
    assert server.wait(timeout=30) == 0
