"""A header as Doxygen reads it: prints the file with its comments in Doxygen's form.

    python docs/doxygen_filter.py HEADER

The headers have plain comments. The comment before a declaration documents it, the comment behind a
member documents the member, and the comment at the top documents the file. A label such as
`Throws:` begins a paragraph of that title.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LABEL = re.compile(
    r"(Blocks|GIL|Lifetime|Ownership|Requires|Returns|Thread safety|Throws)( \([^)]*\))?: ?(.*)$"
)
#: Sections of the comment at the top of a header.
SECTIONS = {"Overview", "States", "Lock order", "Fast paths", "Lifetime"}

COMMENT = re.compile(r"(\s*)// ?(.*)$")
BEHIND_MEMBER = re.compile(r"(\s*[^/\s#}].*[;,{]|.*\})\s+// (?!namespace)(.*)$")


def documented(source: str) -> str:
    made: list[str] = []
    block: list[re.Match[str]] = []  # the comment before the next line
    column = -1  # of the comment behind the line before, which may go on
    for line in source.splitlines():
        comment, behind = COMMENT.match(line), BEHIND_MEMBER.match(line)
        if comment and not block and len(comment[1]) == column:
            made.append(f"{comment[1]}///< {comment[2]}")
            continue
        if comment:
            block.append(comment)
            continue
        if block:
            made += written(block, at_top=not made, before=line)
            block = []
        column = line.index("// ", len(behind[1])) if behind else -1
        made.append(f"{behind[1]}  ///< {behind[2]}" if behind else line)
    return "\n".join(made) + "\n"


def written(block: list[re.Match[str]], *, at_top: bool, before: str) -> list[str]:
    """The lines of a comment, in front of the line ``before``."""
    if not at_top and before.lstrip().startswith(("#", "namespace", "}")):
        return [comment[0] for comment in block]
    made = ["/// @file"] if at_top else []
    in_label = False
    for comment in block:
        indent, text = comment[1], comment[2]
        labeled = LABEL.match(text)
        in_label = bool(labeled) or (in_label and text.startswith(" "))
        if at_top and text in SECTIONS:
            made += [f"{indent}/// **{text}**", f"{indent}///"]
        elif labeled:
            title, text = labeled[1] + (labeled[2] or ""), labeled[3]
            made += [f"{indent}/// @par {title}", f"{indent}/// {text}"]
        else:
            made.append(f"{indent}/// {text.strip() if in_label else text}")
    return made


if __name__ == "__main__":
    sys.stdout.write(documented(Path(sys.argv[1]).read_text(encoding="utf-8")))
