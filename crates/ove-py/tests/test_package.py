"""The package as such: examples in docstrings, types, what is public."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.resources import files

import pytest

import ove


# scikit-learn, SciPy, tqdm and gensim have no types, and PyTorch, Ray, matplotlib and Annif need not be installed; every other
# module must be found.
TYPES = """
[mypy]
strict = true
# available_if of scikit-learn
disallow_untyped_decorators = false

[mypy-sklearn.*,scipy.*,tqdm.*,torch.*,ray.*,matplotlib.*,gensim.*,annif.*,optuna.*]
ignore_missing_imports = true

# its base classes are Annif's
[mypy-ove.annif.*]
disallow_subclassing_any = false
"""


def modules():
    yield ove
    for module in pkgutil.iter_modules(ove.__path__, "ove."):
        try:
            yield importlib.import_module(module.name)
        except ModuleNotFoundError as missing:  # an optional package
            assert missing.name in ("torch", "annif", "ray"), missing


def test_examples_in_docstrings():
    results = [doctest.testmod(module) for module in modules()]
    assert sum(result.failed for result in results) == 0 and sum(result.attempted for result in results) > 10


def test_everything_public_is_documented():
    for name in ove.__all__:
        thing = getattr(ove, name)
        assert inspect.getdoc(thing), name
        for part, member in inspect.getmembers(thing):
            if part.startswith("_") or not getattr(member, "__module__", "").startswith("ove"):
                continue
            assert inspect.getdoc(member), f"{name}.{part}"


@pytest.mark.slow
def test_types(tmp_path):
    assert files("ove").joinpath("py.typed").is_file()
    (tmp_path / "mypy.ini").write_text(TYPES)
    for command in (["mypy", "-p", "ove"], ["mypy.stubtest", "ove._ove"]):
        command = [sys.executable, "-m", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
