"""PECOS XR-Linear: label embeddings, hierarchical k-means, one linear model a node."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

TREE = ("nr_splits", "max_leaf_size")
ANSWER = ("beam_size", "post_processor")


def train(clock, options, train, folder):
    threads = options.pop("threads")
    tree = {name: options.pop(name) for name in TREE if name in options}
    answer = {name: options.pop(name) for name in ANSWER if name in options}
    with clock.phase("read"):
        x, labels = common.read_xmc(train)
        y = common.label_matrix(labels, common.shape_of(train)[2])
    with clock.phase("train"):
        embedding = LabelEmbeddingFactory.create(y, x, method="pifa", threads=threads)
        chain = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", threads=threads, **tree)
        model = XLinearModel.train(x, y.tocsc(), C=chain, threads=threads, **tree, **options, **answer, only_topk=common.TOP)
    with clock.phase("save"):
        model.save(folder)


def predict(clock, options, folder, test, out):
    with clock.phase("load"):
        model = XLinearModel.load(folder, is_predict_only=True)
    with clock.phase("read"):
        x, _ = common.read_xmc(test)
    answer = {name: options[name] for name in ANSWER if name in options}
    with clock.phase("predict"):
        found = model.predict(x, only_topk=common.TOP, threads=options["threads"], **answer)
    common.write_top(out, rows_of(found))


def rows_of(found):
    """(label, score) of each row, best first."""
    for start, end in zip(found.indptr, found.indptr[1:]):
        yield sorted(zip(found.indices[start:end], found.data[start:end]), key=lambda pair: -pair[1])


common.main(package="libpecos", train=train, predict=predict)
