"""Statements: conditions, loops and jumps, tuples, assignments."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import BACKENDS, every_backend, every_dialect

pytestmark = pytest.mark.numpy

HOST = next(each for each in BACKENDS if each.dialect == "c++")


@dppy.kernel
def collatz(steps, start):
    i = dppy.get_global_id(0)
    n = start[i]
    count = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        count += 1
        if count > 500:
            break
    steps[i] = count


def _collatz(n: int) -> int:
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


@every_backend
def test_while_if_and_break(backend):
    start = np.arange(1, 40, dtype="i8")
    (out, _) = backend.run(collatz, 39, None, np.zeros(39, "i4"), start)
    assert out.tolist() == [_collatz(n) for n in start.tolist()]


@dppy.kernel
def ranges(out, stop):
    i = dppy.get_global_id(0)
    for k in range(stop[i]):
        out[i, 0] += k
    for k in range(2, stop[i]):
        out[i, 1] += k
    for k in range(stop[i], -3, -2):
        out[i, 2] += 100 + k
    for k in range(10):
        if k == 3:
            continue
        if k == stop[i]:
            break
        out[i, 3] += k


@every_backend
def test_range_loops_match_python(backend):
    stop = np.array([0, 1, 5, 8], "i4")
    (out, _) = backend.run(ranges, 4, None, np.zeros((4, 4), "i8"), stop)
    expected = []
    for n in stop.tolist():
        last = 0
        for k in range(10):
            if k == 3:
                continue
            if k == n:
                break
            last += k
        expected.append(
            [sum(range(n)), sum(range(2, n)), sum(100 + k for k in range(n, -3, -2)), last]
        )
    assert out.tolist() == expected


@dppy.kernel
def changes_the_variable(out):
    for k in range(4):
        out[k] = k
        k = 100  # the loop continues with the next number of the range, as in Python


@every_backend
def test_assignment_to_loop_variable_does_not_move_the_loop(backend):
    (out,) = backend.run(changes_the_variable, 1, None, np.full(4, -1, "i8"))
    assert out.tolist() == [0, 1, 2, 3]


@dppy.kernel
def after_the_loop(out):
    k = 7
    for k in range(3):
        out[k] = 1
    out[3] = k


@every_backend
def test_loop_variable_keeps_its_last_value(backend):
    (out,) = backend.run(after_the_loop, 1, None, np.zeros(4, "i8"))
    assert out.tolist() == [1, 1, 1, 2]


@dppy.kernel
def counts_to_the_ends_of_32_bits(out, low, high):
    last = 0
    for k in range(2**31 - 50, high):
        out[0] += k * 4
        last = k
    out[1] = last + 2
    for last in range(2**31 - 50, 2**31 - 1, 7):
        out[2] += last * 4
    out[3] = last
    for last in range(low + dppy.int64(900), low, -250):
        out[4] += last * 4
        last = last * 5  # another variable than the one that counts
        out[5] = last
    for last in range(high, low):
        out[6] = last
    out[7] = last
    steps = 2**31 - 6
    while steps < high:
        steps += 1
    out[8] = steps * 2
    while steps > low and steps > 2**31 - 9:
        steps -= 3
    out[9] = steps
    down = -(2**31) + 7
    while down > low:
        down -= 1
    out[10] = down - 1
    for _ in range(6):
        down += 2**30
        out[11] += down


@every_dialect
def test_loop_to_the_limits_of_int32(backend):
    """A dialect may count in 32 bits, but the kernel sees numbers of 64."""
    low, high = -(2**31), 2**31 - 1
    (out,) = backend.run(
        counts_to_the_ends_of_32_bits, 1, None, np.zeros(12, "i8"), np.int32(low), np.int32(high)
    )
    assert out.tolist() == [
        *(4 * sum(range(high - 49, high)), high + 1),
        *(4 * sum(range(high - 49, high, 7)), range(high - 49, high, 7)[-1]),
        *(4 * sum(range(low + 900, low, -250)), 5 * (low + 150)),
        *(0, 5 * (low + 150)),
        *(2 * high, high - 9, low - 1),
        sum(low + 2**30 * k for k in range(1, 7)),
    ]


@dppy.kernel
def steps_beyond_the_ends(out, start, stop):
    for k in range(100, -1, -2147483648):
        out[0] += k + 1
    for k in range(9223372036854775804, 9223372036854775807, 2):
        out[1] += 1
        out[2] = k
        if out[1] > 9:
            break
    for k in range(-9223372036854775803, -9223372036854775808, -3):
        out[3] += 1
        out[4] = k
        if out[3] > 9:
            break
    for k in range(start, stop, 2):
        out[5] += 1
        out[6] = k
        if out[5] > 9:
            break


@every_dialect
def test_loop_steps_past_the_integer_range_end(backend):
    """The ends are those of 32 bits and of 64."""
    most, least = 2**63 - 1, -(2**63)
    (out,) = backend.run(
        steps_beyond_the_ends, 1, None, np.zeros(7, "i8"), np.int64(most - 5), np.int64(most)
    )
    assert out.tolist() == [101, 2, most - 1, 2, least + 2, 3, most - 1]


@dppy.kernel
def leaves_early(out, limit):
    i = dppy.get_global_id(0)
    if i >= limit:
        return
    for k in range(100):
        if k == i:
            return
        out[i] = k + 1


@every_backend
def test_return_leaves_the_kernel(backend):
    (out,) = backend.run(leaves_early, 8, None, np.full(8, -1, "i8"), 4)
    assert out.tolist() == [-1, 1, 2, 3, -1, -1, -1, -1]


@dppy.kernel
def many_ways(out, x):
    i = dppy.get_global_id(0)
    if x[i] < 0:
        kind = 1
    elif x[i] == 0:
        kind = 2
    else:
        if x[i] > 10:
            kind = 3
        else:
            kind = 4
    out[i] = kind


@every_backend
def test_elif_and_nested_conditions(backend):
    (out, _) = backend.run(many_ways, 4, None, np.zeros(4, "i4"), np.array([-1, 0, 11, 5], "f4"))
    assert out.tolist() == [1, 2, 3, 4]


@dppy.kernel
def tuples(out, x):
    i = dppy.get_global_id(0)
    a, b = x[i], i
    a, b = b, a
    pair = (a + 1, b * 2)
    first, (second, third) = pair[0], (pair[1], len(pair))
    c = d = first
    out[i, 0] = c
    out[i, 1] = second
    out[i, 2] = third
    out[i, 3] = d + pair[-1]


@every_backend
def test_tuples_and_unpacking(backend):
    x = np.array([5, 6, 7], "i8")
    (out, _) = backend.run(tuples, 3, None, np.zeros((3, 4), "i8"), x)
    assert out.tolist() == [[i + 1, 2 * v, 2, i + 1 + 2 * v] for i, v in enumerate(x.tolist())]


@dppy.kernel
def augmented(out, x):
    i = dppy.get_global_id(0)
    v = x[i]
    v += 3
    v *= 2
    v -= 1
    v //= 3
    v %= 5
    v **= 2
    v <<= 2
    v |= 1
    v ^= 8
    v &= 63
    v >>= 1
    out[i] += v
    out[i] -= 1


@every_backend
def test_augmented_assignments_match_python(backend):
    x = np.arange(-4, 6, dtype="i8")
    (out, _) = backend.run(augmented, 10, None, np.full(10, 10, "i8"), x)
    expected = []
    for v in x.tolist():
        v = ((v + 3) * 2 - 1) // 3 % 5
        v = (((v**2 << 2) | 1) ^ 8) & 63
        expected.append(10 + (v >> 1) - 1)
    assert out.tolist() == expected


@dppy.kernel
def the_index_is_evaluated_once(out, counter):
    out[dppy.atomic.add(counter, 0, 1)] += 5


@every_backend
def test_augmented_assignment_evaluates_index_once(backend):
    out, counter = backend.run(
        the_index_is_evaluated_once, 3, None, np.zeros(3, "i8"), np.zeros(1, "i4")
    )
    assert out.tolist() == [5, 5, 5]
    assert counter.tolist() == [3]


@dppy.kernel
def nested(out):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    total = 0
    for a in range(i + 1):
        for b in range(j + 1):
            if (a + b) % 3 == 0:
                continue
            if b > 3:
                break
            total += a * 10 + b
    out[i, j] = total


@every_backend
def test_nested_loops_match_python(backend):
    (out,) = backend.run(nested, (4, 6), None, np.zeros((4, 6), "i8"))
    expected = np.zeros((4, 6), "i8")
    for i in range(4):
        for j in range(6):
            for a in range(i + 1):
                for b in range(j + 1):
                    if (a + b) % 3 == 0:
                        continue
                    if b > 3:
                        break
                    expected[i, j] += a * 10 + b
    assert np.array_equal(out, expected)


@dppy.kernel
def stated(out, x):
    i = dppy.get_global_id(0)
    narrow: dppy.float32 = x[i]  # type: ignore[valid-type]
    wide: dppy.float64 = 0  # type: ignore[valid-type]
    wide += narrow  # type: ignore[operator]
    out[i] = wide


@every_backend
def test_annotation_sets_type_of_variable(backend):
    x = np.array([0.1, 0.7], "f8")
    (out, _) = backend.run(stated, 2, None, np.zeros(2, "f8"), x)
    assert np.array_equal(out, x.astype("f4").astype("f8"))


@dppy.kernel
def sums_of_spans(sums, x, spans):
    i = dppy.get_global_id(0)
    start, stop = spans[i, 0], spans[i, 1]
    total = dppy.float32(0)
    for k in range(start, stop):
        total += x[k]
    sums[i] = total


@pytest.mark.host
@pytest.mark.parametrize(
    ("rounds", "more"),
    [(0, 0), (3, 0), (50, 0), (64, 1), (1, 30)],
    ids=["none", "few", "alike", "one more each", "not alike"],
)
def test_sum_has_the_order_of_its_loop(rounds, more):
    """Exact on the host, also where several work-items are vectorized; Intel's OpenCL may add in
    another order."""
    x = np.where(np.arange(500) % 7 == 0, 1e8, 1 / (1 + np.arange(500))).astype(
        "f4"
    )  # another order is another sum
    spans = np.array([(3 * i, 3 * i + rounds + more * i) for i in range(11)])
    for _ in range(
        2
    ):  # distributed one by one, then in one call, because they are known to be quick
        sums, *_ = HOST.run(sums_of_spans, 11, None, np.full(11, -1, "f4"), x, spans)
        assert sums.tolist() == [
            np.cumsum(x[a:b], dtype="f4")[-1] if b > a else 0 for a, b in spans
        ]


@dppy.kernel
def sums_of_strides(sums, x):
    i = dppy.get_global_id(0)
    stride = dppy.get_global_size(0)
    total = dppy.float32(0)
    for k in range(i, len(x), stride):
        total += x[k]
    sums[i] = total


@dppy.kernel
def sums_of_a_step_that_grows(sums, x, steps):
    i = dppy.get_global_id(0)
    step = max(steps[i], 1)
    total = dppy.float32(0)
    for k in range(0, 400, step):
        total += x[k]
        step = step + 1
    sums[i] = total + step


@every_backend
def test_loop_step_is_evaluated_once(backend):
    x = np.arange(400, dtype="f4")
    for _ in range(2):
        sums, _ = backend.run(sums_of_strides, 11, None, np.zeros(11, "f4"), x)
        assert sums.tolist() == [x[i::11].sum() for i in range(11)]
        steps = np.array([1, 2, 3, 7] * 2 + [0, 1, 5])
        sums, *_ = backend.run(sums_of_a_step_that_grows, 11, None, np.zeros(11, "f4"), x, steps)
        steps = np.maximum(steps, 1)
        assert sums.tolist() == [x[::step].sum() + step + len(x[::step]) for step in steps]


@dppy.kernel
def products(sums, x, y):
    i = dppy.get_global_id(0)
    total = dppy.float32(0)
    for k in range(x.shape[1]):
        total += x[i, k] * y[k]
    sums[i] = total


@pytest.mark.host
def test_result_does_not_depend_on_the_launch_size():
    """Contracting a product with its sum in only one of two texts would change the last bits of
    some rows."""
    numbers = np.random.default_rng(1)
    x, y = numbers.random((200, 333), "f4"), numbers.random(333, "f4")
    alone = [
        HOST.run(products, 1, None, np.zeros(1, "f4"), x[i : i + 1], y)[0][0] for i in range(len(x))
    ]
    for _ in range(2):
        assert HOST.run(products, len(x), None, np.zeros(len(x), "f4"), x, y)[0].tolist() == alone
