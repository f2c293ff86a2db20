"""The generated modules: functions whose C differs from the documentation or a rule, and the
files' text."""

from __future__ import annotations

from pathlib import Path

import pytest

from entrepot import hip

ROOT = Path(__file__).resolve().parents[3]

GRAPH_COPIES = [
    f"hipGraph{verb}{what}"
    for what in ("1D", "FromSymbol")
    for verb in ("AddMemcpyNode", "MemcpyNodeSetParams", "ExecMemcpyNodeSetParams")
]
TO_ARRAYS = [
    "hipMemcpy2DToArray",
    "hipMemcpy2DToArrayAsync",
    "hipMemcpy2DArrayToArray",
    "hipMemcpyToArray",
]


@pytest.mark.parametrize(
    ("function", "parameter", "passed"),
    [
        ("hipLaunchKernel_spt", "args", "In[ListOfPointer]"),
        ("hipLaunchCooperativeKernel_spt", "kernelParams", "In[ListOfPointer]"),
        ("hipMipmappedArrayDestroy", "hMipmappedArray", "InOut[hipMipmappedArray]"),
        ("hipMipmappedArrayGetLevel", "pLevelArray", "Returned[hipArray_t]"),
        ("hipMipmappedArrayGetLevel", "hMipMappedArray", "InOut[hipMipmappedArray]"),
        ("hipDrvLaunchKernelEx", "extra", "In[HipModuleLaunchKernel_extra]"),
        ("hipMemcpyBatchAsync", "failIdx", "Returned[c_size_t]"),
        ("hipMemcpy3DBatchAsync", "failIdx", "Returned[c_size_t]"),
        ("hipTexRefGetArray", "pArray", "Returned[hipArray_t]"),
        ("hipTexRefGetBorderColor", "pBorderColor", "Returned[c_float * 4]"),
        *(
            (name, "dst", "Out[Pointer](bytes='count')")
            for name in [*GRAPH_COPIES, "hipMemcpyFromArray"]
        ),
        ("hipMemcpy", "dst", "Out[Pointer](bytes='sizeBytes')"),
        ("hipMemcpy2D", "dst", "Out[Pointer]"),
        ("hipMemsetD32Async", "dst", "Out[Pointer](bytes='4 * count')"),
        ("hipGraphAddKernelNode", "pDependencies", "In[ListOfPointer](count='numDependencies')"),
        ("hipGraphGetEdges", "from_", "Out[ListOfPointer](count='numEdges')"),
        ("hipMemcpyBatchAsync", "attrs", "In[hipMemcpyAttributes](count='numAttrs')"),
        (
            "hipStreamBeginCaptureToGraph",
            "dependencyData",
            "In[hipGraphEdgeData]",
        ),  # there need be none
        *((name, "dst", "hipArray_t") for name in TO_ARRAYS),
    ],
)
def test_parameters_match_c(function, parameter, passed):
    assert getattr(hip, function).declaration.__annotations__[parameter] == passed


@pytest.mark.parametrize(
    "path",
    [
        "python/entrepot/hip/__init__.py",
        "python/entrepot/hiprtc.py",
        "python/entrepot/hiprand.py",
        "python/entrepot/hipsparse.py",
    ],
)
def test_committed_docstrings_have_no_markup(path):
    for suffix in ("", "i"):
        lines = (ROOT / (path + suffix)).read_text().splitlines()
        assert [line for line in lines if len(line) > 120] == []
        assert [
            line
            for line in lines
            if line.strip().removeprefix('"""').startswith(("@ ", "@{", "@}", "----"))
        ] == []
