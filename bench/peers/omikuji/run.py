"""omikuji. Its Python package predicts one row at a time and copies each pair through Python, so the rows go straight to the library
underneath (the same call, on buffers), from as many threads as there are cores, and the weights are made dense as its own command line
does: that is omikuji at its fastest."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import numpy as np
import omikuji
from omikuji._libomikuji import ffi, lib


def train(clock, options, train, folder):
    pool = omikuji._ThreadPoolHandle(options.pop("threads"), initialize=True)
    parameters = omikuji.Model.default_hyper_param()
    for name, value in options.items():
        if name != "beam_size":
            setattr(parameters, name, value)
    with clock.phase("read"):
        data = lib.load_omikuji_data_set(ffi.new("char[]", train.encode()), pool.ptr)
    if data == ffi.NULL:
        sys.exit("omikuji cannot read the file")
    with clock.phase("train"):
        model = omikuji.Model(lib.train_omikuji_model(data, parameters, pool.ptr))
    with clock.phase("save"):
        model.save(folder)


def predict(clock, options, folder, test, out):
    with clock.phase("load"):
        model = omikuji.Model.load(folder)
        model.init_prediction_thread_pool(options["threads"])
        model.densify_weights(0.1)
    with clock.phase("read"):
        rows, _ = common.read_xmc(test)
    with clock.phase("predict"):
        answers = all_rows(model, rows, options)
    common.write_top(out, answers)


def all_rows(model, rows, options):
    """The best five of every row; the library lets go of Python's lock while it works."""
    indices, values = rows.indices.astype(np.uint32), rows.data.astype(np.float32)
    beam = options.get("beam_size", 10)
    pool = model._thread_pool.ptr

    def some(numbers):
        labels, scores = ffi.new("uint32_t[]", common.TOP), ffi.new("float[]", common.TOP)
        answers = []
        for i in numbers:
            start, end = rows.indptr[i], rows.indptr[i + 1]
            where = ffi.from_buffer("uint32_t[]", indices[start:end])
            what = ffi.from_buffer("float[]", values[start:end])
            found = lib.omikuji_predict(model._model_ptr, beam, end - start, where, what, common.TOP, labels, scores, pool)
            answers.append([(labels[j], scores[j]) for j in range(found)])
        return answers

    chunks = np.array_split(np.arange(rows.shape[0]), 8 * options["threads"])
    with ThreadPoolExecutor(options["threads"]) as threads:
        return [answer for part in threads.map(some, chunks) for answer in part]


common.main(package="omikuji", train=train, predict=predict)
