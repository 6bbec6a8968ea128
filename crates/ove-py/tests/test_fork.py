"""A process that has trained and predicted forks, and its child trains and predicts too."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and asks Linux for its threads")

KINDS = {
    "stochastic": {},
    "stochastic, two threads": {"n_jobs": 2},
    "batch": {"solver": "batch", "l2": 0.1},
    "factored": {"scores": "factored", "rank": 8},
    "trees": {"scores": "trees"},
}

PROGRAM = """
import json, multiprocessing, os, pickle, sys, time
import numpy as np
import scipy.sparse as sp
import ove

folder, settings = sys.argv[1], json.loads(sys.argv[2])
random = np.random.default_rng(0)
x = sp.random(1200, 60, density=0.3, random_state=0, format="csr", dtype=np.float32)
y = np.argmax(x @ (3 * random.normal(size=(60, 8))), axis=1)
texts = ["word%d other%d of them" % (k, k % 5) for k in random.integers(0, 20, 400)]
labels = [text.split()[0] for text in texts]

def everything(name):
    model = ove.OneVsEachClassifier(**settings).fit(x, y)
    path = os.path.join(folder, name)
    model.save(path)
    own = [ove.load(path).predict_proba(x), pickle.loads(pickle.dumps(model)).top_k(x, k=3)[1]]
    before = [ove.load(earlier).predict_proba(x), pickle.loads(pickled).decision_function(x)]
    text = pickle.loads(pickle.dumps(ove.TextClassifier(**settings).fit(texts, labels)))
    return [*own, *before, text.predict_proba(texts)]

def is_same(name):
    return all(map(np.array_equal, everything(name), expected))

earlier = os.path.join(folder, "earlier")
first = ove.OneVsEachClassifier(**settings).fit(x, y)
first.save(earlier)
pickled = pickle.dumps(first)
expected = everything("parent")

threads = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
names = [open(f"/proc/self/task/{thread}/comm").read().strip() for thread in threads]
# Where they are installed, scikit-learn imports pandas, that imports pyarrow, and the allocator of pyarrow starts a
# thread that returns memory. The threads of a global pool of rayon would have no name of their own.
arrow = {"jemalloc_bg_thd"} if "pyarrow" in sys.modules else set()
others = [name for name in names if not name.startswith("ove-") and name not in arrow]
assert names and not others, f"threads outside the pools of ove: {others}"

child = os.fork()
if child == 0:
    os._exit(0 if is_same("child") else 1)
deadline = time.monotonic() + 60
ended, status = os.waitpid(child, os.WNOHANG)
while not ended and time.monotonic() < deadline:
    time.sleep(0.02)
    ended, status = os.waitpid(child, os.WNOHANG)
if not ended:
    os.kill(child, 9)
    sys.exit("the forked child hangs")
assert os.waitstatus_to_exitcode(status) == 0, "the forked child predicts something else"

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(is_same, ["one", "two"]).get(timeout=60) == [True, True]
assert is_same("parent")
print("done")
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_forked_child_trains_and_predicts(kind, tmp_path):
    # Without threads of OpenBLAS, all threads are those of ove.
    calm = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), json.dumps(KINDS[kind])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=calm)
    assert done.stdout == "done\n", done.stderr
