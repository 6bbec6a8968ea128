"""Packs the static binary with its manual and completions, and writes the list of parts and the checksums beside it.

    python packaging/archive.py dist/static/ove dist

makes, in `dist`: `ove-VERSION-x86_64-linux.tar.gz`, `ove-VERSION.cdx.json` (an SBOM in CycloneDX's form, of what is built
into the binary) and `SHA256SUMS` of everything that a release has. The same binary gives the same files.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-musl"
COMPLETIONS = {"bash": "ove.bash", "zsh": "_ove", "fish": "ove.fish"}
RELEASED = ("*.tar.gz", "*.whl", "*.cdx.json")


def contents(binary: Path):
    """What the archive holds: names, bytes and modes."""
    yield "ove", binary.read_bytes(), 0o755
    for name in ["LICENSE", "README.md", "CHANGELOG.md"]:
        yield name, (ROOT / name).read_bytes(), 0o644
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", folder], check=True)
        for page in sorted(Path(folder).iterdir()):
            yield f"man/man1/{page.name}", page.read_bytes(), 0o644
    for shell, name in COMPLETIONS.items():
        script = subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout
        yield f"completions/{name}", script, 0o644


def archive(binary: Path, path: Path):
    top = path.name.removesuffix(".tar.gz")
    # No times, no owners: they are not of the release.
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content, mode in contents(binary):
                entry = tarfile.TarInfo(f"{top}/{name}")
                entry.size, entry.mode = len(content), mode
                tar.addfile(entry, io.BytesIO(content))


def metadata():
    """What cargo knows of the packages, for the target of the binary."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    return json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)


def built_in(found):
    """The packages that are built into the command line, and what each depends on: no tests, no build scripts."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    edges, left = {}, [package["id"] for package in found["packages"] if package["name"] == "ove-cli"]
    while left:
        package = left.pop()
        if package not in edges:
            normal = [
                dep["pkg"] for dep in nodes[package]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])
            ]
            edges[package] = sorted(normal)
            left += normal
    return edges


def bill_of_materials(found):
    packages = {package["id"]: package for package in found["packages"]}
    edges = built_in(found)
    checksums = lock_checksums()

    def reference(package):
        return f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"

    def component(package):
        of = packages[package]
        known = {"type": "library", "bom-ref": reference(package), "name": of["name"], "version": of["version"]}
        if of["license"]:
            # Some crates still write `/` for `OR`.
            known["licenses"] = [{"expression": of["license"].replace("/", " OR ")}]
        if checksum := checksums.get((of["name"], of["version"])):
            known["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return known | {"purl": reference(package)}

    order = sorted(edges, key=reference)
    (main,) = [package for package in order if packages[package]["name"] == "ove-cli"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(main) | {"type": "application"}},
        "components": [component(package) for package in order if package != main],
        "dependencies": [
            {"ref": reference(package), "dependsOn": sorted(map(reference, edges[package]))} for package in order
        ],
    }


def lock_checksums():
    """The checksums of packages in Cargo.lock, by name and version."""
    found, of = {}, {}
    for line in (ROOT / "Cargo.lock").read_text().splitlines():
        key, _, value = line.partition(" = ")
        of = {} if line == "[[package]]" else of | {key: value.strip('"')}
        if key == "checksum":
            found[of["name"], of["version"]] = of["checksum"]
    return found


def main(binary, folder):
    found = metadata()
    (version,) = [package["version"] for package in found["packages"] if package["name"] == "ove-cli"]
    archive(binary, folder / f"ove-{version}-x86_64-linux.tar.gz")
    (folder / f"ove-{version}.cdx.json").write_text(json.dumps(bill_of_materials(found), indent=1) + "\n")
    files = sorted(path for pattern in RELEASED for path in folder.glob(pattern))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
