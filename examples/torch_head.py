"""A PyTorch network with 30,000 classes: the sampled head of `ove.torch` beside full softmax, then the exported head.

    python examples/torch_head.py            # some two minutes on two cores
    python examples/torch_head.py --quick    # a few seconds, 2,000 classes

Rows are noisy views of their class, put through a fixed random network; the network to be trained has to undo it. Both
heads train the same network from the same start until the validation nlpd stops falling; time is that of training.
"""

from __future__ import annotations

import argparse
import copy
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import ove
import ove.torch


def make(classes: int, rows: int, size: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of class k, drawn in proportion to 1/(k + 10)."""
    frequency = 1 / (torch.arange(classes) + 10.0)
    labels = torch.multinomial(frequency, rows, replacement=True, generator=generator)
    centres = torch.randn(classes, size, generator=torch.Generator().manual_seed(1))
    mixing = torch.randn(size, size, generator=torch.Generator().manual_seed(2)) / size**0.5
    x = centres[labels] + 0.9 * torch.randn(rows, size, generator=generator)
    return torch.tanh(x @ mixing), labels


class FullSoftmax(nn.Module):
    """A linear layer and a cross entropy over all classes."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, classes)
        nn.init.zeros_(self.linear.bias)

    def loss(self, x: torch.Tensor, target: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.linear(x), target)

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.linear(x), -1)


class Sampled(nn.Module):
    """The head of `ove.torch`."""

    def __init__(self, size: int, classes: int, counts: torch.Tensor, objective: str) -> None:
        super().__init__()
        self.head = ove.torch.OneVsEachLoss(
            size, classes, num_negatives=512, objective=objective, sampler="frequency", class_counts=counts
        )

    def loss(self, x: torch.Tensor, target: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self.head(x, target, rows).loss

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        return self.head.log_prob(x)


def train(network: nn.Module, head: nn.Module, data: tuple, valid: tuple, epochs: int, batch: int) -> list[tuple]:
    """Trains, and returns seconds and validation nlpd after each epoch."""
    x, y = data
    sparse = [p for p in head.parameters() if isinstance(head, Sampled)]
    dense = [*network.parameters(), *([] if sparse else head.parameters())]
    optimizers = [torch.optim.Adam(dense, lr=2e-3)]
    optimizers += [torch.optim.SparseAdam(sparse, lr=5e-3)] if sparse else []
    generator, seconds, curve = torch.Generator().manual_seed(3), 0.0, []
    for _ in range(epochs):
        start = time.perf_counter()
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=True)
            head.loss(network(x[rows]), y[rows], rows).backward()
            for optimizer in optimizers:
                optimizer.step()
        seconds += time.perf_counter() - start
        with torch.no_grad():
            logs = torch.cat([
                head.log_prob(network(part)).gather(1, labels.unsqueeze(-1))
                for part, labels in zip(valid[0].split(500), valid[1].split(500))
            ])
        curve.append((seconds, -logs.mean().item()))
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 classes, one epoch")
    parser.add_argument("--export", default="head.model", help="model file to write [head.model]")
    arguments = parser.parse_args()
    classes, rows, epochs = (2000, 20_000, 1) if arguments.quick else (30_000, 150_000, 4)
    size = 64
    data = make(classes, rows, size, torch.Generator().manual_seed(0))
    valid = make(classes, 2000, size, torch.Generator().manual_seed(9))
    counts = torch.bincount(data[1], minlength=classes)
    torch.manual_seed(0)
    start = nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, size))
    best = {}
    for name in ["softmax", "sampled-softmax", "normalised", "one-vs-each"]:
        torch.manual_seed(0)
        network = copy.deepcopy(start)
        head = FullSoftmax(size, classes) if name == "softmax" else Sampled(size, classes, counts, name)
        curve = train(network, head, data, valid, epochs, batch=256)
        print(name, " ".join(f"{seconds:.1f}s:{nlpd:.3f}" for seconds, nlpd in curve), flush=True)
        best[name] = (network, head)
    network, head = best["sampled-softmax"]
    head.head.export(arguments.export)
    with torch.no_grad():
        found = ove.load(arguments.export).predict(network(valid[0]).numpy().astype(np.float32))
        same = (found == head.head.predict(network(valid[0])).numpy()).mean()
    print(f"exported to {arguments.export}: {same:.1%} of its predictions are those of the layer")
    print(f"ove serve {arguments.export}   # POST /predict with the vectors of the network")


if __name__ == "__main__":
    main()
