"""`ove train --log`, read back by TensorBoard itself."""

import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


@pytest.fixture(scope="module")
def logged(ove_json, rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    path = rows[2]
    result = ove_json("train", path, "-o", folder / "model", "--valid", path, "--epochs", "30", "--log", folder / "log")
    return folder / "log", result


def test_tensorboard_reads_the_events(logged):
    folder, result = logged
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    tags = set(events.Tags()["scalars"])
    assert {"bound", "learning_rate", "updates_per_second", "memory_bytes", "error", "nlpd", "seconds"} <= tags
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for tag in ("bound", "error", "nlpd", "learning_rate"):
        scalars = events.Scalars(tag)
        assert [s.step for s in scalars] == [line["updates"] for line in lines if line[tag] is not None]
        assert [s.value for s in scalars] == pytest.approx([line[tag] for line in lines if line[tag] is not None], rel=1e-6)
    # Twenty measures along the run and one at its end, which is what the command says.
    assert len(lines) >= 21
    assert lines[-1]["nlpd"] == pytest.approx(result["nlpd"]) and lines[-1]["error"] == pytest.approx(result["error"])
    assert lines[-1]["done"] == 1 and lines[-1]["updates"] == 300 * 30
    bounds = [line["bound"] for line in lines]
    assert bounds[-1] > bounds[0]


def test_a_damaged_event_is_noticed(logged, tmp_path):
    """The checksums are really checked: a flipped bit ends the reading."""
    [path] = logged[0].glob("events.out.tfevents.*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / path.name).write_bytes(data)
    events = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    try:
        events.Reload()
        read = len(events.Scalars("bound"))
    except Exception:
        read = 0
    whole = EventAccumulator(str(logged[0]), size_guidance={"scalars": 0})
    whole.Reload()
    assert read < len(whole.Scalars("bound"))


def test_the_log_changes_no_bit_of_the_model(ove, rows, tmp_path):
    for name, more in (("plain", []), ("logged", ["--log", tmp_path / "log"])):
        ove("train", rows[2], "-o", tmp_path / name, "--valid", rows[2], "--epochs", "5", *more)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "logged").read_bytes()
