"""Types of short vectors, with the names of OpenCL (``float4``) and numba.cuda (``float32x4``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .._core import Dtype

if TYPE_CHECKING:

    class VectorDtype(Dtype):
        """A Dtype, which makes a vector inside a kernel."""

        def __call__(self, *values: Any) -> Any: ...


def _vectors(name: str) -> tuple[VectorDtype, VectorDtype, VectorDtype]:
    """The vectors of two, three and four numbers."""
    two, three, four = (cast("VectorDtype", Dtype(f"{name}x{count}")) for count in (2, 3, 4))
    return two, three, four


int8x2, int8x3, int8x4 = _vectors("int8")
uint8x2, uint8x3, uint8x4 = _vectors("uint8")
int16x2, int16x3, int16x4 = _vectors("int16")
uint16x2, uint16x3, uint16x4 = _vectors("uint16")
int32x2, int32x3, int32x4 = _vectors("int32")
uint32x2, uint32x3, uint32x4 = _vectors("uint32")
int64x2, int64x3, int64x4 = _vectors("int64")
uint64x2, uint64x3, uint64x4 = _vectors("uint64")
float16x2, float16x3, float16x4 = _vectors("float16")
float32x2, float32x3, float32x4 = _vectors("float32")
float64x2, float64x3, float64x4 = _vectors("float64")

# long has 64 bits, as in OpenCL.
char2, char3, char4 = int8x2, int8x3, int8x4
uchar2, uchar3, uchar4 = uint8x2, uint8x3, uint8x4
short2, short3, short4 = int16x2, int16x3, int16x4
ushort2, ushort3, ushort4 = uint16x2, uint16x3, uint16x4
int2, int3, int4 = int32x2, int32x3, int32x4
uint2, uint3, uint4 = uint32x2, uint32x3, uint32x4
long2, long3, long4 = int64x2, int64x3, int64x4
ulong2, ulong3, ulong4 = uint64x2, uint64x3, uint64x4
half2, half3, half4 = float16x2, float16x3, float16x4
float2, float3, float4 = float32x2, float32x3, float32x4
double2, double3, double4 = float64x2, float64x3, float64x4
