"""Functions whose C is not what its documentation, or a rule, makes of it: how their parameters are passed."""

from __future__ import annotations

import pytest

from entrepot import hip

GRAPH_COPIES = [
    f"hipGraph{verb}{what}"
    for what in ("1D", "FromSymbol")
    for verb in ("AddMemcpyNode", "MemcpyNodeSetParams", "ExecMemcpyNodeSetParams")
]
TO_ARRAYS = ["hipMemcpy2DToArray", "hipMemcpy2DToArrayAsync", "hipMemcpy2DArrayToArray", "hipMemcpyToArray"]


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
        *((name, "dst", "Out[Pointer]") for name in [*GRAPH_COPIES, "hipMemcpy", "hipMemcpyFromArray"]),
        *((name, "dst", "hipArray_t") for name in TO_ARRAYS),
    ],
)
def test_parameters_are_passed_as_c_has_them(function, parameter, passed):
    assert getattr(hip, function).declaration.__annotations__[parameter] == passed
