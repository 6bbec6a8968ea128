"""A progress bar while training runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float, "float | None"], None]


@contextmanager
def progress_line(verbose: int | bool, rows: int, what: str = "training") -> Iterator[Progress | None]:
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

        def tell(done: float, bound: float | None) -> None:
            if bound is not None:
                bar.set_postfix_str(f"bound {bound / rows:.4f} per row", refresh=False)
            bar.n = round(100 * done)
            bar.refresh()

        yield tell
        bar.n = 100
        bar.refresh()
