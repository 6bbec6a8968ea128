"""Texts that come one by one, as a file from which their rows are made."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable

# What would end a text, or its line, in the file; words end there too.
BLANKS = str.maketrans(dict.fromkeys("\t\n\r", " "))


def spooled(texts: Iterable[str], folder: str | os.PathLike[str]) -> tuple[str, int]:
    """Writes texts to a file in a folder, and returns its path and their number.

    A file with the same texts stays as it is, so that rows which were made from it are still those of this file.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "texts.tsv")
    new = path + ".new"
    count = 0
    try:
        with open(new, "w", encoding="utf-8", newline="\n") as file:
            for text in texts:
                if not isinstance(text, str):
                    raise ValueError(f"each text in `X` must be a string, got {text!r} in row {count}")
                # Readers of texts want a label; the labels themselves are kept in memory.
                file.write(text.translate(BLANKS) + "\t0\n")
                count += 1
        if not os.path.exists(path) or not filecmp.cmp(new, path, shallow=False):
            os.replace(new, path)
    finally:
        if os.path.exists(new):
            os.remove(new)
    if not count:
        raise ValueError("`X` must have at least 1 text, got 0")
    return path, count
