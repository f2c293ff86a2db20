"""States and numbers of Numba's own generator, run by its simulator: a script that prints JSON."""

from __future__ import annotations

import json

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it

from numba.cuda import random

states = np.zeros(5, random.xoroshiro128p_dtype)
random.init_xoroshiro128p_states_cpu(states, 123, 2)
first = [[int(each["s0"]), int(each["s1"])] for each in states]
functions = (
    random.xoroshiro128p_uniform_float32,
    random.xoroshiro128p_uniform_float64,
    random.xoroshiro128p_normal_float32,
    random.xoroshiro128p_normal_float64,
)
numbers = [[float(function(states, i)) for function in functions] for i in range(5)]
print(json.dumps({"states": first, "numbers": numbers}))
