"""What looks like a mistake in data that can be read all the same."""

from __future__ import annotations

import warnings

from ove import _ove


class DataWarning(UserWarning):
    """Data can be read but look like a mistake, such as texts and labels that are swapped."""


def warn_of_many_classes(names: list[str], rows: int) -> None:
    """Warns if there are nearly as many classes as rows."""
    doubt = _ove.many_classes(names, rows)
    if doubt is not None:
        warnings.warn(f"`y` has {doubt}", DataWarning, stacklevel=4)
