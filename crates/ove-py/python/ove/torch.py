"""An output layer for PyTorch: a softmax over very many classes, trained on a few negatives per step.

`OneVsEachLoss` takes the place of a linear layer and a cross entropy, with the manners of
`torch.nn.AdaptiveLogSoftmaxWithLoss`. A step costs what it touches: the class vectors of the targets and of the drawn
negatives, whose gradients are sparse.

    head = ove.torch.OneVsEachLoss(64, 30_000, num_negatives=256)
    optimizer = torch.optim.SparseAdam(head.parameters())
    output, loss, bound = head(network(x), target)
    loss.backward()

Negatives are drawn once per batch and shared by its rows, so that their scores are one matrix product. With d_m =
f_m − f_y and w_m the number of classes that a drawn class m stands for (E Σ w_m g(m) = Σ_{m ≠ y} g(m)), the objectives
are those of `ove train`:

    softmax           − log(1 + Σ_m e^{d_m}) over all classes
    one-vs-each       − Σ_m w_m log(1 + e^{d_m})                                             a lower bound
    merged            − log(1 + Σ_{m ∈ C} e^{d_m}) − Σ_{m ∉ C} w_m log(1 + e^{d_m})           a lower bound
    sampled-softmax   − log(1 + Σ_m w_m e^{d_m})                                             no bound
    normalised        1 − u − e^{−u} (1 + Σ_m w_m e^{d_m}), with a number u per row           a lower bound for every u

This module is pure PyTorch; only `export` needs the compiled half of the package.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Objective = Literal["one-vs-each", "merged", "sampled-softmax", "normalised", "softmax"]
Sampler = Literal["uniform", "frequency", "log-uniform", "in-batch"]
Reduction = Literal["none", "mean", "sum"]
Draw = Callable[[Tensor, "torch.Generator | None"], "tuple[Tensor, Tensor]"]

OBJECTIVES = ("one-vs-each", "merged", "sampled-softmax", "normalised", "softmax")
SAMPLERS = ("uniform", "frequency", "log-uniform", "in-batch")

__all__ = [
    "OneVsEachLoss",
    "OveOutput",
    "merged_bound",
    "normalised_bound",
    "one_vs_each_bound",
    "sampled_softmax",
]


class OveOutput(NamedTuple):
    """What `OneVsEachLoss.forward` returns."""

    output: Tensor
    """The objective of each row: a bound on log p(target), or an estimate of it; 0 for rows that are ignored."""
    loss: Tensor
    """Minus the objective, reduced over the rows that count."""
    bound: Tensor | None
    """The mean of the objective over the rows that count, without gradient; None where it is no bound."""


# The objectives as functions of scores: `label` has one number per row, `negatives` one row of numbers per row, and
# `log_weights` the logarithms of the importance weights, −∞ where a drawn class is not a negative of the row.


def one_vs_each_bound(label: Tensor, negatives: Tensor, log_weights: Tensor) -> Tensor:
    """− Σ_m w_m log(1 + e^{f_m − f_y}), eq. 4 of the paper."""
    return -(log_weights.exp() * F.softplus(negatives - label.unsqueeze(-1))).sum(-1)


def merged_bound(
    label: Tensor, inside: Tensor, inside_log_weights: Tensor, negatives: Tensor, log_weights: Tensor
) -> Tensor:
    """Eq. 6: the classes of C, with scores `inside`, share one logarithm; the others are one-vs-each."""
    return sampled_softmax(label, inside, inside_log_weights) + one_vs_each_bound(label, negatives, log_weights)


def sampled_softmax(label: Tensor, negatives: Tensor, log_weights: Tensor) -> Tensor:
    """− log(1 + Σ_m w_m e^{f_m − f_y}): the exact softmax if the negatives are all other classes with weight 1."""
    return -_log_total(label, negatives, log_weights)


def normalised_bound(label: Tensor, negatives: Tensor, log_weights: Tensor, u: Tensor) -> Tensor:
    """1 − u − e^{−u} (1 + Σ_m w_m e^{f_m − f_y}): a bound for every u, equal to log p(y) at u = − log p(y)."""
    return 1 - u - (_log_total(label, negatives, log_weights) - u).exp()


def _log_total(label: Tensor, negatives: Tensor, log_weights: Tensor) -> Tensor:
    """log(1 + Σ_m w_m e^{f_m − f_y})."""
    differences = negatives + log_weights - label.unsqueeze(-1)
    return torch.logsumexp(F.pad(differences, (1, 0)), -1)


class OneVsEachLoss(nn.Module):  # type: ignore[misc]  # torch may not be installed
    """A softmax layer and its loss over very many classes.

    Parameters
    ----------
    in_features : int
        Length of the vectors that the network gives.
    num_classes : int
    num_negatives : int, default 256
        Number of classes that are drawn per batch and shared by its rows.
    sampler : {"uniform", "frequency", "log-uniform", "in-batch"} or callable, default "uniform"
        "uniform" draws distinct classes, each equally likely. "frequency" draws in proportion to
        `class_counts`\\ :sup:`power`, "log-uniform" by Zipf's law for classes numbered by decreasing frequency, both with
        replacement. "in-batch" takes the other targets of the batch: their weights assume that targets occur as in
        `class_counts`, or equally often. A callable gets the targets and the generator and returns the classes and, for
        each, the logarithm of its expected number of draws.
    objective : {"one-vs-each", "merged", "sampled-softmax", "normalised", "softmax"}, default "one-vs-each"
    merge : int, default 10
        Merged objective: number of the most frequent classes, by `class_counts`, that share one logarithm.
    class_counts : sequence of numbers, optional
        How often each class occurs.
    power : float, default 0.75
        Frequency sampler: the exponent of the counts.
    normalize : bool, default False
        Whether scores are cosines of the vectors.
    temperature : float, default 1
        Scores are divided by this.
    bias : bool, default True
        Whether each class has a bias.
    ignore_index : int, default -100
        Rows with this target do not count.
    reduction : {"mean", "sum", "none"}, default "mean"
    multilabel : bool, default False
        Whether `target` has a row of several labels per row, filled up with `ignore_index`. Each label is compared
        with the classes that are not labels of the row.
    sparse : bool, default True
        Whether gradients are sparse, for `torch.optim.SparseAdam` and `torch.optim.SGD`.
    generator : torch.Generator, optional
        Source of the random numbers.

    Notes
    -----
    "normalised" keeps a number u per row, for which `forward` needs `row_ids` in training. It is a running mean that
    follows log(1 + Σ e^{d_m}), and is part of the state dictionary.

    Examples
    --------
    >>> import torch, ove.torch
    >>> head = ove.torch.OneVsEachLoss(8, 1000, num_negatives=20, generator=torch.Generator().manual_seed(0))
    >>> output, loss, bound = head(torch.zeros(4, 8), torch.tensor([3, 1, 4, 1]))
    >>> head.topk(torch.zeros(4, 8), 2)[1].shape
    torch.Size([4, 2])
    """

    normalisers: Tensor
    visits: Tensor

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        num_negatives: int = 256,
        sampler: Sampler | Draw = "uniform",
        objective: Objective = "one-vs-each",
        merge: int = 10,
        class_counts: Sequence[float] | Tensor | None = None,
        power: float = 0.75,
        normalize: bool = False,
        temperature: float = 1.0,
        bias: bool = True,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        multilabel: bool = False,
        sparse: bool = True,
        generator: torch.Generator | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        for name, value, least in [
            ("in_features", in_features, 1),
            ("num_classes", num_classes, 2),
            ("num_negatives", num_negatives, 1),
            ("merge", merge, 0),
        ]:
            if value < least:
                raise ValueError(f"`{name}` must be at least {least}, got {value}")
        if not temperature > 0:
            raise ValueError(f"`temperature` must be a positive number, got {temperature}")
        _one_of("objective", objective, OBJECTIVES)
        _one_of("reduction", reduction, ("none", "mean", "sum"))
        if not callable(sampler):
            _one_of("sampler", sampler, SAMPLERS)
        if class_counts is None and (sampler == "frequency" or (objective == "merged" and merge > 0)):
            needs = "sampler='frequency'" if sampler == "frequency" else "objective='merged'"
            raise ValueError(f"`class_counts` must be given with {needs}")
        counts = None if class_counts is None else torch.as_tensor(class_counts, dtype=torch.float64)
        if counts is not None and (counts.shape != (num_classes,) or bool((counts < 0).any())):
            raise ValueError(f"`class_counts` must be {num_classes} numbers of at least 0, one per class")
        self.in_features, self.num_classes, self.num_negatives = in_features, num_classes, num_negatives
        self.sampler, self.objective, self.merge, self.power = sampler, objective, merge, power
        self.normalize, self.temperature, self.ignore_index = normalize, temperature, ignore_index
        self.reduction, self.multilabel, self.generator = reduction, multilabel, generator
        options: dict[str, Any] = {"sparse": sparse, "device": device, "dtype": dtype}
        self.weight = nn.Embedding(num_classes, in_features, **options)
        self.bias = nn.Embedding(num_classes, 1, **options) if bias else None
        inside = torch.empty(0, dtype=torch.long)
        if objective == "merged" and merge > 0 and counts is not None:
            inside = counts.argsort(descending=True, stable=True)[:merge].sort().values
        self.register_buffer("inside", inside.to(device), persistent=False)
        self.register_buffer("distribution", self._distribution(counts), persistent=False)
        self.register_buffer("normalisers", torch.empty(0, device=device))
        self.register_buffer("visits", torch.empty(0, dtype=torch.long, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws class vectors uniformly within ±1/√in_features, as `nn.Linear` does; biases are 0."""
        limit = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight.weight, -limit, limit)
        if self.bias is not None:
            nn.init.zeros_(self.bias.weight)

    def _distribution(self, counts: Tensor | None) -> Tensor:
        """The probability of each class in a draw with replacement; empty if the sampler has none."""
        if self.sampler == "frequency" and counts is not None:
            mass = counts.clamp(min=1) ** self.power
        elif self.sampler == "log-uniform":
            rank = torch.arange(self.num_classes, dtype=torch.float64)
            mass = torch.log1p(1 / (rank + 1))
        elif self.sampler == "in-batch":
            mass = torch.ones(self.num_classes, dtype=torch.float64) if counts is None else counts.clamp(min=1)
        else:
            return torch.empty(0)
        return mass / mass.sum()

    # Scores

    def _embed(self, x: Tensor) -> Tensor:
        if x.dim() != 2 or x.shape[1] != self.in_features:
            raise ValueError(f"`x` must have the shape (rows, {self.in_features}), got {tuple(x.shape)}")
        # Scores in half precision would lose what the objectives gain: with AMP, too, they are 32-bit floats.
        x = x if x.dtype == torch.float64 else x.float()
        return F.normalize(x, dim=-1) if self.normalize else x

    def _vectors(self, classes: Tensor) -> tuple[Tensor, Tensor | None]:
        vectors = self.weight(classes)
        vectors = F.normalize(vectors, dim=-1) if self.normalize else vectors
        return vectors, None if self.bias is None else self.bias(classes).squeeze(-1)

    def _scores_of(self, x: Tensor, classes: Tensor) -> Tensor:
        """The scores of each row's own classes, (rows, classes per row)."""
        vectors, bias = self._vectors(classes)
        scores = torch.einsum("nd,nld->nl", x, vectors) / self.temperature
        return scores if bias is None else scores + bias

    def _shared_scores(self, x: Tensor, classes: Tensor) -> Tensor:
        """The scores of classes that all rows share, (rows, classes)."""
        vectors, bias = self._vectors(classes)
        scores = x @ vectors.t() / self.temperature
        return scores if bias is None else scores + bias

    def _all_scores(self, x: Tensor) -> Tensor:
        return self._shared_scores(self._embed(x), torch.arange(self.num_classes, device=x.device))

    # Training

    def forward(self, x: Tensor, target: Tensor, row_ids: Tensor | None = None) -> OveOutput:
        """The objective of a batch.

        Parameters
        ----------
        x : tensor of shape (rows, in_features)
        target : tensor of shape (rows,), or (rows, labels) with `multilabel`
        row_ids : tensor of shape (rows,), optional
            Number of each row in the training set, for the objective "normalised". Without it, u is the best one for
            the drawn classes, which makes the objective the sampled softmax.

        Returns
        -------
        OveOutput
        """
        labels = self._labels(x, target)
        with torch.autocast(device_type=x.device.type, enabled=False):
            return self._forward(self._embed(x), labels, row_ids)

    def _labels(self, x: Tensor, target: Tensor) -> Tensor:
        expected = 2 if self.multilabel else 1
        if target.dim() != expected or target.shape[0] != x.shape[0]:
            form = "(rows, labels)" if self.multilabel else "(rows,)"
            raise ValueError(f"`target` must have the shape {form} with {x.shape[0]} rows, got {tuple(target.shape)}")
        if target.is_floating_point():
            raise ValueError(f"`target` must have class numbers, got {target.dtype}")
        return target if self.multilabel else target.unsqueeze(-1)

    def _forward(self, x: Tensor, labels: Tensor, row_ids: Tensor | None) -> OveOutput:
        counts = labels != self.ignore_index
        classes = labels.masked_fill(~counts, 0)
        own = self._scores_of(x, classes)
        drawn, log_weights = self._negatives(classes, counts)
        negatives = self._shared_scores(x, drawn)
        log_weights = self._without_labels(drawn, log_weights, classes, counts).to(x.dtype)
        # (rows, labels) and (rows, labels, negatives): each label of a row has the same negatives.
        negatives, log_weights = negatives.unsqueeze(1), log_weights.unsqueeze(1)
        values = self._objective(x, own, negatives, log_weights, classes, counts, row_ids)
        values = torch.where(counts, values, torch.zeros_like(values))
        output, rows = values.sum(-1), counts.any(-1)
        loss = -output
        if self.reduction != "none":
            loss = loss.sum()
        if self.reduction == "mean":
            loss = loss / rows.sum().clamp(min=1)
        bound = None
        if self.objective != "sampled-softmax":
            bound = output.detach().sum() / rows.sum().clamp(min=1)
        return OveOutput(output, loss, bound)

    def _objective(
        self,
        x: Tensor,
        own: Tensor,
        negatives: Tensor,
        log_weights: Tensor,
        classes: Tensor,
        counts: Tensor,
        row_ids: Tensor | None,
    ) -> Tensor:
        if self.objective == "one-vs-each":
            return one_vs_each_bound(own, negatives, log_weights)
        if self.objective == "merged":
            every = torch.zeros(len(self.inside), device=x.device, dtype=x.dtype)
            inside_weights = self._without_labels(self.inside, every, classes, counts).unsqueeze(1)
            inside = self._shared_scores(x, self.inside).unsqueeze(1)
            return merged_bound(own, inside, inside_weights, negatives, log_weights)
        if self.objective == "normalised" and row_ids is not None:
            u = self._updated(_log_total(own, negatives, log_weights).detach(), row_ids, counts)
            return normalised_bound(own, negatives, log_weights, u)
        if self.objective == "normalised" and self.training:
            raise ValueError("`row_ids` must be given in training with objective='normalised'")
        return sampled_softmax(own, negatives, log_weights)

    @torch.no_grad()
    def _updated(self, estimates: Tensor, row_ids: Tensor, counts: Tensor) -> Tensor:
        """The numbers u of these rows: e^u is a running mean of the estimates, with the rate (1 + visits)^−0.9."""
        if row_ids.shape != estimates.shape[:1]:
            raise ValueError(f"`row_ids` must have the shape {tuple(estimates.shape[:1])}, got {tuple(row_ids.shape)}")
        rows = int(row_ids.max()) + 1 if len(row_ids) else 0
        if self.normalisers.dim() == 1:
            self.normalisers = self.normalisers.new_zeros((0, estimates.shape[1]))
        missing = (max(rows - len(self.visits), 0), max(estimates.shape[1] - self.normalisers.shape[1], 0))
        if any(missing):
            self.normalisers = F.pad(self.normalisers, (0, missing[1], 0, missing[0]))
            self.visits = F.pad(self.visits, (0, missing[0]))
        labels = estimates.shape[1]
        rate = (1.0 + self.visits[row_ids].to(estimates.dtype)).pow(-0.9).unsqueeze(-1)
        before = self.normalisers[row_ids, :labels].to(estimates.dtype)
        u = torch.logaddexp(torch.log1p(-rate) + before, rate.log() + estimates)
        if self.training:
            self.normalisers[row_ids, :labels] = u.to(self.normalisers.dtype)
            self.visits[row_ids] += 1
        return u

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # The numbers u have as many rows as the training set, which a new layer does not know.
        for name in ("normalisers", "visits"):
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name], device=self.weight.weight.device))
        super()._load_from_state_dict(state_dict, prefix, *args)

    # Negatives

    @torch.no_grad()
    def _negatives(self, classes: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """The drawn classes, and the logarithm of the number of classes that each stands for."""
        device, everything = classes.device, self.num_classes
        if self.objective == "softmax":
            return torch.arange(everything, device=device), torch.zeros(everything, device=device)
        if callable(self.sampler):
            drawn, log_expected = self.sampler(classes[counts], self.generator)
            return drawn.to(device), -log_expected.to(device)
        if self.sampler == "in-batch":
            drawn = classes[counts]
            return drawn, -torch.log(self.distribution.to(device)[drawn] * len(drawn))
        if self.num_negatives >= everything:
            return torch.arange(everything, device=device), torch.zeros(everything, device=device)
        source = device if self.generator is None else self.generator.device
        if self.sampler == "uniform":
            drawn = _subset(everything, self.num_negatives, source, self.generator).to(device)
            weight = math.log(everything / self.num_negatives)
            return drawn, torch.full((self.num_negatives,), weight, device=device)
        probabilities = self.distribution.to(source)
        drawn = torch.multinomial(probabilities, self.num_negatives, replacement=True, generator=self.generator)
        return drawn.to(device), -torch.log(probabilities[drawn] * self.num_negatives).to(device)

    def _without_labels(self, drawn: Tensor, log_weights: Tensor, classes: Tensor, counts: Tensor) -> Tensor:
        """The weights of shared classes per row: −∞ for its labels and, outside C, for the classes of C."""
        hits = ((drawn.unsqueeze(0).unsqueeze(-1) == classes.unsqueeze(1)) & counts.unsqueeze(1)).any(-1)
        if drawn is not self.inside and len(self.inside):
            hits = hits | torch.isin(drawn, self.inside).unsqueeze(0)
        return log_weights.unsqueeze(0).expand(len(classes), -1).masked_fill(hits, -math.inf)

    # Prediction

    @torch.no_grad()
    def log_prob(self, x: Tensor) -> Tensor:
        """The exact log probability of every class, (rows, num_classes)."""
        return torch.log_softmax(self._all_scores(x), -1)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self._all_scores(x).argmax(-1)

    @torch.no_grad()
    def topk(self, x: Tensor, k: int = 5) -> tuple[Tensor, Tensor]:
        """The log probabilities and numbers of the min(k, num_classes) most probable classes, best first."""
        if k < 1:
            raise ValueError(f"`k` must be at least 1, got {k}")
        found = self.log_prob(x).topk(min(k, self.num_classes), -1)
        return found.values, found.indices

    def export(self, path: str | os.PathLike[str], classes: Sequence[str] | None = None) -> None:
        """Writes the layer as a model file that `ove serve`, `ove predict` and `ove.load` open.

        Its features are the `in_features` numbers that the network gives; with `normalize`, they must be divided by
        their length first.

        Parameters
        ----------
        path : path of the file
        classes : sequence of str, optional
            Names of the classes; their numbers if not given.
        """
        from ove import _ove

        names = [str(k) for k in range(self.num_classes)] if classes is None else [str(name) for name in classes]
        if len(names) != self.num_classes:
            raise ValueError(f"`classes` must have {self.num_classes} names, got {len(names)}")
        with torch.no_grad():
            vectors, bias = self._vectors(torch.arange(self.num_classes, device=self.weight.weight.device))
            vectors = (vectors / self.temperature).float().cpu().t().contiguous()
            bias = torch.zeros(self.num_classes) if bias is None else bias.float().cpu()
        settings = json.dumps({"scores": "linear", "objective": self.objective})
        _ove.Model.linear_of(vectors.numpy(), bias.numpy(), names, settings).save(path)

    def extra_repr(self) -> str:
        return (
            f"{self.in_features}, {self.num_classes}, num_negatives={self.num_negatives}, "
            f"sampler={self.sampler!r}, objective={self.objective!r}"
        )


def _subset(everything: int, count: int, device: Any, generator: torch.Generator | None) -> Tensor:
    """`count` distinct numbers below `everything`, every subset equally likely."""
    if 4 * count >= everything:
        return torch.randperm(everything, device=device, generator=generator)[:count]
    # The first distinct ones of a longer list of draws; few lists are too short.
    drawn: list[int] = []
    while len(drawn) < count:
        draws = torch.randint(everything, (2 * count,), device=device, generator=generator)
        drawn = list(dict.fromkeys(draws.tolist()))[:count]
    return torch.tensor(drawn, device=device)


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, allowed))}, got {value!r}")
