#!/usr/bin/env python3
"""Checks the subjects of commits since the last release: ``area: imperative summary``, at most 72
characters.

Merges are left out. Without a tag of a release, the range begins where the rule was adopted. In a
shallow clone it begins with the oldest commit.
"""

from __future__ import annotations

import re
import subprocess
import sys

ADOPTED = "6646ca17d2"
LONGEST = 72  # characters
SUBJECT = re.compile(r"[a-z][\w.+-]*(?:, [a-z][\w.+-]*)*: \S")


def problem_of(subject: str) -> str | None:
    """Returns the reason for which a subject is refused, or None."""
    if not SUBJECT.match(subject):
        return "is not of the form `area: summary`"
    if len(subject) > LONGEST:
        return f"has {len(subject)} characters: at most {LONGEST}"
    return None


def git(*arguments: str) -> str | None:
    """Returns the output of git, or None if it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def main() -> int:
    release = git("describe", "--tags", "--abbrev=0") or git(
        "rev-parse", "--verify", "--quiet", f"{ADOPTED}^{{commit}}"
    )
    commits = (
        git("log", "--no-merges", "--format=%h %s", f"{release}..HEAD" if release else "HEAD") or ""
    )
    problems = 0
    for line in commits.splitlines():
        commit, _, subject = line.partition(" ")
        if problem := problem_of(subject):
            print(f"{commit}: `{subject}` {problem}", file=sys.stderr)
            problems += 1
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
