"""Training and prediction on a Ray cluster, with the same result for any number of workers.

>>> import ove.ray
>>> model = ove.ray.fit("titles.tsv", num_workers=8, checkpoint_dir="/shared/run")  # doctest: +SKIP

The model has the bits of the one that a single process trains with the same settings, whatever the number of workers, and
whichever of them were killed on the way.

Needs Ray: `pip install 'ove[ray]'`.
"""

from ove.ray._fit import fit
from ove.ray._predict import predict

__all__ = ["fit", "predict"]
