"""Names whose meaning differs between versions of HIP: the loaded library decides."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from entrepot import hip
from support.processes import output_of, run

#: Name of a struct → symbol of the libraries that have its new layout.
LAID_OUT_ANEW = {
    "HIP_MEMCPY3D": "hipGetDevicePropertiesR0600",
    "hipMemAllocationProp": "hipUserObjectCreate",
    "hipExternalSemaphoreSignalParams": "hipGetDevicePropertiesR0600",
    "hipExternalSemaphoreWaitParams": "hipGetDevicePropertiesR0600",
}

#: Version → symbols that it added, by which it is identified here.
SIGNS = {
    "5.2": [],
    "5.3": ["hipUserObjectCreate"],
    "5.5": ["hipGraphAddMemAllocNode"],
    "6.0": ["hipGetDevicePropertiesR0600"],
    "7.0": ["hipLaunchKernelExC"],
}

#: By version, from AMD's headers of it: Kernel and MemcpyFromSymbol of hipGraphNodeType, Host of
#: hipMemoryType, hipIpcMemLazyEnablePeerAccess, sizes of HIP_MEMCPY3D and of
#: hipExternalSemaphoreWaitParams. The last two are offsets: of the location in
#: hipMemAllocationProp, and of the width in HIP_MEMSET_NODE_PARAMS.
MEANT = {
    "5.2": [1, 10, 0, 0, 128, 136, 4, 24],
    "5.3": [0, 10, 0, 0, 128, 136, 8, 24],
    "5.5": [0, 12, 0, 0, 128, 136, 8, 24],
    "6.0": [0, 12, 1, 1, 184, 144, 8, 24],
    "7.0": [0, 12, 1, 1, 184, 144, 8, 40],
}

PRINTED = """
import os
os.environ["ENTREPOT_HIP_LIBRARY"] = "{library}"
from entrepot import hip
print(hip.hipGraphNodeType.hipGraphNodeTypeKernel.value)
print(hip.hipGraphNodeType.hipGraphNodeTypeMemcpyFromSymbol.value)
print(hip.hipMemoryType.hipMemoryTypeHost.value, hip.hipIpcMemLazyEnablePeerAccess)
print(hip.HIP_MEMCPY3D.c_sizeof(), hip.hipExternalSemaphoreWaitParams.c_sizeof())
print(vars(hip.hipMemAllocationProp)["location"].offset)
print(vars(hip.HIP_MEMSET_NODE_PARAMS)["width"].offset)
"""


@pytest.mark.parametrize("version", SIGNS)
def test_stand_in_of_each_version_selects_meanings(tmp_path, version):
    """A stand-in with the symbols of the version and of all earlier ones."""
    signs = [each for earlier, names in SIGNS.items() if earlier <= version for each in names]
    (tmp_path / "hip.c").write_text(
        "".join(f"void {each}(void) {{}}\n" for each in ["hipInit", *signs])
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "libhip.so", tmp_path / "hip.c"], check=True
    )
    assert [
        int(each) for each in run(PRINTED.format(library=tmp_path / "libhip.so")).split()
    ] == MEANT[version]


def test_memset_nodes_get_the_librarys_layout(tmp_path):
    """Version 7.0 used hipMemsetParams for them. HIP 6's struct has another layout, which its
    library gets."""
    source = "#include <stdint.h>\nint hipGetDevicePropertiesR0600(void) { return 0; }\n"
    source += "int hipDrvGraphAddMemsetNode(void **node, void *graph, const void *on, "
    source += "uint64_t count, const uint64_t *params,"
    source += " void *context) { *node = (void *)params[3]; return 0; }\n"
    (tmp_path / "hip.c").write_text(source)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "libhip.so", tmp_path / "hip.c"], check=True
    )
    assert (
        run(f"""
        import os
        os.environ["ENTREPOT_HIP_LIBRARY"] = "{tmp_path}/libhip.so"
        from entrepot import hip
        params = hip.HIP_MEMSET_NODE_PARAMS(width=77)
        status, node = hip.hipDrvGraphAddMemsetNode(None, None, 0, params, None)
        print(status.name, int(node))
    """)
        == "hipSuccess 77"
    )


@pytest.mark.hip_library
def test_library_selects_struct_versions():
    is_later = hip._library.has("hipGetDevicePropertiesR0600")  # type: ignore[attr-defined] # not in the stub
    assert hip.hipDeviceProp_t is (
        hip.hipDeviceProp_tR0600 if is_later else hip.hipDeviceProp_tR0000
    )
    assert hip.hipMemoryType.hipMemoryTypeHost == (1 if is_later else 0)
    assert hip.hipPointerAttribute_t().type == 0
    assert isinstance(hip.hipPointerAttribute_t().type, hip.hipMemoryType)


@pytest.mark.hip_library
@pytest.mark.parametrize("name", LAID_OUT_ANEW)
def test_structs_by_the_library(name):
    is_later = hip._library.has(LAID_OUT_ANEW[name])  # type: ignore[attr-defined] # not in the stub
    record = getattr(hip, name)
    assert record.__name__.endswith("R0000") != is_later
    if name.endswith("Params"):
        assert getattr(hip, f"{name}_st") is record


@pytest.mark.parametrize("name", LAID_OUT_ANEW)
def test_structs_of_hip_5_match_its_headers(tmp_path, name):
    """Debian's headers are those of 5.2."""
    headers = Path("/usr/include/hip")
    if (
        not (headers / "hip_version.h").exists()
        or "HIP_VERSION_MAJOR 5" not in (headers / "hip_version.h").read_text()
    ):
        pytest.skip("HIP 5's headers are not here: apt-get install libamdhip64-dev")
    record = getattr(hip, f"{name}R0000")
    places = "".join(f'printf("%zu ", offsetof({name}, {field}));' for field in record.PROPERTIES())
    program = tmp_path / "layout.c"
    program.write_text(
        f"#include <hip/hip_runtime_api.h>\n#include <stddef.h>\n#include <stdio.h>\n"
        f'int main(void) {{ {places} printf("%zu", sizeof({name})); return 0; }}\n'
    )
    subprocess.run(
        ["cc", "-w", "-D__HIP_PLATFORM_AMD__", "-o", tmp_path / "layout", program], check=True
    )
    found = output_of([tmp_path / "layout"]).split()
    expected = [vars(record)[field].offset for field in record.PROPERTIES()]
    assert [int(each) for each in found] == [*expected, record.c_sizeof()]


