"""The pages that `ove demo` and `ove reproduce` write, as a person sees them: in headless Chromium, light and dark, wide and narrow."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

DATA = Path(os.environ.get("OVE_DATA", Path(__file__).parents[3] / "shared/data"))
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(ove, rows, tmp_path_factory):
    """Figures 1 and 2 on made data, table 2 with figure 3 on a small set in the place of bibtex, and an evaluation."""
    folder = tmp_path_factory.mktemp("report")
    data = tmp_path_factory.mktemp("data")
    (data / "bibtex").mkdir()
    for part, count in (("train", 60), ("test", 30)):
        (data / "bibtex" / f"bibtex-{part}.arff").write_text(small_arff(count))
    reports = []
    for part in ("figure-1", "figure-2", "table-2", "figure-3", "large"):
        ove("reproduce", part, "--data", data, "-o", folder / part)
        reports.append(folder / part / "report.html")
    evaluation = folder / "evaluation"
    evaluation.mkdir()
    ove("train", rows[2], "-o", evaluation / "model", "--valid", rows[2], "--epochs", "20")
    ove("evaluate", evaluation / "model", rows[2], "--report", evaluation / "report.html")
    return [*reports, evaluation / "report.html"]


def test_an_evaluation_shows_what_it_measured(browser, report, ove_json, rows):
    page, _ = open_page(browser, report[-1])
    titles = [title.text_content() for title in page.query_selector_all("svg.chart > title")]
    assert titles == ["Reliability", "Bound", "Error on held-out rows", "nlpd on held-out rows"]
    figures = dict(zip(*([cell.text_content() for cell in page.query_selector_all(tag)] for tag in ("dt", "dd"))))
    found = ove_json("evaluate", report[-1].parent / "model", rows[2])
    assert figures["error"] == f"{found['error']:.4f}" and figures["nlpd"] == f"{found['nlpd']:.4f}"
    pair = found["confused"][0]
    first = [cell.text_content() for cell in page.query_selector_all("#evaluation tbody tr:first-child td")]
    assert first == [pair["label"], pair["best"], str(pair["rows"])]
    assert sum(bin["rows"] for bin in found["reliability"]) == found["rows"] == 300
    page.close()


def small_arff(rows):
    features, labels = 6, 3
    head = "@relation small\n" + "".join(f"@attribute f{d} {{0,1}}\n" for d in range(features))
    head += "".join(f"@attribute TAG_{k} {{0,1}}\n" for k in range(labels)) + "@data\n"
    return head + "".join(f"{{{n % labels * 2} 1,{features + n % labels} 1}}\n" for n in range(rows))


def open_page(browser, path, scheme="light", width=1280):
    """The page, and everything it complained about or asked the network for."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    return page, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_whole_and_readable(browser, report, scheme, width):
    for path in report:
        page, complaints = open_page(browser, path, scheme, width)
        assert complaints == []
        # The page itself never scrolls sideways; wide charts and tables do so in their own box.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for chart in page.query_selector_all("svg.chart"):
            check_chart(chart)
        for table in page.query_selector_all("table"):
            columns = len(table.query_selector_all("thead th"))
            rows = table.query_selector_all("tbody tr")
            assert rows and all(len(row.query_selector_all("td")) == columns for row in rows)
        assert contrast(page) >= 4.5
        page.close()


def check_chart(chart):
    assert chart.query_selector("title").text_content() and chart.query_selector("desc").text_content()
    assert chart.query_selector_all(".stroke, .fill, .open, .bar, .range"), "nothing is drawn"
    names = [text.text_content() for text in chart.query_selector_all("text")]
    assert any(names) and not any("NaN" in name or "inf" in name for name in names)
    box = chart.bounding_box()
    for text in chart.query_selector_all("text"):
        inner = text.bounding_box()
        if inner:
            assert inner["x"] >= box["x"] - 1 and inner["x"] + inner["width"] <= box["x"] + box["width"] + 1, text.text_content()
            assert inner["height"] >= 9, f"{text.text_content()} is too small to read"


def contrast(page):
    """WCAG contrast of body text against its background."""
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")

    def luminance(colour):
        channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(map(luminance, colours))
    return (high + 0.05) / (low + 0.05)


def test_every_figure_and_table_is_there(browser, report):
    expected = {"figure-1": (3, 1), "figure-2": (2, 0), "table-2": (0, 2), "figure-3": (1, 0), "large": (0, 0), "evaluation": (4, 2)}
    for path in report:
        page, _ = open_page(browser, path)
        counts = len(page.query_selector_all("svg.chart")), len(page.query_selector_all("table"))
        assert counts == expected[path.parent.name], path
        page.close()


def test_absent_sets_say_what_was_looked_for(browser, report):
    page, _ = open_page(browser, next(path for path in report if path.parent.name == "table-2"))
    text = page.inner_text("body")
    assert "mnist was not found" in text and "train-images-idx3-ubyte" in text and "20news was not found" in text
    page.close()
    page, _ = open_page(browser, next(path for path in report if path.parent.name == "large"))
    assert "ove generate amazoncat-13k" in page.inner_text("body")
    page.close()


def test_curves_lie_beside_the_report(report):
    beside = {file.name for path in report for file in path.parent.iterdir()}
    assert {"figure-1a.csv", "figure-1c.csv", "figure-2c.csv", "figure-3-bibtex.csv"} <= beside


def test_the_paper_on_real_data(ove_json, tmp_path):
    """Table 2 on bibtex, where the data is there; the two larger sets are left to `ove reproduce`."""
    if not (DATA / "bibtex").exists():
        pytest.skip(f"{DATA} is not there")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/bibtex").symlink_to((DATA / "bibtex").resolve())
    result = ove_json("reproduce", "table-2", "--data", tmp_path / "data", "-o", tmp_path / "report")
    rows = {row["method"]: row for row in result["rows"]}
    for method, norm, error, nlpd in [
        ("softmax", 0.0, 0.617, 2.755),
        ("one-vs-each", 0.088, 0.624, 2.845),
        ("bouchard", 0.253, 0.617, 2.920),
    ]:
        row = rows[method]
        assert abs(row["norm"] - norm) < 0.01 and abs(row["error"] - error) < 0.003 and abs(row["nlpd"] - nlpd) < 0.005, row
    full, sampled = rows["one-vs-each"], rows["one-vs-each-stochastic"]
    assert sampled["bound"] >= 1.01 * full["bound"], "within 1 % of the maximum"
    assert abs(sampled["error"] - full["error"]) < 0.01 and abs(sampled["nlpd"] - full["nlpd"]) < 0.03
