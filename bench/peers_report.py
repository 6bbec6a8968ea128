"""The table and the plots of what `peers.py` found.

    python bench/peers_report.py [--out bench/out] [--to docs/bench]

Writes report.md into the second folder (the first if it is not given) and, for each part and task, SVG plots beside it: quality against time
to train and to predict (the upper left is best), and peak memory and model size. The plots have no background and use colours that read on
white and on black.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Callable, NamedTuple

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator

COLOURS = {  # told apart by hue and lightness; each at least 3:1 on white and on black
    "ove": "#e0432f",
    "omikuji": "#3b82d6",
    "napkinxc": "#8a6fd1",
    "pecos": "#1f9d74",
    "fasttext": "#c07c10",
    "vw": "#a8578f",
    "sklearn": "#7a7f87",
}
NAMES = {"napkinxc": "napkinXC", "pecos": "PECOS", "fasttext": "fastText", "vw": "VW", "sklearn": "scikit-learn"}
INK = "#7d7d7d"

Run = dict[str, Any]


class Column(NamedTuple):
    """A column of the table: its title, the value of a run, how it is written, and whether more is better."""

    title: str
    value: Callable[[Run], float | None]
    form: str
    more: bool


def memory(run: Run) -> float:
    return max(run["train"]["peak_memory_bytes"], run["predict"]["peak_memory_bytes"])


COLUMNS = [
    Column("P@1", lambda r: 100 * r["precision_at_1"], ".2f", True),
    Column("P@3", lambda r: 100 * r["precision_at_3"], ".2f", True),
    Column("P@5", lambda r: 100 * r["precision_at_5"], ".2f", True),
    Column("nDCG@5", lambda r: 100 * r["ndcg_at_5"], ".2f", True),
    Column("PSP@1", lambda r: 100 * r["psp_at_1"], ".2f", True),
    Column("PSP@5", lambda r: 100 * r["psp_at_5"], ".2f", True),
    Column("nlpd", lambda r: r.get("nlpd"), ".3f", False),
    Column("train s", lambda r: r["train"]["train_seconds"], ".1f", False),
    Column("whole", lambda r: r["train"]["wall_seconds"], ".1f", False),
    Column("predict s", lambda r: r["predict"]["predict_seconds"], ".2f", False),
    Column("whole", lambda r: r["predict"]["wall_seconds"], ".2f", False),
    Column("memory GB", lambda r: memory(r) / 1e9, ".2f", False),
    Column("model MB", lambda r: r["model_bytes"] / 1e6, ".0f", False),
]


def name_of(run: Run) -> str:
    return f"{NAMES.get(run['peer'], run['peer'])} {run['setting']}"


# ---- the table -----------------------------------------------------------------------------------------------------------------------


def table(runs: list[Run]) -> str:
    """Markdown; the best of each column in bold."""
    done = [run for run in runs if "failed" not in run]
    columns = [c for c in COLUMNS if any(c.value(run) is not None for run in done)]
    rows = [[name_of(run), *(cell(column, run, done) for column in columns)] for run in done]
    head = ["", *(column.title for column in columns)]
    lines = [head, ["---", *("--:" for _ in columns)], *rows]
    text = "\n".join("| " + " | ".join(row) + " |" for row in lines)
    failed = "".join(f"\n- {name_of(run)}: {run['failed']}" for run in runs if "failed" in run)
    return text + ("\n" + failed if failed else "")


def cell(column: Column, run: Run, runs: list[Run]) -> str:
    value = column.value(run)
    if value is None:
        impossible = run.get("nlpd_impossible_rows") if column.title == "nlpd" else None
        return f"∞ ({impossible} rows)" if impossible else ""
    values = [format(v, column.form) for r in runs if (v := column.value(r)) is not None]
    best = (max if column.more else min)(values, key=float)
    text = format(value, column.form)
    return f"**{text}**" if text == best else text


def settings(runs: list[Run]) -> str:
    """What was run, with versions and options, each once."""
    seen = dict.fromkeys((name_of(r), r.get("version", ""), json.dumps(r["options"])) for r in runs if "failed" not in r)
    return "\n".join(f"- {name}: {version}; `{options}`" for name, version, options in seen)


# ---- the plots -----------------------------------------------------------------------------------------------------------------------


def axes(title: str, x: str, y: str, size: tuple[float, float] = (7, 4.2)):
    """An empty plot: no box, no background, grey that reads on light and dark."""
    figure, plot = plt.subplots(figsize=size)
    figure.patch.set_alpha(0)
    plot.patch.set_alpha(0)
    plot.spines[["top", "right"]].set_visible(False)
    plot.spines[["left", "bottom"]].set_color(INK)
    plot.tick_params(colors=INK, which="both")
    plot.set_title(title, color=INK, loc="left", fontsize=11)
    plot.set_xlabel(x, color=INK)
    plot.set_ylabel(y, color=INK)
    plot.grid(color=INK, alpha=0.2, linewidth=0.6)
    plot.set_axisbelow(True)
    return figure, plot


def save(figure, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def against_time(runs: list[Run], phase: str, title: str, path: Path) -> None:
    """precision@1 against the seconds of a phase, a point a run, its name beside it."""
    figure, plot = axes(title, f"seconds to {phase} (reading not included where it can be told apart)", "precision@1, %")
    plot.set_xscale("log")
    points = [(run[phase][f"{phase}_seconds"], 100 * run["precision_at_1"], run) for run in runs]
    for seconds, precision, run in points:
        ours = run["peer"] == "ove"
        plot.plot(seconds, precision, "D" if ours else "o", color=COLOURS[run["peer"]], markersize=9 if ours else 7)
    widen(plot, points)
    label(figure, plot, points)
    ticks(plot)
    save(figure, path)


def ticks(plot) -> None:
    """1, 2, 5, 10, … on the logarithmic axis."""
    plot.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plot.xaxis.set_minor_locator(NullLocator())
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def widen(plot, points) -> None:
    """Room for the names at the right and around."""
    seconds = [p[0] for p in points]
    plot.set_xlim(min(seconds) / 1.6, max(seconds) * 6)
    low, high = min(p[1] for p in points), max(p[1] for p in points)
    room = max(high - low, 1) * 0.12
    plot.set_ylim(low - room, high + room)


def label(figure, plot, points) -> None:
    """Each name beside its point, moved until it touches no other name or point; a thin line leads to one that had to move."""
    figure.canvas.draw()
    pixel = figure.dpi / 72
    places = [plot.transData.transform(point[:2]) / pixel for point in points]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for (x, y), (seconds, precision, run) in sorted(zip(places, points), key=lambda pair: -pair[0][1]):
        width = 5.4 * len(name_of(run))
        step = next((s for s in sorted(range(-30, 31), key=abs) if free(box_at(x, y, s, width), taken)), 0)
        taken.append(box_at(x, y, step, width))
        plot.annotate(
            name_of(run),
            (seconds, precision),
            xytext=(9, 5 * step),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=COLOURS[run["peer"]],
            fontweight="bold" if run["peer"] == "ove" else "normal",
            arrowprops={"arrowstyle": "-", "color": COLOURS[run["peer"]], "linewidth": 0.6} if abs(step) > 1 else None,
        )


def box_at(x: float, y: float, step: int, width: float) -> tuple[float, float, float, float]:
    """Where a name goes that is `step` half lines above its point."""
    return x + 9, y + 5 * step - 5, x + 9 + width, y + 5 * step + 5


def free(box: tuple[float, ...], taken: list[tuple[float, ...]]) -> bool:
    return not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)


def sizes(runs: list[Run], title: str, path: Path) -> None:
    """Peak memory and model size, a pair of bars a run."""
    figure, plot = axes(title, "", "", (7, 0.42 * len(runs) + 1.1))
    plot.grid(False, axis="y")
    plot.set_xscale("log")
    smallest = min(run["model_bytes"] for run in runs) / 1e9 / 2
    for i, run in enumerate(runs):
        for offset, value, alpha, what in ((-0.2, memory(run), 1, "peak"), (0.2, run["model_bytes"], 0.5, "model")):
            plot.barh(i + offset, value / 1e9 - smallest, 0.36, left=smallest, color=COLOURS[run["peer"]], alpha=alpha)
            plot.annotate(
                f"{what} {amount(value)}",
                (value / 1e9, i + offset),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=INK,
            )
    plot.set_yticks(range(len(runs)), [name_of(run) for run in runs])
    for tick, run in zip(plot.get_yticklabels(), runs):
        tick.set_color(COLOURS[run["peer"]])
    plot.invert_yaxis()
    plot.set_xlim(smallest, max(memory(run) for run in runs) / 1e9 * 4)
    plot.set_xlabel("GB", color=INK)
    ticks(plot)
    save(figure, path)


def amount(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


# ---- all of it -----------------------------------------------------------------------------------------------------------------------

ABOUT = """Seconds are those of the work alone; *whole* is the whole process with its start and with reading and writing files. VW and fastText read
while they train, so reading is within their seconds. fastText and VW predict on one thread, VW also trains on one. Memory is the larger peak of the two
processes. Quality comes from the five best labels that each one wrote, by one evaluator. nlpd is that of the first label on the same test rows
(at most {rows:,}, none whose label is new) for all that have probabilities; ∞ where a label got probability 0, with the number of such
rows; that of `ove` is its own figure. How settings were chosen: bench/settings.py. Best of each column in bold.
"""


def section(part: str, task: str, runs: list[Run], out: Path) -> str:
    """One task: its table and its plots."""
    done = [run for run in runs if "failed" not in run]
    rows, features, labels = runs[0]["shape"]
    text = f"\n## {task}, {part}\n\n{int(rows):,} training rows, {int(features):,} features, {int(labels):,} labels.\n\n{table(runs)}\n"
    if not done:
        return text
    for phase in ("train", "predict"):
        against_time(done, phase, f"{task}, {part}", out / f"{part}-{task}-{phase}.svg")
        text += f"\n![precision@1 against the time to {phase}]({part}-{task}-{phase}.svg)\n"
    sizes(done, f"{task}, {part}", out / f"{part}-{task}-size.svg")
    return text + f"\n![peak memory and model size]({part}-{task}-size.svg)\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "out")
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    out = given.to or given.out
    out.mkdir(parents=True, exist_ok=True)
    plt.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "ove", "font.family": "sans-serif"}
    found = json.loads((given.out / "results.json").read_text())
    machine, runs = found["machine"], found["runs"]
    text = f"# `ove` and its peers\n\n{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB.\n\n"
    text += ABOUT.format(rows=found["nlpd_rows"])
    for part, task in dict.fromkeys((run["part"], run["task"]) for run in runs):
        text += section(part, task, [run for run in runs if (run["part"], run["task"]) == (part, task)], out)
    text += f"\n## Versions and settings\n\n{settings(runs)}\n"
    (out / "report.md").write_text(text)
    print(out / "report.md")


if __name__ == "__main__":
    main()
