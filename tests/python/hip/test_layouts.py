"""Every record of the bindings against the same header in a C compiler: sizes, offsets,
bit-fields."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

from entrepot.ffi import Record
from support.hip_records import fields_of
from support.modules import load_module
from support.processes import output_of

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ROOT / "tools/bindgen/libraries"

# Library → module, headers, and options of the compiler.
CASES = {
    "hip": (
        "entrepot.hip",
        ["hip/hip_runtime_api.h", "hip/library_types.h", "hip/hip_deprecated.h", "hip_earlier.h"],
        ["-D__HIP_PLATFORM_AMD__", f"-I{LIBRARIES}"],
    ),
    # hipRTC and hipSPARSE have no records.
    "hiprand": (
        "entrepot.hiprand",
        ["stddef.h", "stdint.h", "hiprand_c.h", "hiprand/hiprand.h", "hiprand_later.h"],
        ["-D__HIP_PLATFORM_AMD__", f"-I{LIBRARIES}"],
    ),
    "zlib": ("zlib_bindings", ["zlib.h"], []),
}


WITH_ENUMS = {
    **{library: case for library, case in CASES.items() if library != "zlib"},
    "hipsparse": (
        "entrepot.hipsparse",
        ["hipsparse/hipsparse.h"],
        ["-D__HIP_PLATFORM_AMD__", "-I/usr/local/include"],
    ),
}


def folders(library: str) -> list[str]:
    if library == "zlib":
        return []
    here = any(
        (Path(each) / library / f"{library}.h").exists()
        for each in ("/usr/include", "/usr/local/include")
    )
    if library != "hip" and not here:
        pytest.skip(f"{library}'s headers are not here: tools/system_packages.sh bindgen hipsparse")
    found = importlib.util.find_spec("triton")
    if found is None or found.origin is None:
        pytest.skip("triton, whose wheel has HIP's headers, is not installed")
    return [f"-I{Path(found.origin).parent / 'backends/amd/include'}"]


def module_of(library: str):
    """A copy that finds no library: structs that differ between HIP 5 and 6 then have the
    headers' layout."""
    name, file = (CASES | WITH_ENUMS)[library][0], ROOT / "examples/bindings/zlib_bindings.py"
    if library != "zlib":
        file = Path(importlib.import_module(name).__file__ or "")
    return load_module(file, f"described_{library}", register=True)


@pytest.fixture(autouse=True)
def without_a_library(monkeypatch):
    monkeypatch.setenv("ENTREPOT_HIP_LIBRARY", "/no/such/library")


@pytest.mark.parametrize("library", CASES)
def test_record_offsets_match_c(library, tmp_path):
    include = folders(library)
    module, (_, headers, options) = module_of(library), CASES[library]
    described = json.loads((LIBRARIES / f"{library}.json").read_text())["records"]
    lines, expected = [], []
    for each in described:
        record, c_name = getattr(module, each["name"]), each.get("c_name")
        if not c_name or (
            c_name.split()[-1] != each["name"]
        ):  # nested records are checked within their parents
            continue
        lines.append(f'printf("{c_name} %zu %zu\\n", sizeof({c_name}), _Alignof({c_name}));')
        expected.append(f"{c_name} {record.c_sizeof()} {each['alignment']}")
        for name, offset, size in fields_of(record):
            lines.append(
                f'printf("{c_name}.{name} %zu %zu\\n", offsetof({c_name}, {name}), '
                f"sizeof((({c_name} *)0)->{name}));"
            )
            expected.append(f"{c_name}.{name} {offset} {size}")
        bit_fields = [name for name in record.PROPERTIES() if vars(record)[name].bits]
        for name in bit_fields:
            lines.append(
                f'{{ {c_name} r; memset(&r, 0, sizeof r); r.{name} = -1; show("{c_name}.{name}", '
                f"&r, sizeof r); }}"
            )
            value = record()
            width = vars(record)[name].bits
            setattr(value, name, 2**width - 1)
            expected.append(f"{c_name}.{name} {bytes_of(value).hex()}")

    program = tmp_path / "layouts.c"
    program.write_text(
        "".join(f"#include <{header}>\n" for header in headers)
        + "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n"
        + 'static void show(const char *name, void *at, size_t n) { printf("%s ", name);\n'
        + '    for (size_t i = 0; i < n; ++i) printf("%02x", ((unsigned char *)at)[i]); puts(""); '
        "}\n" + "int main(void) { (void)show;\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    subprocess.run(
        ["cc", "-w", *options, *include, "-o", tmp_path / "layouts", program], check=True
    )
    found = output_of([tmp_path / "layouts"]).splitlines()
    assert len(expected) > 2
    assert expected == found


def bytes_of(record: Record) -> bytes:
    import ctypes

    return ctypes.string_at(int(record), record.c_sizeof())


@pytest.mark.parametrize("library", CASES)
def test_record_sizes_match_the_description(library):
    """Includes nested ones without a name in C."""
    module = module_of(library)
    for each in json.loads((LIBRARIES / f"{library}.json").read_text())["records"]:
        record = getattr(module, each["name"])
        assert record.c_sizeof() == each["size"], each["name"]
        for field in each["fields"]:
            if field["name"] and "width" not in field:
                assert 8 * vars(record)[field["name"]].offset == field["bit"], (
                    each["name"],
                    field["name"],
                )


@pytest.mark.parametrize("library", WITH_ENUMS)
def test_enumerators_are_those_of_c(library, tmp_path):
    _, headers, options = WITH_ENUMS[library]
    include = folders(library)
    module = module_of(library)
    described = json.loads((LIBRARIES / f"{library}.json").read_text())["enums"]
    names = [(each["name"], member["name"]) for each in described for member in each["enumerators"]]
    in_c = [
        (enum, name) for enum, name in names if "R0" not in enum
    ]  # earlier versions' stand in the settings
    program = tmp_path / "enumerators.c"
    program.write_text(
        "".join(f"#include <{header}>\n" for header in headers)
        + "#include <stdio.h>\nint main(void) {\n"
        + "".join(f'printf("{name} %lld\\n", (long long){name});\n' for _, name in in_c)
        + "return 0; }\n"
    )
    subprocess.run(
        ["cc", "-w", *options, *include, "-o", tmp_path / "enumerators", program], check=True
    )
    found = output_of([tmp_path / "enumerators"]).splitlines()
    assert len(in_c) > 20
    assert found == [f"{name} {int(getattr(getattr(module, enum), name))}" for enum, name in in_c]
