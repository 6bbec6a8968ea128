"""Small problems that every test may use."""

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture(scope="session")
def rows():
    """Sparse rows with five classes, as 32-bit floats."""
    random = np.random.default_rng(0)
    x = sp.random(300, 40, density=0.2, random_state=0, format="csr", dtype=np.float32)
    x.sort_indices()
    truth = random.normal(size=(40, 5)) * 3
    return x, np.argmax(x @ truth + random.gumbel(size=(300, 5)), axis=1)


@pytest.fixture(scope="session")
def texts():
    """Texts about three things, with words of their own and words that all share."""
    random = np.random.default_rng(1)
    words = {
        "sea": "wave boat harbour salt tide fish sail anchor".split(),
        "wood": "tree moss leaf owl bark root fern deer".split(),
        "town": "street tram market clock roof bell square lamp".split(),
    }
    shared = "the old and a quiet morning with many".split()
    texts, labels = [], []
    for n in range(240):
        label = list(words)[n % 3]
        texts.append(" ".join([*random.choice(words[label], 3), *random.choice(shared, 4)]))
        labels.append(label)
    return texts, labels
