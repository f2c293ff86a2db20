"""The first program of docs/kernels/index.md, with a NumPy array and a device by its name, prints its result on every device."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernel.backends import every_device

pytestmark = pytest.mark.numpy

PAGE = Path(__file__).parents[3] / "docs" / "kernels" / "index.md"


@every_device
def test_it_prints_what_numba_dppys_documentation_says(device, tmp_path):
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[:1]
    text = text.replace('"host"', f'"{device}"').replace("(arr).wait()", "(arr)")  # an array of the host has its result at once
    assert f'device_context("{device}")' in text and ".wait" not in text
    script = tmp_path / "program.py"
    script.write_text(text + "print(arr)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[9. 9. 9. 9. 9. 9. 9. 9. 9. 9.]\n", done.stderr