def test_layouts_without_a_library_match_the_headers():
    assert (
        run("""
        import os
        os.environ["ENTREPOT_HIP_LIBRARY"] = "/no/such/library"
        from entrepot import LibraryError, hip
        print(
            hip.hipMemoryType.hipMemoryTypeHost.value,
            hip.hipDeviceProp_t().c_sizeof() == hip.hipDeviceProp_tR0600.c_sizeof(),
        )
        try:
            hip.hipInit(0)
        except LibraryError as error:
            print("ENTREPOT_HIP_LIBRARY" in str(error))
    """)
        == "1 True\nTrue"
    )


def test_stand_in_for_hip_6_uses_its_layouts(tmp_path):
    """A stand-in with the later symbol uses the later struct and enum."""
    source = tmp_path / "hip.c"
    source.write_text(
        "int hipGetDevicePropertiesR0600(char *prop, int device) { prop[0] = 'x'; return 0; }\n"
        "int hipPointerGetAttributes(int *attributes, const void *p) { attributes[0] = 2; return "
        "0; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libhip.so", source], check=True)
    assert (
        run(f"""
        import os
        os.environ["ENTREPOT_HIP_LIBRARY"] = "{tmp_path}/libhip.so"
        from entrepot import hip
        status, properties = hip.hipGetDeviceProperties(0)
        print(status.name, properties.name, properties.c_sizeof())
        print(hip.hipPointerGetAttributes(None)[1].type.name)
    """)
        == "hipSuccess b'x' 1472\nhipMemoryTypeDevice"
    )


def test_import_loads_no_library():
    assert (
        run("""
        import entrepot.hip, entrepot.hiprtc
        print(any("amdhip" in line or "hiprtc" in line for line in open("/proc/self/maps")))
    """)
        == "False"
    )


def test_names_of_the_module():
    assert "hipMalloc" in hip.__all__  # type: ignore[attr-defined] # not in the stub
    assert "hipError_t" in dir(hip)
    assert hip.hipError_t.hipSuccess == 0
    with pytest.raises(AttributeError, match="no attribute 'hipNothing'"):
        _ = hip.hipNothing  # type: ignore[attr-defined]
    assert hip.hipStream_t is hip.ihipStream_t
    assert hip.HIP_VERSION_MAJOR == 7
    assert list(hip.dim3()) == [1, 1, 1]


@pytest.mark.hip_python
def test_modules_are_smaller_than_hip_python():
    """The modules with their stubs, against the extensions alone."""
    import rocm.bindings.hip

    own, peer = Path(hip.__file__).parent, Path(rocm.bindings.hip.__file__).parent
    ours = sum(file.stat().st_size for file in [*own.glob("*.py*"), *own.parent.glob("hiprtc.py*")])
    assert 5 * ours < sum(file.stat().st_size for file in peer.glob("hip*.so"))
