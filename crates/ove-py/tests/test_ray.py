"""Training on a real Ray cluster of three nodes: the bits of one process, whoever is killed on the way.

`make ray-test` runs this with Ray in an environment of its own; elsewhere it is skipped. OVE_KILLS is the number of runs
in which a worker is killed.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ove

ray = pytest.importorskip("ray")

import ove.ray
from ove.ray._cluster import check_version

OVE = os.environ.get("OVE", "ove")
KILLS = int(os.environ.get("OVE_KILLS", "3"))

# Enough rows that some are held out, so that there is a second stage.
ROWS, CLASSES = 6000, 150
SETTINGS = {"trees": 2, "epochs": 3, "random_state": 3, "min_df": 2}


@pytest.fixture(scope="module")
def cluster():
    """Three nodes with a core each, on this machine."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=small)
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    """A file of texts, each with words of its class, of its neighbours and of none."""
    random = np.random.default_rng(5)
    lines = []
    for _ in range(ROWS):
        label = int(random.integers(CLASSES))
        own = [f"own{label}", f"pair{label // 2}", f"ten{label // 10}"]
        kept = [word for word in own if random.random() < 0.7]
        lines.append(" ".join([*kept, *(f"word{n}" for n in random.integers(200, size=5))]) + f"\tclass{label}\n")
    path = tmp_path_factory.mktemp("data") / "titles.tsv"
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def expected(titles):
    """The model that the command line trains in one process."""
    model = titles.parent / "one-process"
    flags = "--scores trees --trees 2 --epochs 3 --seed 3 --min-df 2 --no-examples".split()
    subprocess.run([OVE, "train", titles, "-o", model, *flags], check=True, capture_output=True)
    return model.read_bytes()


def fitted(titles, folder, **more):
    ove.ray.fit(titles, checkpoint_dir=folder, **{"num_workers": 2, **SETTINGS, **more})
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_bits_of_one_process(cluster, titles, expected, tmp_path, workers):
    assert fitted(titles, tmp_path, num_workers=workers) == expected
    assert not (tmp_path / "work").exists()


def test_the_model_is_that_of_any_other_training(cluster, titles, tmp_path):
    model = ove.ray.fit(titles, checkpoint_dir=tmp_path, num_workers=2, **SETTINGS)
    assert isinstance(model, ove.TextClassifier)
    labels, _ = model.top_k(["own17 pair8 ten1", "own140 pair70 ten14"], k=1)
    assert labels[:, 0].tolist() == ["class17", "class140"]
    again = ove.ray.fit(titles, checkpoint_dir=tmp_path, num_workers=2, resume=True, **SETTINGS)
    assert again.settings_ == model.settings_


def test_shards_open_as_one_and_join_to_the_bits_of_one_process(cluster, titles, expected, tmp_path):
    model = ove.ray.fit(titles, checkpoint_dir=tmp_path, num_workers=2, shard_bytes=1 << 16, **SETTINGS)
    index, merged = tmp_path / "model", tmp_path / "merged"
    assert len(list(tmp_path.glob("model.*-of-*"))) > 2
    subprocess.run([OVE, "merge-shards", index, "-o", merged], check=True)
    assert merged.read_bytes() == expected
    one = [OVE, "predict", merged, titles, "--top", "2"]
    of = lambda model: subprocess.run([*one[:2], model, *one[3:]], check=True, capture_output=True).stdout
    assert of(index) == of(merged) and of(index).count(b"\n") == ROWS
    subprocess.run([OVE, "inspect", index], check=True, capture_output=True)
    assert np.array_equal(model.top_k(["own17 pair8"])[1], ove.load(merged).top_k(["own17 pair8"])[1])


def busy(cluster):
    """The processes of this cluster that do parts."""
    raylets = {node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()}
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cmdline").read_bytes().startswith(b"ray::_do_parts"):
                parent = int((process / "stat").read_text().rsplit(") ", 1)[1].split()[1])
                if parent in raylets:
                    found.append(int(process.name))
        except OSError:
            continue
    return found


def disturbed(titles, folder, disturb, **more):
    """The model of a training that is disturbed as soon as `disturb` succeeds; whether it did."""
    results = []
    training = threading.Thread(target=lambda: results.append(fitted(titles, folder, **more)))
    training.start()
    succeeded = False
    while training.is_alive() and not succeeded:
        time.sleep(0.002)
        succeeded = disturb()
    training.join()
    return results[0], succeeded


@pytest.mark.parametrize("run", range(KILLS))
def test_a_worker_is_killed(cluster, titles, expected, tmp_path, run):
    moment = random.Random(run)
    # Counted in parts that are done, not in seconds: it is early on any machine.
    wanted = moment.randrange(4)

    def kill():
        found = busy(cluster)
        if not found or len(list((tmp_path / "work").glob("nodes-*.part"))) < wanted:
            return False
        os.kill(moment.choice(found), signal.SIGKILL)
        return True

    model, killed = disturbed(titles, tmp_path, kill)
    assert killed and model == expected


def test_a_node_is_removed_and_another_added(cluster, titles, expected, tmp_path):
    def remove():
        if not busy(cluster):
            return False
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
        return True

    model, removed = disturbed(titles, tmp_path, remove, num_workers=3)
    assert removed and model == expected


