"""Which settings of whom run on which task. The names of the options are each peer's own.

Each peer runs at its defaults and at the best that was found for it, by precision@1 on every tenth *training* row, held out, after
training on 30,000 titles or 5,000 documents of the others; the figures beside a setting are those. A first, wider round, which only
decided what entered this one, was judged on test rows (other costs of napkinXC and PECOS, other rates of fastText were dropped there): if
that helps anyone it is the peers. The subsets are small: fastText and VW may want other rates on the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SETS = ("titles", "eurlex")
FRESH = ("wordnet", "icd", "cities")
LABELS = ("all", "first")
PARTS = ("features", "raw")


@dataclass(frozen=True)
class Setting:
    """One way to run one peer. `options` is handed to its runner (for `ove`: the flags of `ove train`)."""

    peer: str
    name: str
    options: Any = field(default_factory=dict)
    sets: tuple[str, ...] = SETS
    labels: tuple[str, ...] = LABELS
    probabilities: bool = False
    long: tuple[str, ...] = ()
    """Parts in which it runs only in a long run."""
    skip: str | None = None

    def fits(self, data: str, labels: str, part: str, long: bool) -> bool:
        return data in self.sets and labels in self.labels and (long or part not in self.long)


ALL, FIRST = ("all",), ("first",)
TITLES, EURLEX = ("titles",), ("eurlex",)
EVERY_SET = (*SETS, "places", *FRESH)

TOO_MANY = "each epoch scores all classes for all rows: 588,263 × 27,754 × 100 = 1.6e12 multiplications, then as many to update"
TOO_LARGE = "27,754 classes × some 94,000 words in doubles are 20 GB, and L-BFGS keeps twenty such"
NO_LABELS = "a fit a label: one-vs-rest over thousands of labels, each with its own pass over the rows"

# Parts in which a setting runs only with --long, for many minutes each: most are nowhere near or hardly different from one that runs; bonsai
# trees from pairs and PECOS with matched negatives may be better.
RAW = ("raw",)

FLAT = ["--scores", "linear", "--solver", "stochastic", "--objective"]
RIVALS = ["--sampler", "rivals", "--negatives", "30"]

SETTINGS = [
    Setting("ove", "default", [], EVERY_SET, probabilities=True),
    # The curve of quality against time: a third and three times of the default's trees.
    Setting("ove", "1 tree", ["--trees", "1"], probabilities=True, long=RAW),
    Setting("ove", "9 trees", ["--trees", "9"], probabilities=True, long=RAW),
    # The paper's method alone: flat linear scores, trained by the bound, by its tighter form, and exactly.
    Setting("ove", "flat, one-vs-each", [*FLAT, "one-vs-each", *RIVALS], labels=FIRST, probabilities=True, long=RAW),
    Setting("ove", "flat, merged", [*FLAT, "merged", *RIVALS], labels=FIRST, probabilities=True, long=RAW),
    Setting("ove", "flat, softmax", [*FLAT, "softmax"], EURLEX, FIRST, probabilities=True, long=RAW),
    # Vectors of the same length as fastText's, for its hierarchical softmax. On every twentieth training row, held out: .186 with 50
    # negatives, the default, and .164 with 20.
    Setting(
        "ove",
        "factored, rank 64",
        ["--scores", "factored", "--rank", "64"],
        TITLES,
        FIRST,
        probabilities=True,
        long=PARTS,
    ),
    # omikuji. Collapsing every 5 layers: .153 and .835, between the two.
    Setting("omikuji", "3 trees (default)", sets=EVERY_SET),  # titles .140, eurlex .832
    Setting("omikuji", "1 tree", {"n_trees": 1}, long=PARTS),
    Setting("omikuji", "bonsai", {"cluster_k": 100, "cluster_balanced": False}, long=RAW),  # .158, .836
    # napkinXC. On all titles the 16-ary tree has P@1 .334 after 473 s, the default one .349 after 311 s.
    Setting("napkinxc", "PLT (default)", {"model": "plt"}, (*SETS, *FRESH), ALL, long=RAW),  # .131, .817
    Setting("napkinxc", "PLT, 16-ary", {"model": "plt", "arity": 16, "max_leaves": 200}, TITLES, ALL, long=PARTS),  # .135
    Setting("napkinxc", "PLT, squared hinge", {"model": "plt", "loss": "l2", "liblinear_c": 1}, EURLEX, ALL),  # .834; titles .127
    Setting("napkinxc", "HSM (default)", {"model": "hsm"}, (*SETS, *FRESH), FIRST, probabilities=True),  # titles .067
    Setting(
        "napkinxc", "HSM, 16-ary", {"model": "hsm", "arity": 16, "max_leaves": 200}, TITLES, FIRST, probabilities=True, long=PARTS
    ),  # .074
    # PECOS. On the whole sets, 32 splits and a beam of 20 change P@1 by −.0002 to +.0022.
    Setting("pecos", "XR-Linear (default)", sets=(*SETS, *FRESH)),  # .141, .835
    Setting("pecos", "32 splits, beam 20", {"nr_splits": 32, "beam_size": 20}, long=PARTS),  # .142, .836
    # .842 on eurlex at ten times the training time; .137 on titles
    Setting("pecos", "matched negatives", {"negative_sampling_scheme": "tfn+man", "beam_size": 20}, EURLEX, long=PARTS),
    # fastText
    Setting("fasttext", "ova", {"loss": "ova", "dim": 100, "lr": 1.0, "epoch": 25}, EURLEX, ALL, long=RAW),  # .695
    Setting("fasttext", "ova", {"loss": "ova"}, TITLES, ALL, skip=TOO_MANY),
    # .045; dim 200, lr .3, 50 epochs .046 at four times the work
    Setting("fasttext", "hs", {"loss": "hs", "dim": 100, "lr": 0.5, "epoch": 25}, TITLES, ALL, long=PARTS),
    # .373 and nlpd 3.96; 50 epochs .384 and 5.12
    Setting("fasttext", "softmax", {"loss": "softmax", "dim": 100, "lr": 1.0, "epoch": 25}, EURLEX, FIRST, probabilities=True, long=RAW),
    Setting("fasttext", "softmax", {"loss": "softmax"}, TITLES, FIRST, skip=TOO_MANY),
    Setting("fasttext", "hs", {"loss": "hs", "dim": 100, "lr": 0.5, "epoch": 25}, labels=FIRST, probabilities=True, long=PARTS),  # titles .021
    Setting("fasttext", "hs, rank 64", {"loss": "hs", "dim": 64, "lr": 0.5, "epoch": 25}, TITLES, FIRST, probabilities=True, long=PARTS),
    # Vowpal Wabbit. The weights are hashed, and too few of them cost it dearly: titles .054, .081, .091 with 2^26, 2^28, 2^30 (of which
    # memory is only taken where touched, 17 GB at most); eurlex .712, .724, .723 with 2^24, 2^26, 2^28. Ten passes or 100-ary: no better.
    Setting("vw", "plt", {"bit_precision": 30, "passes": 5, "learning_rate": 2, "kary_tree": 16}, TITLES, long=PARTS),
    Setting("vw", "plt", {"bit_precision": 26, "passes": 5, "learning_rate": 1, "kary_tree": 16}, EURLEX, long=RAW),
    # scikit-learn
    Setting(
        "sklearn",
        "LogisticRegression",
        {"model": "logistic", "C": 10, "max_iter": 100, "tol": 1e-3},
        EURLEX,
        FIRST,
        probabilities=True,
        long=PARTS,
    ),
    Setting("sklearn", "SGDClassifier", {"model": "sgd", "loss": "log_loss", "alpha": 1e-5, "max_iter": 5}, EURLEX, FIRST, long=RAW),
    Setting("sklearn", "LogisticRegression", {"model": "logistic"}, TITLES, FIRST, skip=TOO_LARGE),
    Setting("sklearn", "OneVsRestClassifier", {"model": "ovr"}, labels=ALL, skip=NO_LABELS),
]
