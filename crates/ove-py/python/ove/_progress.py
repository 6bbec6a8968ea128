"""What is told while training runs: to a callback, and in a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

# The share that is done, the bound, and the number of epochs and of updates. False ends the work with what it has.
Tell = Callable[[float, "float | None", "tuple[float, int] | None"], "bool | None"]


@dataclass(frozen=True)
class Progress:
    """How far a training run is."""

    stage: Literal["choosing", "training"]
    """Whether settings are being chosen on held-out rows, or the model is being trained with them."""
    done: float
    """The share of the training that is done, from 0 to 1."""
    epochs: float
    """Number of epochs so far; of iterations, for the batch solver."""
    updates: int
    """Number of rows visited; for the batch solver, number of evaluations of the objective."""
    bound: float | None
    """The objective, summed over all rows; trees have none."""


Callback = Callable[[Progress], "bool | None"]


@contextmanager
def told(verbose: int | bool, rows: int, callback: Callback | None) -> Iterator[Tell | None]:
    """A function that passes progress on to a callback and to a progress bar, as far as these are wanted."""
    with progress_line(verbose, rows) as line:
        if callback is None:
            yield line
            return

        def tell(done: float, bound: float | None, run: tuple[float, int] | None) -> bool:
            if line is not None:
                line(done, bound, run)
            epochs, updates = run or (0.0, 0)
            return callback(Progress("training" if run else "choosing", done, epochs, updates, bound)) is not False

        yield tell


@contextmanager
def progress_line(verbose: int | bool, rows: int, what: str = "training") -> Iterator[Tell | None]:
    """A function that shows progress in a bar of tqdm, if verbose asks for one and tqdm is installed."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(total=100, desc=what, bar_format=form) as bar:

        def tell(done: float, bound: float | None, run: tuple[float, int] | None) -> None:
            if bound is not None:
                bar.set_postfix_str(f"bound {bound / rows:.4f} per row", refresh=False)
            bar.n = round(100 * done)
            bar.refresh()

        yield tell
        bar.n = 100
        bar.refresh()
