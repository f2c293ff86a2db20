"""Tables for the terminal, by rich if it is installed, else with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def _plain(headers: Row, rows: Sequence[Row]) -> str:
    """Columns as wide as their widest cell, the headers underlined."""
    widths = [max(len(row[column]) for row in (headers, *rows)) for column in range(len(headers))]
    lines = [headers, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def show(headers: Row, rows: Sequence[Row]) -> None:
    """Prints a table. In a pipe or file it is plain and never truncated."""
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(_plain(headers, rows))
        return
    console = Console()
    if not console.is_terminal:
        print(_plain(headers, rows))
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        # Folded, not truncated, so that selectors and calls can be copied. The first column
        # identifies the row.
        table.add_column(header, overflow="fold", no_wrap=header == headers[0])
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)
