"""docs/doxygen_filter.py: comments of a header in Doxygen's form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILTER = Path(__file__).resolve().parents[2] / "docs/doxygen_filter.py"

HEADER = """\
// A device.
//
// Lifetime
//   As long as the process.
#pragma once

// Not about the namespace.
namespace entrepot {

// Divides the device.
//
// Throws: DeviceError if it cannot be
//         divided.
std::vector<Device> partition() const;
bool is_root;  // true for a device
               // of no other
}  // namespace entrepot
"""

DOCUMENTED = """\
/// @file
/// A device.
///
/// **Lifetime**
///
///   As long as the process.
#pragma once

// Not about the namespace.
namespace entrepot {

/// Divides the device.
///
/// @par Throws
/// DeviceError if it cannot be
/// divided.
std::vector<Device> partition() const;
bool is_root;  ///< true for a device
               ///< of no other
}  // namespace entrepot
"""


def test_comments_become_documentation(tmp_path: Path) -> None:
    header = tmp_path / "device.hpp"
    header.write_text(HEADER)
    done = subprocess.run(
        [sys.executable, FILTER, header], capture_output=True, text=True, check=True
    )
    said = "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"
    assert said == DOCUMENTED
