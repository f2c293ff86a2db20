"""Random numbers by xoroshiro128+, with the numbers of ``numba.cuda.random``.

Each thread has a state of its own in an array of records. The first state is made from the seed by
splitmix64, and each following one is 2**64 steps further in the sequence. Blackman and Vigna
published the algorithms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernel.functions import func
from ..kernel.language import float32, float64, uint64
from .arrays import DeviceNDArray, device_array
from .errors import refusing

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = xoroshiro128p_dtype

_BITS = (1 << 64) - 1
#: Polynomial of the jump by 2**64 steps.
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)


@func
def rotl(x, k):  # type: ignore[no-untyped-def]
    """Rotates the bits left."""
    return (uint64(x) << uint64(k)) | (uint64(x) >> uint64(64 - k))


@func
def xoroshiro128p_next(states, index):  # type: ignore[no-untyped-def]
    """The next uint64 of ``states[index]``, which advances."""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    mixed = s1 ^ s0
    states[index]["s0"] = rotl(s0, 55) ^ mixed ^ (mixed << uint64(14))
    states[index]["s1"] = rotl(mixed, 36)
    return s0 + s1


@func
def xoroshiro128p_jump(states, index):  # type: ignore[no-untyped-def]
    """Advances ``states[index]`` by 2**64 steps."""
    s0 = uint64(0)
    s1 = uint64(0)
    for word in range(2):
        jump = uint64(0xBEAC0467EBA5FACB) if word == 0 else uint64(0xD86B048B86AA9922)
        for bit in range(64):
            if (jump >> uint64(bit)) & uint64(1) != 0:
                s0 ^= states[index]["s0"]
                s1 ^= states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@func
def init_xoroshiro128p_state(states, index, seed):  # type: ignore[no-untyped-def]
    """Makes ``states[index]`` from a seed, by splitmix64."""
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint64(31))
    states[index]["s0"] = z
    states[index]["s1"] = z


@func
def uint64_to_unit_float64(x):  # type: ignore[no-untyped-def]
    """A float64 from 0 up to 1, of the upper 53 bits."""
    return float64(uint64(x) >> uint64(11)) * (1.0 / 9007199254740992.0)


@func
def uint64_to_unit_float32(x):  # type: ignore[no-untyped-def]
    """A float32 from 0 to 1, rounded from the float64."""
    return float32(uint64_to_unit_float64(x))


@func
def xoroshiro128p_uniform_float32(states, index):  # type: ignore[no-untyped-def]
    """A float32 from 0 up to 1, and the state advances by one step."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


@func
def xoroshiro128p_uniform_float64(states, index):  # type: ignore[no-untyped-def]
    """A float64 from 0 up to 1, and the state advances by one step."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


@func
def xoroshiro128p_normal_float32(states, index):  # type: ignore[no-untyped-def]
    """A float32 of the normal distribution, by Box and Muller; two steps."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u1)) * math.cos(float32(2 * math.pi) * u2)


@func
def xoroshiro128p_normal_float64(states, index):  # type: ignore[no-untyped-def]
    """A float64 of the normal distribution, by Box and Muller; two steps.

    Its uniform numbers are float32, as numba.cuda's are.
    """
    u1 = float64(xoroshiro128p_uniform_float32(states, index))
    u2 = float64(xoroshiro128p_uniform_float32(states, index))
    return math.sqrt(-2.0 * math.log(u1)) * math.cos(float64(2 * math.pi) * u2)


def _first(seed: int) -> tuple[int, int]:
    z = (seed + 0x9E3779B97F4A7C15) & _BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _BITS
    z ^= z >> 31
    return z, z


def _rotated(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & _BITS


def _stepped(state: tuple[int, int]) -> tuple[int, int]:
    mixed = state[0] ^ state[1]
    return _rotated(state[0], 55) ^ mixed ^ ((mixed << 14) & _BITS), _rotated(mixed, 36)


_known_jump: list[np.ndarray[Any, Any]] = []


def _jump() -> np.ndarray[Any, Any]:
    """The jump is linear over bits: the states to which it takes each single bit."""
    if _known_jump:
        return _known_jump[0]
    columns = np.zeros((128, 2), np.uint64)
    for place in range(128):
        state = (1 << place, 0) if place < 64 else (0, 1 << (place - 64))
        s0 = s1 = 0
        for word in _JUMP:
            for bit in range(64):
                if word >> bit & 1:
                    s0, s1 = s0 ^ state[0], s1 ^ state[1]
                state = _stepped(state)
        columns[place] = s0, s1
    _known_jump.append(columns)
    return columns


def _applied(columns: np.ndarray[Any, Any], states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The states to which a linear function takes ``states``, byte by byte from a table."""
    result = np.zeros_like(states)
    for byte in range(16):
        table = np.zeros((256, 2), np.uint64)
        for bit in range(8):
            table[(np.arange(256) >> bit & 1).astype(bool)] ^= columns[8 * byte + bit]
        result ^= table[states[:, byte // 8] >> np.uint64(8 * (byte % 8)) & np.uint64(0xFF)]
    return result


def init_xoroshiro128p_states_cpu(states: Any, seed: int, subsequence_start: int = 0) -> None:
    """Fill a NumPy array of states, each 2**64 steps after the one before.

    Parameters
    ----------
    states : numpy.ndarray
        The array, of ``xoroshiro128p_dtype``.
    seed : int
        The seed.
    subsequence_start : int, optional
        The number of jumps to the first state. The default is 0.
    """
    if states.shape[0] < 1:
        return
    jump = _jump()
    made = np.array([_first(int(seed) & _BITS)], np.uint64)
    power, rest = jump, int(subsequence_start)
    while rest:
        if rest & 1:
            made = _applied(power, made)
        power, rest = _applied(power, power), rest >> 1
    # The jump of as many steps as there are states doubles their number.
    power = jump
    while len(made) < states.shape[0]:
        made = np.concatenate([made, _applied(power, made)])
        power = _applied(power, power)
    states["s0"], states["s1"] = made[: states.shape[0], 0], made[: states.shape[0], 1]


def init_xoroshiro128p_states(
    states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Fill an array of states on a device, each 2**64 steps after the one before."""
    made = np.empty(states.shape, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(made, seed, subsequence_start)
    states.copy_to_device(made, stream)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> DeviceNDArray:
    """Make the states of ``n`` generators on the current device.

    Parameters
    ----------
    n : int
        The number of generators.
    seed : int
        The seed.
    subsequence_start : int, optional
        The number of jumps of 2**64 steps to the first state. The default is 0.
    stream : Stream or 0, optional
        The stream of the copy to the device.

    Returns
    -------
    DeviceNDArray
        The states, for the functions of this module in kernels.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> from entrepot.numba_cuda import random
    >>> @cuda.jit
    ... def draw(states, out):
    ...     i = cuda.grid(1)
    ...     out[i] = random.xoroshiro128p_uniform_float32(states, i)
    >>> out = np.zeros(4, "float32")
    >>> draw[1, 4](random.create_xoroshiro128p_states(4, seed=1), out)
    >>> bool((0 <= out).all() and (out < 1).all())
    True
    """
    states = device_array(n, xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


__getattr__ = refusing("random")