def test_the_driver_is_killed(cluster, titles, expected, tmp_path):
    script = (
        "import ove.ray, sys\n"
        f"ove.ray.fit({str(titles)!r}, checkpoint_dir={str(tmp_path)!r}, num_workers=1, address={cluster.address!r}, "
        f"**{SETTINGS!r})\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    # Whole ones: half of one has another name.
    parts = lambda: [part for part in (tmp_path / "work").glob("nodes-*") if re.fullmatch(r"nodes-\d+-\d+\.part", part.name)]
    while not parts():
        assert driver.poll() is None, driver.stderr.read().decode()
        time.sleep(0.01)
    driver.kill()
    driver.communicate()
    assert (tmp_path / "work").exists() and not (tmp_path / "model").exists()
    # Half a part, as on a disk that lost its power.
    first = parts()[0]
    first.write_bytes(first.read_bytes()[:-9])
    with pytest.raises(ValueError, match="an earlier run, unless `resume=True`"):
        fitted(titles, tmp_path)
    with pytest.raises(ValueError, match="`epochs` must be 3 as in the run to resume, got 4"):
        fitted(titles, tmp_path, resume=True, epochs=4)
    assert fitted(titles, tmp_path, resume=True, num_workers=3) == expected


def test_predictions_are_those_of_the_model(cluster, titles, tmp_path):
    model = ove.ray.fit(titles, checkpoint_dir=tmp_path, num_workers=2, shard_bytes=1 << 16, **SETTINGS)
    texts = [line.split("\t")[0] for line in titles.read_text().splitlines()[:300]]
    dataset = ray.data.from_items([{"id": n, "text": text} for n, text in enumerate(texts)])
    found = ove.ray.predict(tmp_path / "model", dataset, column="text", k=3, batch_size=64).take_all()
    found.sort(key=lambda row: row["id"])
    labels, probabilities = model.top_k(texts, k=3)
    assert [list(row["labels"]) for row in found] == labels.tolist()
    assert np.array_equal([row["probabilities"] for row in found], probabilities)
    with pytest.raises(ValueError, match="`column` must be one of id, text, got 'texts'"):
        ove.ray.predict(tmp_path / "model", dataset, column="texts")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        ove.ray.predict(tmp_path / "none", dataset, column="text")


def test_several_files_are_read_as_one(cluster, titles, expected, tmp_path):
    lines = titles.read_text().splitlines(keepends=True)
    folder = tmp_path / "files"
    folder.mkdir()
    for n, (start, end) in enumerate([(0, 2500), (2500, 2501), (2501, ROWS)]):
        (folder / f"{n}.tsv").write_text("".join(lines[start:end]))
    assert fitted(folder, tmp_path / "folder", num_workers=3) == expected
    assert fitted(sorted(folder.iterdir()), tmp_path / "list", num_workers=1) == expected
    assert not (tmp_path / "list" / "rows.parts").exists()


def test_what_cannot_work_is_refused(cluster, titles, tmp_path):
    with pytest.raises(ValueError, match="`mode` must be 'trees', got 'leaves'"):
        fitted(titles, tmp_path, mode="leaves")
    with pytest.raises(ValueError, match="`num_workers` must be at least 1, got 0"):
        fitted(titles, tmp_path, num_workers=0)
    with pytest.raises(ValueError, match="`scores` must be 'trees' in this mode, got 'linear'"):
        fitted(titles, tmp_path, scores="linear")
    with pytest.raises(ValueError, match="`epochs` must be at least 1, got 0"):
        fitted(titles, tmp_path / "epochs", epochs=0)
    with pytest.raises(ValueError, match="`shard_bytes` must be at least 1, got 0"):
        fitted(titles, tmp_path, shard_bytes=0)
    with pytest.raises(ValueError, match="`data` must have files, got the empty folder"):
        fitted(tmp_path, tmp_path / "new")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        fitted(tmp_path / "none.tsv", tmp_path)
    with pytest.raises(ValueError, match="`address` must be left out"):
        fitted(titles, tmp_path / "address", address=cluster.address)


def test_a_folder_that_workers_do_not_see(cluster, titles, tmp_path):
    # What this process has open, no other process has under this number.
    own = os.open(tmp_path, os.O_RDONLY)
    try:
        hidden = Path(f"/proc/self/fd/{own}")
        with pytest.raises(ValueError, match="must be a folder that every node of the cluster sees; .* does not see /proc"):
            fitted(titles, hidden)
    finally:
        os.close(own)
    assert not list(tmp_path.glob("seen-by-all*"))


def test_versions_of_ray():
    check_version(ray.__version__)
    for version in ["1.13.0", "2.9.3", "3.0.0"]:
        with pytest.raises(ImportError, match=f"needs Ray 2.10 or later, below 3, found {version}"):
            check_version(version)
    without = "import sys; sys.modules['ray'] = None; import ove.ray"
    failed = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert "ModuleNotFoundError: ove.ray needs Ray, which is not installed: pip install 'ove[ray]'" in failed.stderr
