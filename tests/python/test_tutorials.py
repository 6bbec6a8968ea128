"""The commands of the tutorials run as they stand, one after the other, in an empty folder."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_tutorials_run(tmp_path):
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/tutorials.md").read_text(), re.M | re.S)
    binary = Path(os.environ.get("OVE", ROOT / "target/debug/ove"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ove").symlink_to(binary)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    printed = ""
    # The server goes on until it is stopped; its own tests run it.
    for block in (block for block in blocks if not block.startswith("ove serve")):
        options = {"cwd": tmp_path, "env": {**os.environ, "PATH": path}, "capture_output": True, "text": True}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], timeout=300, **options)
        assert done.returncode == 0, f"{block}{done.stderr}"
        printed += done.stdout
    # What they promise: the category, items of the group, other cities, and the subjects of the title.
    lines = printed.splitlines()
    assert len(blocks) > 8 and any(line.startswith("shoes\t") for line in lines)
    neighbours = next(at for at, line in enumerate(lines) if line.startswith(("london", "rome")))
    assert neighbours and {line.split("\t")[0] for line in lines if line.startswith(("london", "rome"))} == {"london", "rome"}
    assert lines[-1].startswith(("s3\t", "s4\t"))
