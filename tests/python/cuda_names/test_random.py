"""``cuda.random``: the states and numbers are those of Numba."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.numba_cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_state,
    init_xoroshiro128p_states_cpu,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from support.processes import output_of

pytestmark = pytest.mark.numpy

BITS = (1 << 64) - 1


@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    if i < states.shape[0]:
        out[i, 0] = xoroshiro128p_uniform_float32(states, i)
        out[i, 1] = xoroshiro128p_uniform_float64(states, i)
        out[i, 2] = xoroshiro128p_normal_float32(states, i)
        out[i, 3] = xoroshiro128p_normal_float64(states, i)


@cuda.jit
def integers(states, out):
    for k in range(out.shape[0]):
        out[k] = xoroshiro128p_next(states, 0)


def test_generator_follows_the_published_recurrence(runner):
    states = np.array([(1, 2)], xoroshiro128p_dtype)
    _, out = runner.run(integers, 1, 1, states, np.zeros(6, "u8"))
    s0, s1, expected = 1, 2, []
    for _ in range(6):
        expected.append((s0 + s1) & BITS)
        mixed = s0 ^ s1
        rotated = ((s0 << 55) | (s0 >> 9)) & BITS
        s0, s1 = rotated ^ mixed ^ ((mixed << 14) & BITS), ((mixed << 36) | (mixed >> 28)) & BITS
    assert out.tolist() == expected


@cuda.jit
def jump(states):
    i = cuda.grid(1)
    init_xoroshiro128p_state(states, i, 42)
    for _ in range(i):
        xoroshiro128p_jump(states, i)


def test_states_are_separated_by_jumps(runner):
    (on_device,) = runner.run(jump, 1, 3, np.zeros(3, xoroshiro128p_dtype))
    on_host = np.zeros(3, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(on_host, 42)
    assert (on_device == on_host).all()
    later = create_xoroshiro128p_states(2, 42, subsequence_start=1).copy_to_host()
    assert (later == on_host[1:]).all()


def test_numbers_have_their_distributions(runner):
    states = create_xoroshiro128p_states(400, seed=7)
    out = cuda.to_device(np.zeros((400, 4)))
    runner.launch(draw, 4, 128, states, out)
    values = out.copy_to_host()
    assert (values[:, :2] >= 0).all()
    assert (values[:, :2] <= 1).all()
    assert abs(values[:, :2].mean() - 0.5) < 0.05
    assert abs(values[:, 2:].mean()) < 0.15
    assert abs(values[:, 2:].std() - 1) < 0.15


@cuda.jit
def estimate_pi(states, rounds, out):
    i = cuda.grid(1)
    inside = 0
    for _ in range(rounds):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1.0:
            inside += 1
    out[i] = 4.0 * inside / rounds


def test_monte_carlo_estimate_of_pi_is_close(runner):
    threads = 64
    states = create_xoroshiro128p_states(threads, seed=1)
    out = cuda.to_device(np.zeros(threads, "f4"))
    runner.launch(estimate_pi, 2, threads // 2, states, 100, out)
    assert abs(out.copy_to_host().mean() - math.pi) < 0.05


@pytest.mark.numba
def test_numbers_are_those_of_numba(device):
    pytest.importorskip("numba.cuda")
    script = Path(__file__).with_name("numba_random.py")
    said = json.loads(
        output_of([sys.executable, script], env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"})
    )
    states = create_xoroshiro128p_states(5, seed=123, subsequence_start=2)
    assert [list(map(int, each)) for each in states.copy_to_host()] == said["states"]
    out = cuda.to_device(np.zeros((5, 4)))
    draw[1, 5](states, out)
    values = out.copy_to_host()
    assert values[:, :2].tolist() == [each[:2] for each in said["numbers"]]
    np.testing.assert_allclose(values[:, 2:], [each[2:] for each in said["numbers"]], rtol=1e-5)
