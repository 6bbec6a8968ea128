"""Every link from README, CONTRIBUTING and docs to a file of the repository leads to one, and to a heading that is there."""

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("crates/*/README.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


def anchors(page):
    """The headings of a page, as GitHub names them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    found = {}
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        kept = "".join(c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LNM")
        name = kept.strip().replace(" ", "-")
        count = found[name] = found.get(name, -1) + 1
        yield name if count == 0 else f"{name}-{count}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = CODE.sub("", page.read_text())
    for link in (match[1] or match[2] for match in LINK.finditer(text)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        there = (page.parent / target).resolve() if target else page
        assert there.exists() and there.is_relative_to(ROOT), f"{page.name}: no file {target}"
        if anchor and there.suffix == ".md":
            assert anchor in set(anchors(there)), f"{page.name}: no heading #{anchor} in {there.name}"


def test_there_are_links():
    assert len(PAGES) > 15 and len(LINK.findall((ROOT / "README.md").read_text())) > 15
