"""Builds the site of the documentation: README and docs, the references of both languages, and a search over all pages.

    python site/build.py PAGES SITE --rust target/doc --python target/site-python

The pages are those of the repository, as they are. A source file that one of them links to becomes a page, too, so that
the site is whole without a network. What is in no part of `PARTS` stands under "More".
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "Start": ["index", "install", "tutorials"],
    "Texts": ["text", "data", "probabilities"],
    "Recommenders": ["recommend"],
    "Words": ["embed"],
    "Librarians": ["annif"],
    "Researchers": ["method", "paper", "torch", "bench"],
    "In use": ["python", "serve", "export", "features", "reliability", "cluster"],
    "Reference": ["reference", "format", "contributing"],
}
REFERENCE = """# Reference of both languages

- [The Python package](python/index.html), from its docstrings
- [The Rust library](rust/ove/index.html), from its source; also [the charts](rust/ove_report/index.html)
- The command line: `ove --help`, `ove train --help-all`, and `ove man FOLDER`
"""
# Without a notice of the theme about its successor.
QUIET = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def page_of(path: Path, sources: set) -> str | None:
    """The place in the site of a file of the repository."""
    if path == ROOT / "README.md":
        return "index.md"
    if path == ROOT / "CONTRIBUTING.md":
        return "contributing.md"
    if path.is_relative_to(ROOT / "docs"):
        return str(path.relative_to(ROOT / "docs"))
    if path.exists():
        sources.add(path)
        return f"source/{path.relative_to(ROOT)}.md"
    return None


def linked(text: str, of: Path, sources: set) -> str:
    """A page with its links as they are in the site."""
    here = Path(page_of(of, sources)).parent

    def rewrite(match):
        target, _, anchor = match[2].partition("#")
        if not target or "://" in target:
            return match[0]
        page = page_of((of.parent / target).resolve(), sources)
        if page is None:
            raise SystemExit(f"{of}: no file {target}")
        return f"{match[1]}{os.path.relpath(page, here)}{'#' + anchor if anchor else ''}{match[3]}"

    return LINK.sub(rewrite, text)


def write(page: Path, text: str):
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)


def stage(pages: Path):
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    sources: set = set()
    for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        (pages / page_of(file, sources)).write_text(linked(file.read_text(), file, sources))
    # A folder that is linked to is a list of its files.
    folders = {path for path in sources if path.is_dir()}
    files = (sources - folders) | {file for folder in folders for file in folder.rglob("*") if file.is_file()}
    for folder in folders:
        own = sorted(file for file in files if file.is_relative_to(folder))
        lines = [f"- [{file.relative_to(folder)}]({folder.name}/{file.relative_to(folder)}.md)\n" for file in own]
        write(pages / page_of(folder, set()), f"# {folder.relative_to(ROOT)}\n\n{''.join(lines)}")
    for file in files:
        language = {".rs": "rust", ".py": "python", ".toml": "toml", ".json": "json"}.get(file.suffix, "")
        text = f"# {file.relative_to(ROOT)}\n\n`````{language}\n{file.read_text()}\n`````\n"
        write(pages / page_of(file, set()), text)
    (pages / "reference.md").write_text(REFERENCE)


def configuration(pages: Path, site: Path):
    there = {path.stem for path in pages.glob("*.md")}
    parts = [{title: [f"{name}.md" for name in names if name in there]} for title, names in PARTS.items()]
    more = sorted(there - {name for names in PARTS.values() for name in names})
    return {
        "site_name": "ove",
        "docs_dir": str(pages),
        "site_dir": str(site),
        "strict": True,
        # Links that a browser opens from files, too.
        "use_directory_urls": False,
        # No fonts from elsewhere.
        "theme": {"name": "material", "font": False, "features": ["navigation.sections", "content.code.copy"]},
        "plugins": ["search", "offline"],
        # Headings as GitHub names them, on which the pages rely.
        "markdown_extensions": ["tables", "pymdownx.superfences", "pymdownx.highlight", {"toc": {"permalink": True}}],
        "nav": [part for part in [*parts, {"More": [f"{name}.md" for name in more]}] if all(part.values())],
        # Source files are pages without a place in the menu.
        "not_in_nav": "/source/",
        "validation": {"links": {"anchors": "warn"}},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path)
    parser.add_argument("site", type=Path)
    parser.add_argument("--rust", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    args = parser.parse_args()
    pages, site = args.pages.resolve(), args.site.resolve()
    stage(pages)
    shutil.copytree(args.rust, pages / "rust", ignore=shutil.ignore_patterns("*.md", ".lock"))
    shutil.copytree(args.python, pages / "python")
    file = pages.with_suffix(".yml")
    # JSON is YAML.
    file.write_text(json.dumps(configuration(pages, site)))
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean", "--config-file", file], check=True, env=QUIET)


if __name__ == "__main__":
    main()
