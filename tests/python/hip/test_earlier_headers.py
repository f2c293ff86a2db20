"""Compares every record and enumerator of entrepot.hip with the headers of HIP 5.2, from Debian.

With a library of that version loaded, a name means the layout that the library has for it.
A compiler first reports which names and members those headers have. These must be laid out like
the bindings', except for the table below.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from entrepot import hip
from entrepot.hip import objects
from support.hip_records import fields_of
from support.modules import load_module
from support.processes import completed, output_of

ROOT = Path(__file__).resolve().parents[3]
HEADERS = Path("/usr/include/hip")
BEYOND = 100_000  # every size
INCLUDED = "".join(
    f"#include <{each}>\n" for each in ("hip/hip_runtime_api.h", "stddef.h", "stdio.h")
)

# Size, or (offset, size), here and in 5.2. A library of 5.2 reads these structs and does not write
# them. Later fields are at their ends, or where 5.2 reserves zeros.
LONGER = {
    "hipExternalMemoryBufferDesc_st": (88, 24),
    "hipExternalMemoryHandleDesc_st": (104, 40),
    "hipExternalSemaphoreHandleDesc_st": (96, 32),
    "hipMemPoolProps.reserved": ((32, 56), (24, 64)),
}
# Members that came later; one that lies in 5.2's padding; and one that was called memoryType.
LATER = {
    "hipArrayMapInfo.resource.mipmap.num_channels",
    "hipExternalMemoryBufferDesc_st.reserved",
    "hipExternalMemoryHandleDesc_st.handle.nvSciBufObject",
    "hipExternalMemoryHandleDesc_st.reserved",
    "hipExternalSemaphoreHandleDesc_st.handle.NvSciSyncObj",
    "hipExternalSemaphoreHandleDesc_st.reserved",
    "hipMemPoolProps.maxSize",
    "hipMipmappedArray.num_channels",
    "hipPointerAttribute_t.type",
}
# A count of enumerators is no option.
GROWN = {"hipJitOptionNumOptions": (29, 17)}

pytestmark = pytest.mark.skipif(
    not (HEADERS / "hip_version.h").exists()
    or "HIP_VERSION_MAJOR 5" not in (HEADERS / "hip_version.h").read_text(),
    reason="HIP 5's headers are not here: apt-get install libamdhip64-dev",
)


def described(what: str) -> list[dict]:
    return json.loads((ROOT / "tools/bindgen/libraries/hip.json").read_text())[what]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A copy of the bindings that finds a library of HIP 5.2, without later symbols."""
    folder = tmp_path_factory.mktemp("hip_5_2")
    (folder / "hip.c").write_text("void hipInit(void) {}\n")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / "libhip.so", folder / "hip.c"], check=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENTREPOT_HIP_LIBRARY", str(folder / "libhip.so"))
        yield load_module(Path(hip.__file__), "hip_of_5_2", register=True)
    del sys.modules["hip_of_5_2"]


def is_clang(compiler: str) -> bool:
    macros = output_of([compiler, "-dM", "-E", "-x", "c", os.devnull])
    return "#define __clang__ 1\n" in macros


def printed(expressions: dict[str, str], folder: Path) -> dict[str, int]:
    """Values of the expressions whose names the headers have."""
    known = dict(expressions)
    every_error = "-ferror-limit=0" if is_clang("cc") else "-fmax-errors=0"
    while True:
        source = folder / "numbers.c"
        lines = [
            f'printf("{name} %lld\\n", (long long)({expression}));'
            for name, expression in known.items()
        ]
        source.write_text(f"{INCLUDED}int main(void) {{\n" + "\n".join(lines) + "\nreturn 0; }\n")
        first = INCLUDED.count("\n") + 2
        done = completed(
            ["cc", "-w", every_error, "-D__HIP_PLATFORM_AMD__", "-o", folder / "numbers", source],
            env={**os.environ, "LC_ALL": "C"},
        )
        if done.returncode == 0:
            said = output_of([folder / "numbers"])
            return {
                name: int(number)
                for name, number in (line.rsplit(" ", 1) for line in said.splitlines())
            }
        wrong = {
            int(line) - first for line in re.findall(r"numbers\.c:(\d+):\d+: error", done.stderr)
        }
        if not wrong:
            pytest.fail(done.stderr)
        known = {name: known[name] for at, name in enumerate(known) if at not in wrong}


def names_of_records() -> dict[str, str]:
    """Entrepot's name → C's, for structs with a name in C, and for those whose meaning depends
    on the version."""
    found = {each["name"]: each["c_name"] for each in described("records") if each.get("c_name")}
    found = {
        name: in_c
        for name, in_c in found.items()
        if in_c.split()[-1] == name and not re.search(r"R0\d\d\d$", name)
    }
    return found | {
        name: name
        for name in (
            "hipDeviceProp_t",
            "hipExternalSemaphoreSignalParams",
            "hipExternalSemaphoreWaitParams",
        )
    }


def test_records_match_earlier_headers(module, tmp_path):
    expected, expressions = {}, {}
    for name, in_c in names_of_records().items():
        record = getattr(module, name)
        expressions[name], expected[name] = f"sizeof({in_c})", record.c_sizeof()
        for field, offset, size in fields_of(record):
            expressions[f"{name}.{field}"] = (
                f"offsetof({in_c}, {field}) * {BEYOND} + sizeof((({in_c} *)0)->{field})"
            )
            expected[f"{name}.{field}"] = (offset, size)
    numbers = printed(expressions, tmp_path)
    found = {
        name: divmod(number, BEYOND) if "." in name else number for name, number in numbers.items()
    }
    records = {name for name in found if "." not in name}
    assert len(records) >= 92
    assert {
        name: (expected[name], found[name]) for name in found if expected[name] != found[name]
    } == LONGER
    assert {name for name in expected if name.split(".")[0] in records} - set(found) == LATER
    type_of_memory = printed({"offset": "offsetof(hipPointerAttribute_t, memoryType)"}, tmp_path)[
        "offset"
    ]
    assert vars(module.hipPointerAttribute_t)["type"].offset == type_of_memory
    assert len(found) >= 650


def test_copy_of_module_leaves_objects_bound(module):
    assert module is not hip
    assert objects._hip is hip


def test_enumerators_match_earlier_headers(module, tmp_path):
    names = {
        member["name"]: (
            each["name"].partition("R0")[0]
            if re.search(r"R0\d\d\d$", each["name"])
            else each["name"]
        )
        for each in described("enums")
        for member in each["enumerators"]
    }
    found = printed({name: name for name in names}, tmp_path)
    assert len(found) >= 457
    expected = {name: int(getattr(getattr(module, names[name]), name)) for name in found}
    assert {
        name: (expected[name], found[name]) for name in found if expected[name] != found[name]
    } == GROWN
