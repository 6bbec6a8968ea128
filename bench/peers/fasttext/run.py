"""fastText. It reads words, not weighted features: `prepare` writes each feature of a row as one word, so its weight is lost. From raw
text the harness writes its file itself and fastText is at home. It reads the file while it trains (twice: the dictionary first), so
reading is within the training time."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import fasttext
import numpy as np

LABEL = "__label__"


def prepare(clock, options, file, out):
    with open(out, "w") as target:
        for labels, features in common.lines_of(file):
            words = [LABEL + label for label in labels.split(",") if label]
            words += ["f" + pair.partition(":")[0] for pair in features.split()]
            target.write(" ".join(words) + "\n")


def train(clock, options, train, folder):
    Path(folder).mkdir(exist_ok=True)
    with clock.phase("train"):
        model = fasttext.train_supervised(train, thread=options.pop("threads"), verbose=0, **options)
    with clock.phase("save"):
        model.save_model(f"{folder}/model.bin")


def rows_of(path):
    """Each row's labels and its text without them."""
    with open(path) as file:
        for line in file:
            words = line.split()
            own = [word for word in words if word.startswith(LABEL)]
            yield own, " ".join(words[len(own) :])


def predict(clock, options, folder, test, out):
    with clock.phase("load"):
        model = fasttext.load_model(f"{folder}/model.bin")
    with clock.phase("read"):
        texts = [text + "\n" for _, text in rows_of(test)]
    with clock.phase("predict"):  # the call that model.predict makes for a list, without NumPy around each answer; one thread is all it has
        answers = model.f.multilinePredict(texts, common.TOP, 0.0, "strict")
    labels, probabilities = answers
    common.write_top(out, ([(n.removeprefix(LABEL), p) for n, p in zip(*row)] for row in zip(labels, probabilities)))


def score(clock, options, folder, test, out):
    """log p of the first label. The softmax is computed here from the two matrices: fastText's own answer adds 1e-5 to each probability."""
    model = fasttext.load_model(f"{folder}/model.bin")
    exact = softmax(model) if options["loss"] == "softmax" else hierarchical(model)
    common.write_scores(out, (exact(text, own[0]) for own, text in rows_of(test)))


def softmax(model):
    output, place = model.get_output_matrix(), {label: i for i, label in enumerate(model.labels)}

    def log_p(text, label):
        scores = output @ model.get_sentence_vector(text)
        top = scores.max()
        return float(scores[place[label]] - top - np.log(np.exp(scores - top, dtype=np.float64).sum()))

    return log_p


def hierarchical(model):
    def log_p(text, label):
        pairs = model.f.predict(text + "\n", len(model.labels), -1.0, "strict")  # 0 would drop what is below 1e-5
        return common.log({name: p for p, name in pairs}.get(label, 0.0))

    return log_p


common.main(package="fasttext", train=train, predict=predict, score=score, prepare=prepare)
