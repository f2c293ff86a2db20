"""Every function of HIP and hipRTC, called once here and once through HIP Python, on AMD's library
without a device.

The tables below list the differences by name. Any other difference fails, and so does a stale row.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
from pathlib import Path

import pytest

from entrepot import hip
from support.processes import output_of

ROOT = Path(__file__).resolve().parents[3]

LIBRARIES = {"entrepot.hip": "rocm.bindings.hip", "entrepot.hiprtc": "rocm.bindings.hiprtc"}

# Functions with other arguments in HIP Python, with the reason; each is called there with its own.
OTHER_ARGUMENTS = {
    "an array whose length is another argument is one result to it, and C writes any number of "
    "them there": (
        "hipDrvPointerGetAttributes hipGraphGetEdges hipGraphGetNodes hipGraphGetRootNodes "
        "hipGraphInstantiate "
        "hipGraphNodeGetDependencies hipGraphNodeGetDependentNodes hipLaunchCooperativeKernel_spt "
        "hipLaunchKernel_spt "
        "hipLibraryLoadData hipLibraryLoadFromFile hipLinkAddData hipLinkAddFile hipLinkCreate "
        "hipMemRangeGetAttributes "
        "hipMemcpyBatchAsync hipModuleLoadDataEx hipSetValidDevices hipTexRefSetBorderColor"
    ),
    "what C reads is a result to it": (
        "hipDrvGraphMemcpyNodeSetParams hipGraphKernelNodeCopyAttributes hipMipmappedArrayDestroy "
        "hipThreadExchangeStreamCaptureMode"
    ),
    "what C writes is the caller's to bring there": (
        "hipGraphExecUpdate hipStreamGetAttribute hipStreamGetCaptureInfo_v2 "
        "hipStreamGetCaptureInfo_v2_spt hipTexRefGetArray"
    ),
}

# Functions of the library for which HIP Python raises instead of returning our status.
DIFFERENT = {
    # HIP Python makes an enum of a value that neither side has set: ValueError, unless it happens
    # to be valid.
    "ValueError": (
        "hipCtxGetCacheConfig hipCtxGetSharedMemConfig hipDeviceGetCacheConfig "
        "hipDeviceGetSharedMemConfig "
        "hipDrvPointerGetAttributes hipGraphExecUpdate hipMemPoolGetAccess "
        "hipMemRangeGetAttributes hipModuleLoadDataEx "
        "hipStreamGetCaptureInfo hipStreamGetCaptureInfo_v2 hipTexRefGetAddressMode "
        "hipThreadExchangeStreamCaptureMode"
    ),
    # HIP Python calls HIP 5's functions by HIP 6's names only.
    "RuntimeError: failed to dlsym": "hipChooseDevice hipGetDeviceProperties",
    # HIP Python calls a class method that its class lacks.
    "AttributeError": "hipGetChannelDesc hipGraphKernelNodeCopyAttributes",
}

# HIP 5's variants of functions whose structs have another layout since HIP 6.
OURS_ALONE = {"hipChooseDeviceR0000", "hipGetDevicePropertiesR0000"}

# Functions that crash on NULL in HIP 5.2.
CRASHES = {
    "entrepot.hip": {"hipKernelNameRef"},
    "entrepot.hiprtc": {
        "hiprtcCompileProgram",
        "hiprtcCreateProgram",
        "hiprtcGetCodeSize",
        "hiprtcGetProgramLogSize",
    },
}

# Functions of HIP Python that Entrepot lacks.
ABSENT = {
    # HIP 7.1, the source of our headers, declares these in no public header.
    "entrepot.hip": set(
        # execution contexts, and what they divide
        "hipDevResource hipDevResourceDesc_t hipDevResourceGenerateDesc hipDevResourceType "
        "hipDevResource_st "
        "hipDevResource_st_union_0 hipDevSmResource hipDevSmResourceGroupParams "
        "hipDevSmResourceGroupParams_st "
        "hipDevSmResourceGroup_flags hipDevSmResourceSplit hipDevSmResourceSplitByCount "
        "hipDevSmResourceSplitByCount_flags "
        "hipDevWorkqueueConfigResource hipDevWorkqueueConfigScope hipDevWorkqueueResource "
        "hipDeviceGetDevResource "
        "hipDeviceGetExecutionCtx hipExecutionCtxDestroy hipExecutionCtxGetDevResource "
        "hipExecutionCtxGetDevice "
        "hipExecutionCtxGetId hipExecutionCtxRecordEvent hipExecutionCtxStreamCreate "
        "hipExecutionCtxSynchronize "
        "hipExecutionCtxWaitEvent hipExecutionCtx_t hipGreenCtxCreate hipStreamGetDevResource "
        "ihipDevResourceDesc_t ihipExecutionCtx_t "
        # memory
        "hipArrayMemoryRequirements hipDrvMemDiscardAndPrefetchBatchAsync "
        "hipDrvMemDiscardBatchAsync "
        "hipExtDynDataPrefetchConfig hipExtDynDataPrefetchRegion hipExtDynDataPrefetchTemporal "
        "hipMemDiscardAndPrefetchBatchAsync hipMemDiscardBatchAsync hipMemFabricHandle_st "
        "hipMemFabricHandle_t "
        "hipMemGetDefaultMemPool hipMemGetMemPool hipMemPrefetchBatchAsync hipMemSetMemPool "
        "hipMipmappedArrayGetMemoryRequirements "
        # kernels, libraries, launches
        "hipClusterSchedulingPolicy hipGetProcAddress_spt hipKernelGetAttribute "
        "hipKernelGetFunction hipKernelGetLibrary "
        "hipKernelGetName hipKernelGetParamInfo hipKernelSetAttribute "
        "hipLaunchAttributeValue_struct_0 "
        "hipLibraryEnumerateKernels hipLibraryGetGlobal hipLibraryGetManaged "
        "hipOccupancyAvailableDynamicSMemPerBlock "
        "hipOccupancyMaxActiveClusters hipOccupancyMaxPotentialClusterSize hipStreamCopyAttributes "
        # the runtime's log
        "hipExtDisableLogging hipExtEnableLogging hipExtSetLoggingParams".split()
    ),
    "entrepot.hiprtc": set(),
}

# HIP Python's own names, and its imports.
NO_NAMES_OF_HIP = {"ctypes", "enum", "has_symbol"}


def words(table: dict[str, str]) -> dict[str, str]:
    """Name → which row it stands in."""
    return {name: row for row, names in table.items() for name in names.split()}


def calls(module: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Function → kinds of its arguments: Entrepot's, and HIP Python's by its docstring."""
    described = json.loads(
        (ROOT / f"tools/bindgen/libraries/{module.split('.')[1]}.json").read_text()
    )["functions"]
    ours, theirs = {}, {}
    for each in described:
        name = each["name"].replace("R0600", "")
        kinds = {}
        for parameter in each["parameters"]:
            type_ = parameter["type"]
            kinds[parameter["name"].replace("from", "from_")] = {
                "scalar": "number",
                "enum": type_.get("name"),
                "record": type_.get("name"),
            }.get(type_["kind"], "null")
        parameters = inspect.signature(
            getattr(importlib.import_module(module), each["name"])
        ).parameters.values()
        ours[name] = [
            kinds[parameter.name]
            for parameter in parameters
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        head = (
            re.match(r"\w+\((.*)\)", getattr(_oracle(module), name, None).__doc__ or "")
            if _has(module, name)
            else None
        )
        theirs[name] = (
            [kinds[word.split()[-1]] for word in head[1].split(",") if word] if head else ours[name]
        )
    return ours, theirs


def _oracle(module: str):
    return importlib.import_module(LIBRARIES[module])


def _has(module: str, name: str) -> bool:
    return importlib.util.find_spec("rocm") is not None and hasattr(_oracle(module), name)


def outcomes(
    module: str, runtime: str, arguments: dict[str, list[str]], folder: Path
) -> dict[str, str]:
    """HIP 5 has hipRTC in the runtime itself: HIP Python asks for a library of that name, and
    finds it in the folder."""
    worker = Path(__file__).with_name("statuses.py")
    output = output_of(
        [sys.executable, worker, module, runtime],
        input=json.dumps(list(arguments.items())),
        timeout=250,
        env={
            **os.environ,
            "LD_LIBRARY_PATH": os.pathsep.join(
                filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")])
            ),
        },
    )
    return json.loads(output)


def is_missing(outcome: str) -> bool:
    return outcome.startswith(("LibraryError", "RuntimeError: failed to dlsym"))


def version() -> int:
    """Version of the runtime; 502 is HIP 5.2."""
    return hip.hipRuntimeGetVersion()[1] // 100_000


def library() -> str:
    """The path of the runtime that entrepot.hip has opened."""
    hip.hipInit(0)
    opened = [
        line.split()[-1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "/libamdhip64.so" in line
    ]
    if not opened:
        pytest.skip("the HIP library that is used here is not AMD's")
    return opened[0]


class Asked:
    """Both modules' outcomes of all calls of one library."""

    def __init__(self, module: str, folder: Path) -> None:
        self.module, self.folder = module, folder
        self.runtime = library()
        if version() < 600:
            (folder / "libhiprtc.so").symlink_to(self.runtime)
        self.calls, self._their_calls = calls(module)
        self.ours = outcomes(module, self.runtime, self.calls, folder)

    def theirs(self) -> dict[str, str]:
        return outcomes(LIBRARIES[self.module], self.runtime, self._their_calls, self.folder)

    def with_other_arguments(self) -> set[str]:
        return {
            name for name in self.calls if len(self.calls[name]) != len(self._their_calls[name])
        }


@pytest.fixture(scope="module", params=LIBRARIES)
def asked(request, tmp_path_factory):
    return Asked(request.param, tmp_path_factory.mktemp("libraries"))


@pytest.mark.hip_library
def test_calls_with_zeros_return_a_status(asked):
    """If C itself crashes on NULL, the process dies of it; Entrepot's code never crashes."""
    odd = {
        name: outcome
        for name, outcome in asked.ours.items()
        if not outcome.startswith(("status", "signal")) and not is_missing(outcome)
    }
    assert odd == {}
    crashes = {name for name, outcome in asked.ours.items() if outcome.startswith("signal")}
    if version() == 502:
        assert crashes == CRASHES[asked.module]
    statuses = sum(outcome.startswith("status") for outcome in asked.ours.values())
    assert statuses >= {"entrepot.hip": 367, "entrepot.hiprtc": 7}[asked.module]


@pytest.mark.hip_library
def test_missing_functions_are_absent_from_the_library(asked):
    opened = ctypes.CDLL(library())
    missing = {name for name, outcome in asked.ours.items() if is_missing(outcome)}
    if asked.module == "entrepot.hiprtc" and version() >= 600:
        pytest.skip("hipRTC is a library of its own")
    assert {name for name in missing if hasattr(opened, name)} == set()
    assert {name for name in asked.ours if not hasattr(opened, name)} - missing <= {
        "hipGetDeviceProperties",
        "hipChooseDevice",
    }


@pytest.mark.hip_library
@pytest.mark.hip_python
def test_statuses_match_hip_python(asked):
    theirs, excused = asked.theirs(), words(DIFFERENT)
    different, equal = {}, 0
    for name, mine in asked.ours.items():
        said = theirs[name]
        if mine == said or (is_missing(mine) and is_missing(said)):
            equal += mine == said and mine.startswith("status")
        elif name in OURS_ALONE:
            assert said.startswith("AttributeError: module")
        elif not said.startswith(excused.get(name, "no row")):
            different[name] = (mine, said)
    assert different == {}
    assert equal >= {"entrepot.hip": 351, "entrepot.hiprtc": 7}[asked.module]
    if version() == 502:
        certain = {
            name for name, said in excused.items() if said != "ValueError" and name in asked.ours
        }
        assert {name for name in certain if theirs[name] == asked.ours[name]} == set()


@pytest.mark.hip_library
@pytest.mark.hip_python
def test_differing_arguments_are_listed(asked):
    of_this = "hiprtc" if asked.module == "entrepot.hiprtc" else "hip"
    assert asked.with_other_arguments() == {
        name for name in words(OTHER_ARGUMENTS) if re.findall("^hip(?:rtc)?", name) == [of_this]
    }


@pytest.mark.hip_python
@pytest.mark.parametrize("module", LIBRARIES)
def test_missing_names_are_the_documented_ones(module):
    ours = importlib.import_module(module)
    theirs = {name for name in dir(_oracle(module)) if not name.startswith("_")} - NO_NAMES_OF_HIP
    assert len(theirs) >= {"entrepot.hip": 930, "entrepot.hiprtc": 26}[module]
    assert {name for name in theirs if not hasattr(ours, name)} == ABSENT[module]


def test_page_has_the_number_of_missing_names():
    assert f"not there: {len(ABSENT['entrepot.hip'])} names" in (ROOT / "docs/hip.md").read_text()


@pytest.mark.triton
def test_missing_names_are_absent_from_public_headers():
    """Missing from the public headers that the bindings are made from."""
    triton = importlib.util.find_spec("triton")
    assert triton and triton.origin
    include = Path(triton.origin).parent / "backends/amd/include/hip"
    for_users = [
        *include.glob("*.h"),
        include / "amd_detail/amd_hip_runtime.h",
        include / "amd_detail/host_defines.h",
    ]
    known = set(re.findall(r"\w+", "\n".join(header.read_text() for header in for_users)))
    assert "hipMalloc" in known
    assert ABSENT["entrepot.hip"] & known == set()
