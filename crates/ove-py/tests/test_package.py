"""The package as such: examples in docstrings, types, what is public."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.resources import files

import ove


# scikit-learn, SciPy and tqdm have no types.
STRICT = [
    "--strict",
    "--disable-error-code=import-untyped",
    "--disable-error-code=import-not-found",
    "--allow-untyped-decorators",
]


def modules():
    yield ove
    for module in pkgutil.iter_modules(ove.__path__, "ove."):
        try:
            yield importlib.import_module(module.name)
        except ModuleNotFoundError as missing:  # an optional package
            assert missing.name == "torch", missing


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


def test_types(tmp_path):
    assert files("ove").joinpath("py.typed").is_file()
    for command in (["mypy", *STRICT, "-p", "ove"], ["mypy.stubtest", "ove._ove"]):
        command = [sys.executable, "-m", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
