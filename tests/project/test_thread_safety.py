"""Clang's thread-safety analysis knows the project's mutexes: core/checked_mutex.hpp."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

COUNTER = """
#include <entrepot/core/checked_mutex.hpp>

struct Counter {{
    entrepot::LeafMutex mutex;
    int value ENTREPOT_GUARDED_BY(mutex) = 0;

    void add() ENTREPOT_REQUIRES(mutex) {{ ++value; }}
}};

void use(Counter &counter) {{
    {body}
}}
"""


def findings(body: str) -> str:
    clang = shutil.which("clang++")
    if not clang:
        pytest.skip("clang++ is not installed")
    command = [clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-x", "c++", "-"]
    done = subprocess.run(
        [*command, f"-I{ROOT / 'include'}"],
        input=COUNTER.format(body=body),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "const entrepot::MutexLock lock(counter.mutex); ++counter.value;",
        "const entrepot::MutexLock lock(counter.mutex); counter.add();",
        "counter.mutex.assert_held(); counter.add();",
    ],
)
def test_guarded_field_with_the_mutex_held_is_accepted(body: str) -> None:
    assert findings(body) == ""


@pytest.mark.parametrize(
    "body",
    [
        "++counter.value;",
        "counter.add();",
        "{ const entrepot::MutexLock lock(counter.mutex); } ++counter.value;",
        "counter.mutex.lock();",
        "const entrepot::MutexLock lock(counter.mutex); counter.mutex.lock();",
    ],
)
def test_missing_or_repeated_lock_is_reported(body: str) -> None:
    assert "[-Wthread-safety-analysis]" in findings(body)
