"""Which settings of whom run on which task. The names of the options are each peer's own.

Chosen on 20,000 titles and 5,000 documents; what was tried and lost is in the comment beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SETS = ("titles", "eurlex")
LABELS = ("all", "first")


@dataclass(frozen=True)
class Setting:
    """One way to run one peer. `options` is handed to its runner (for `ove`: the flags of `ove train`)."""

    peer: str
    name: str
    options: Any = field(default_factory=dict)
    sets: tuple[str, ...] = SETS
    labels: tuple[str, ...] = LABELS
    parts: tuple[str, ...] = ("features", "raw")
    probabilities: bool = False
    skip: str | None = None

    def fits(self, data: str, labels: str, part: str) -> bool:
        return data in self.sets and labels in self.labels and part in self.parts


ALL, FIRST = ("all",), ("first",)

SETTINGS = [
    Setting("ove", "default", [], probabilities=True),
    # omikuji
    Setting("omikuji", "3 trees (default)"),
    Setting("omikuji", "1 tree", {"n_trees": 1}),
    Setting("omikuji", "bonsai", {"cluster_k": 100, "cluster_balanced": False}),
    # napkinXC
    Setting("napkinxc", "PLT (default)", {"model": "plt"}, labels=ALL),
    Setting("napkinxc", "HSM", {"model": "hsm"}, labels=FIRST, probabilities=True),
    # PECOS
    Setting("pecos", "XR-Linear (default)"),
    # fastText
    Setting("fasttext", "ova", {"loss": "ova", "dim": 100, "lr": 0.5, "epoch": 10}, labels=ALL),
    Setting("fasttext", "softmax", {"loss": "softmax", "dim": 100, "lr": 0.5, "epoch": 10}, labels=FIRST, probabilities=True),
    Setting("fasttext", "hs", {"loss": "hs", "dim": 100, "lr": 0.5, "epoch": 10}, labels=FIRST, probabilities=True),
    # Vowpal Wabbit
    Setting("vw", "plt", {"bit_precision": 24, "passes": 3, "learning_rate": 0.5}),
    # scikit-learn
    Setting(
        "sklearn", "LogisticRegression", {"model": "logistic"}, sets=("eurlex",), labels=FIRST, parts=("features",), probabilities=True
    ),
]
