"""hipRTC's linker on a stand-in that records its arguments: statuses, and options by keyword
like in HIP Python."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.processes import output_of

STAND_IN = """
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static unsigned count;
static int keys[32];
static void *values[32];
int hiprtcLinkCreate(unsigned number, int *options, void **given, void **linker) {
    static int made;
    count = number;
    for (unsigned i = 0; i < number; ++i) {
        keys[i] = options[i];
        values[i] = given[i];
    }
    *linker = &made;
    return 0;
}
int hiprtcLinkComplete(void *linker, void **binary, size_t *bytes) {
    for (unsigned i = 0; i < count; ++i)
        if (keys[i] == 10000) /* hipJitOptionIRtoISAOptExt */
            printf("%d %s %s\\n", keys[i], ((char **)values[i])[0], ((char **)values[i])[1]);
        else if (keys[i] == 3) /* hipJitOptionInfoLogBuffer */
            strcpy(values[i], "logged");
        else
            printf("%d %lld\\n", keys[i], (long long)values[i]);
    fflush(stdout);
    *binary = 0;
    *bytes = 0;
    return 100 + (count == 0 ? 900 : 0);
}
int hiprtcLinkDestroy(void *linker) { return 0; }
int hiprtcVersion(int *major, int *minor) { *major = 7; *minor = 1; return 0; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("linker")
    (folder / "linker.c").write_text(STAND_IN)
    library = folder / "libhiprtc.so.7"
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", library, folder / "linker.c"], check=True)
    return library


def run(library: Path, program: str) -> list[str]:
    head = (
        "import os\n"
        f"os.environ['ENTREPOT_HIPRTC_LIBRARY'] = {str(library)!r}\n"
        "from entrepot import hip, hiprtc\n"
    )
    return output_of(
        [sys.executable, "-c", head + textwrap.dedent(program)], timeout=60
    ).splitlines()


# The function of HIP Python's examples.
HIP_CHECK = """
def hip_check(call_result):
    err, result = call_result[0], call_result[1:]
    if len(result) == 1:
        result = result[0]
    if isinstance(err, hiprtc.hiprtcResult) and err != hiprtc.hiprtcResult.HIPRTC_SUCCESS:
        raise RuntimeError(err.name)
    return result
"""


@pytest.mark.parametrize(
    ("options", "name"), [("hipJitOptionLto=1", "HIPRTC_ERROR_LINKING"), ("", "UNKNOWN_1000")]
)
def test_failed_link_does_not_pass_for_success(library, options, name):
    program = HIP_CHECK + textwrap.dedent(
        f"""
        linker = hip_check(hiprtc.ext.hiprtcLinkCreate2({options}))
        for check in (hip_check, hip.hip_check):
            try:
                hiprtc_said = check(hiprtc.hiprtcLinkComplete(linker))
            except (RuntimeError, hip.HipError) as error:
                print(str(error).split()[0].rstrip(";"))
        """
    )
    said = [line for line in run(library, program) if not line[0].isdigit()]
    assert said == [name, name]


def test_options_by_keyword_reach_the_linker(library):
    program = """
        import gc
        log = bytearray(16)
        status, linker = hiprtc.ext.hiprtcLinkCreate2(
            hipJitOptionMaxRegisters=2**32 - 1,
            HIPRTC_JIT_LTO=-1,
            hipJitOptionInfoLogBufferSizeBytes=16,
            hipJitOptionInfoLogBuffer=log,
            HIPRTC_JIT_FAST_COMPILE=True,
            hipJitOptionIRtoISAOptExt=[b"-O3", b"-fast"],
            HIPRTC_JIT_IR_TO_ISA_OPT_COUNT_EXT=2,
        )
        gc.collect()
        filler = [bytes(range(64)) * n for n in range(100)]  # where the lists would have been freed
        assert status == hiprtc.hiprtcResult.HIPRTC_SUCCESS
        hiprtc.hiprtcLinkComplete(linker)
        print(log.rstrip(bytes(1)).decode())
        for name in (
            "MaxRegisters",
            "Lto",
            "InfoLogBufferSizeBytes",
            "FastCompile",
            "IRtoISAOptExt",
            "IRtoISAOptCountExt",
        ):
            print(int(hiprtc.hipJitOption["hipJitOption" + name]), end=" ")
    """
    *said, log, numbers = run(library, program)
    values = ["4294967295", "-1", "16", "1", "-O3 -fast", "2"]
    assert said == [
        f"{number} {value}" for number, value in zip(numbers.split(), values, strict=True)
    ]
    assert log == "logged"


def test_options_unpack_into_hiprtclinkcreate(library):
    program = """
        options = hiprtc.ext.HiprtcLinkCreateOpts(hipJitOptionLto=1, hipJitOptionFtz=0)
        assert len(options) == 3 and options[0] == 2
        assert list(options)[1:] == [options.keys, options.values]
        kinds = hiprtc.hipJitOption
        assert options.keys == [kinds.hipJitOptionLto, kinds.hipJitOptionFtz]
        print(int(hiprtc.hiprtcLinkCreate(*options)[0]), list(hiprtc.ext.HiprtcLinkCreateOpts()))
    """
    assert run(library, program) == ["0 [0, None, None]"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"hipJitOptionLtoo": 1},
            KeyError,
            "'hipJitOptionLtoo' is not an option .*: use a member of hipJitOption",
        ),
        ({"hipJitOptionNumOptions": 1}, KeyError, "'hipJitOptionNumOptions' is not an option"),
        ({"hipJitOptionLto": 2**31}, OverflowError, "hipJitOptionLto: 2147483648 is not in"),
        ({"hipJitOptionMaxRegisters": -1}, OverflowError, "-1 is not in"),
        ({"hipJitOptionLto": "1"}, TypeError, "hipJitOptionLto: an int was expected, not a str"),
        ({"hipJitOptionIRtoISAOptExt": 1.5}, TypeError, "float"),
    ],
)
def test_wrong_options_are_refused_by_name(options, error, words):
    from entrepot import hiprtc

    with pytest.raises(error, match=words):
        hiprtc.ext.HiprtcLinkCreateOpts(**options)


def test_options_of_header_all_have_a_keyword():
    from entrepot import _hiprtc_ext, hiprtc

    named = {member for member, _ in _hiprtc_ext._BY_NAME.values()}
    assert named == {member.name for member in hiprtc.hipJitOption} - {"hipJitOptionNumOptions"}


@pytest.mark.parametrize("name", ["ext", "hiprtcLinkCreate"])
def test_names_of_the_module_are_listed(name):
    from entrepot import hiprtc

    assert name in hiprtc.__all__ and name in dir(hiprtc)  # type: ignore[attr-defined] # not in the stub
