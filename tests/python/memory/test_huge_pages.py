"""Huge pages for large blocks of the host's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import entrepot as ep

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(
        not Path("/sys/kernel/mm/transparent_hugepage").exists(),
        reason="this system has no transparent huge pages",
    ),
]


def flags_at(address: int) -> list[str]:
    """The flags of the mapping that has the address."""
    is_inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            first, last = (int(end, 16) for end in words[0].split("-"))
            is_inside = first <= address < last
        elif is_inside and words[0] == "VmFlags:":
            return words[1:]
    raise AssertionError(f"no mapping has {address:#x}")


@pytest.mark.parametrize("size", [4 << 20, (1 << 25) + 12345])
def test_large_block_requests_huge_pages(size):
    block = ep.empty(size, "uint8", device="host")
    assert "hg" in flags_at(block.__array_interface__["data"][0] + size // 2)
