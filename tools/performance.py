#!/usr/bin/env python3
"""Writes the tables and charts of docs/performance.md from results of the benchmarks.

    tools/performance.py FOLDER FILE...

Each FILE is what `python -m benchmarks --json FILE` or `python -m benchmarks.cuda --json FILE` has
written. FOLDER receives NAME.md with a table for each topic and the command that prints it, and
NAME.svg with a chart. The documentation is built with them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pyperf

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
matplotlib.rcParams["svg.hashsalt"] = "entrepot"

import matplotlib.pyplot as plt  # noqa: E402

from entrepot.demo import time_text  # noqa: E402

#: Tables in the chart, without rows whose peer is a bound or that hardly differ from another.
CHARTED = ("memory", "exchange", "launches", "allocation", "streams")
LEFT_OUT = ("empty calls", "least producer", "within", "... of that", "alone", "out of order")
#: Headings of tables whose sides are both Entrepot's.
SIDES = {"idioms": ("first form", "second form")}
OURS, PEER = "#1b7f79", "#b9c4c9"


@dataclass(frozen=True)
class Row:
    table: str
    what: str
    ours_ns: float
    peer_ns: float


def rows_of(suite: pyperf.BenchmarkSuite) -> list[Row]:
    """The rows in their order. A benchmark is followed by that of its peer."""
    benchmarks = suite.get_benchmarks()
    return [
        Row(
            table := ours.get_metadata()["table"],
            ours.get_name().removeprefix(f"{table}: "),
            ours.median() * 1e9,
            peer.median() * 1e9,
        )
        for ours, peer in zip(benchmarks[::2], benchmarks[1::2], strict=True)
    ]


def tables(suite: pyperf.BenchmarkSuite) -> str:
    of = suite.get_benchmarks()[0].get_metadata()
    lines = [
        f"Measured with Entrepot {of['entrepot']}, Python {of['python_version']} and "
        f"{of['packages']}, on {of['cores']} cores of: {of['devices']}."
    ]
    table = ""
    for row in rows_of(suite):
        if row.table != table:
            table = row.table
            topic = table.partition(",")[0]
            lines += [
                "",
                f"`{of['command']} {topic}`{table[len(topic) :]}:",
                "",
                f"| | {' | '.join(SIDES.get(table, ('Entrepot', 'peer')))} | ratio |",
                "|---|--:|--:|--:|",
            ]
        ratio = row.peer_ns / row.ours_ns
        lines.append(
            f"| {row.what} | {time_text(row.ours_ns)} | {time_text(row.peer_ns)} "
            f"| {f'{ratio:.3g}' if ratio < 999.5 else f'{ratio:,.0f}'} |"
        )
    return "\n".join([*lines, ""])


def chart(suite: pyperf.BenchmarkSuite, path: Path) -> None:
    """Two bars for each row, on a logarithmic axis of nanoseconds."""
    rows = [
        row
        for row in reversed(rows_of(suite))
        if row.table in CHARTED and not any(part in row.what for part in LEFT_OUT)
    ]
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.36 * len(rows)), layout="constrained")
    for name, times, color, shift in (
        ("Entrepot", [row.ours_ns for row in rows], OURS, 0.19),
        ("peer", [row.peer_ns for row in rows], PEER, -0.19),
    ):
        heights = [height + shift for height in range(len(rows))]
        bars = axes.barh(heights, times, height=0.36, color=color, label=name)
        labels = [time_text(ns) for ns in times]
        axes.bar_label(bars, labels, padding=3, fontsize=7, color="#444444")
    axes.set_yticks(range(len(rows)), [row.what for row in rows], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("nanoseconds for each call; shorter is better")
    axes.margins(x=0.12, y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write(folder: Path, files: list[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        suite = pyperf.BenchmarkSuite.load(str(file))
        (folder / f"{file.stem}.md").write_text(tables(suite))
        chart(suite, folder / f"{file.stem}.svg")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
