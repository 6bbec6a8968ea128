"""Word vectors beside gensim and fastText: the same text, rank, window, negatives, epochs, vocabulary and two threads.

    python bench/embed.py [--quick] [--only ove,gensim,fasttext] [--objectives]

Every program runs alone, in a process of its own. Times are of the wall clock and of the processors: the second is what
a shared machine does not change. `--quick` takes the first 10 MB of the text, `--objectives` compares the objectives.
The vectors of all are evaluated by `ove evaluate`, whose answers agree with gensim's.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("OVE_DATA", ROOT.parent / "shared" / "data"))
OVE = os.environ.get("OVE", str(ROOT / "target" / "release" / "ove"))
THREADS = 2

GENSIM = """
import sys
from gensim.models import Word2Vec
text, out, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = Word2Vec(corpus_file=text, vector_size=100, window=5, min_count=5, sample=1e-3, negative=5, sg=1, epochs=5,
                 workers=threads, seed=1)
model.wv.save_word2vec_format(out)
"""

FASTTEXT = """
import sys
import fasttext
text, out, threads, longest = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
model = fasttext.train_unsupervised(text, model="skipgram", dim=100, ws=5, minCount=5, t=1e-3, neg=5, epoch=5,
                                    lr=0.05 if longest else 0.025, minn=3 if longest else 0, maxn=longest,
                                    thread=threads, verbose=0)
words = [word for word in model.get_words() if word != "</s>"]
with open(out, "w") as file:
    print(len(words), 100, file=file)
    for word in words:
        print(word, *(f"{x:.6g}" for x in model.get_word_vector(word)), file=file)
"""


def runs(folder, text, objectives):
    """Name, command, and the file of the vectors."""
    def ove(name, *settings):
        model = folder / f"{name}.model"
        return name, [OVE, "embed", text, "-o", model, "--threads", str(THREADS), *settings], model

    def python(name, program, *arguments):
        out = folder / f"{name}.txt"
        return name, [sys.executable, "-c", program, text, out, str(THREADS), *arguments], out

    if objectives:
        names = ["sampled-softmax", "one-vs-each", "normalised", "negative-sampling"]
        return [ove(f"ove {name}", "--objective", name) for name in names]
    return [
        ove("ove"),
        ove("ove negative-sampling", "--objective", "negative-sampling"),
        python("gensim", GENSIM),
        python("fasttext", FASTTEXT, "0"),
        ove("ove subwords", "--subwords", "3-6"),
        python("fasttext subwords", FASTTEXT, "6"),
    ]


def measure(command):
    """Seconds, processor seconds and the peak of memory of a command."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--objectives", action="store_true")
    parser.add_argument("--bytes", type=int)
    arguments = parser.parse_args()
    source, tests = DATA / "enwiki" / "text.gz", DATA / "words"
    if not source.exists():
        print(f"{source} is not there: skipped")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, questions = folder / "text", folder / "questions.txt"
        size = arguments.bytes or (10_000_000 if arguments.quick else -1)
        with gzip.open(source) as file:
            text.write_bytes(file.read(size))
        questions.write_bytes(gzip.open(tests / "questions-words.txt.gz").read())
        words = len(text.read_bytes().split())
        print(f"{words} words, {THREADS} threads, five epochs\n")
        print("| | seconds | processor s | words/s | MB | semantic | syntactic | total | WordSim | SimLex |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name, command, vectors in runs(folder, text, arguments.objectives):
            if arguments.only and name.split()[0] not in arguments.only.split(","):
                continue
            seconds, processor, memory = measure(command)
            pairs = [tests / "ws353.txt", tests / "simlex999.txt"]
            evaluate = [OVE, "evaluate", vectors, "--analogies", questions, "--json"]
            for path in pairs:
                evaluate += ["--similarities", path]
            found = json.loads(subprocess.run([str(part) for part in evaluate], check=True, capture_output=True).stdout)
            shares = [100 * found[part]["accuracy"] for part in ("semantic", "syntactic", "total")]
            rho = [part["spearman"] for part in found["similarities"]]
            numbers = [f"{seconds:.1f}", f"{processor:.1f}", f"{5 * words / seconds:,.0f}", f"{memory:.0f}"]
            numbers += [f"{share:.2f} %" for share in shares] + [f"{one:.3f}" for one in rho]
            print(f"| {name} | {' | '.join(numbers)} |", flush=True)


if __name__ == "__main__":
    main()
