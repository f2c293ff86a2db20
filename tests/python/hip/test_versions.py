"""What HIP 5 and 6 have by one name and not alike: decided by the library that is there."""

from __future__ import annotations

import pytest

from entrepot import hip
from robustness.processes import run


@pytest.mark.hip_library
def test_by_the_library():
    is_later = hip._library.has("hipGetDevicePropertiesR0600")
    assert hip.hipDeviceProp_t is (hip.hipDeviceProp_tR0600 if is_later else hip.hipDeviceProp_tR0000)
    assert hip.hipMemoryType.hipMemoryTypeHost == (1 if is_later else 0)
    assert hip.hipPointerAttribute_t().type == 0
    assert isinstance(hip.hipPointerAttribute_t().type, hip.hipMemoryType)


def test_without_a_library_as_the_headers_have_it():
    assert (
        run("""
        import os
        os.environ["ENTREPOT_HIP_LIBRARY"] = "/no/such/library"
        from entrepot import LibraryError, hip
        print(hip.hipMemoryType.hipMemoryTypeHost.value, hip.hipDeviceProp_t().c_sizeof() == hip.hipDeviceProp_tR0600.c_sizeof())
        try:
            hip.hipInit(0)
        except LibraryError as error:
            print("ENTREPOT_HIP_LIBRARY" in str(error))
    """)
        == "1 True\nTrue"
    )


def test_a_library_that_answers_as_hip_6_does(tmp_path):
    """A stand-in with the later symbol: the later struct and enum."""
    import subprocess

    source = tmp_path / "hip.c"
    source.write_text(
        "int hipGetDevicePropertiesR0600(char *prop, int device) { prop[0] = 'x'; return 0; }\n"
        "int hipPointerGetAttributes(int *attributes, const void *p) { attributes[0] = 2; return 0; }\n"
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


def test_nothing_is_loaded_by_the_import():
    assert (
        run("""
        import entrepot.hip, entrepot.hiprtc
        print(any("amdhip" in line or "hiprtc" in line for line in open("/proc/self/maps")))
    """)
        == "False"
    )


def test_names_of_the_module():
    assert "hipMalloc" in hip.__all__
    assert "hipError_t" in dir(hip)
    assert hip.hipError_t.hipSuccess == 0
    with pytest.raises(AttributeError, match="no attribute 'hipNothing'"):
        _ = hip.hipNothing
    assert hip.hipStream_t is hip.ihipStream_t
    assert hip.HIP_VERSION_MAJOR == 7
    assert list(hip.dim3()) == [1, 1, 1]


@pytest.mark.hip_python
def test_the_files_are_a_fifth_of_hip_pythons():
    """Our modules with their stubs, against the extensions alone."""
    from pathlib import Path

    import rocm.bindings.hip

    own, peer = Path(hip.__file__).parent, Path(rocm.bindings.hip.__file__).parent
    ours = sum(file.stat().st_size for file in [*own.glob("*.py*"), *own.parent.glob("hiprtc.py*")])
    assert 5 * ours < sum(file.stat().st_size for file in peer.glob("hip*.so"))
