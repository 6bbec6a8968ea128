"""A backend for Annif, the subject indexing tool of libraries: `import ove.annif` registers it under the name `ove`.

Annif has no entry points for backends of others, so this module adds one to its registry. `python -m ove.annif` is Annif's
command line with the backend:

    python -m ove.annif train my-project documents.tsv

`docs/annif.md` is the tutorial.
"""

from __future__ import annotations

import annif.backend

from ove.annif.backend import OveBackend

__all__ = ["OveBackend"]


def _ove() -> type[OveBackend]:
    return OveBackend


annif.backend._backend_fns[OveBackend.name] = _ove
